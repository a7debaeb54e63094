"""A structure whose symmetry is held: what would break it is no direction of the search."""

import numpy as np
import pytest

pytest.importorskip("ase")
pytest.importorskip("spglib", reason="no spglib here: type pip install spglib")

from ase.build import bulk
from ase.calculators.emt import EMT
from ase.constraints import FixSymmetry
from ase.filters import FrechetCellFilter, UnitCellFilter

from tests.ase.structures import cuboctahedron
from unsaddle.ase import Minimum


def centred(symmetric):
    """Copper, cubic and body-centred: by its symmetry alone no minimum of the cell."""
    atoms = bulk("Cu", "bcc", a=2.87, cubic=True)
    if symmetric:
        atoms.set_constraint(FixSymmetry(atoms))
    atoms.calc = EMT()
    return atoms


@pytest.mark.parametrize("filtered", [FrechetCellFilter, UnitCellFilter])
@pytest.mark.slow
def test_a_cell_keeps_its_symmetry_or_leaves_the_saddle(filtered):
    energies = {}
    for symmetric in (True, False):
        atoms = centred(symmetric)
        assert Minimum(filtered(atoms), logfile=None).run(fmax=0.01, steps=200)
        energies[symmetric] = atoms.get_potential_energy()
        kept = np.ptp(atoms.cell.lengths()) < 1e-6 and np.allclose(atoms.cell.angles(), 90)
        assert kept == symmetric
    assert energies[False] < energies[True] - 0.01


@pytest.mark.slow
def test_a_cluster_keeps_its_symmetry():
    atoms = cuboctahedron()
    atoms.center(vacuum=6.0)
    atoms.pbc = True
    atoms.set_constraint(FixSymmetry(atoms))
    opt = Minimum(atoms, logfile=None)
    assert opt.run(fmax=0.01, steps=100)
    assert opt.space.freedoms == 5  # of 55 atoms in their orbits
