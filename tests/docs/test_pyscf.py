"""Orbital gradients: the example of docs/pyscf.md."""

import re
from pathlib import Path

import numpy as np
import pytest

from examples.orbital_stability import Orbitals, relaxed

pyscf = pytest.importorskip("pyscf", reason="no pyscf here: type pip install pyscf")
PAGE = Path(__file__).parents[2] / "docs" / "pyscf.md"


def chain(length, atoms=4):
    """Give hydrogens in a line, restricted to orbitals that are the same for both spins."""
    where = [["H", (0.0, 0.0, length * k)] for k in range(atoms)]
    mol = pyscf.M(atom=where, basis="sto-3g", verbose=0)
    return pyscf.scf.RHF(mol).run(conv_tol=1e-11)


@pytest.mark.slow
def test_the_gradient_is_that_of_the_energy():
    over, rng = Orbitals(chain(1.4)), np.random.default_rng(0)
    x, v = 0.3 * rng.standard_normal((2, over.start.size))
    ahead, behind = (over(x + sign * 1e-4 * v)[0] for sign in (1, -1))
    assert over(x)[1] @ v == pytest.approx((ahead - behind) / 2e-4, rel=1e-6)


def test_spins_separate_where_bonds_are_long():
    mf = chain(1.8)
    end, result = relaxed(mf)
    assert result.success
    assert end.e_tot < mf.e_tot - 0.01
    assert end.stability(return_status=True)[2]
    assert end.spin_square()[0] > 0.5


def test_a_stable_wave_function_stays():
    mf = chain(0.74, atoms=2)
    end, result = relaxed(mf)
    assert result.success
    assert end.e_tot == pytest.approx(mf.e_tot, abs=1e-8)


@pytest.mark.slow
def test_the_example_of_the_page(capsys):
    code, shown = re.findall(r"^```\w*\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    exec(code, {})
    printed = capsys.readouterr().out
    assert printed.split()[0] == "CERTIFIED"
    numbers = [float(text.split()[1]) for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-7)
