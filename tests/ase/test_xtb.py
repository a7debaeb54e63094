"""Real forces: molecules at stationary points that symmetry holds, with GFN2-xTB."""

import pytest

pytest.importorskip("ase")
pytest.importorskip("tblite.ase", reason="no tblite here: type pip install tblite")

from ase.build import molecule
from tblite.ase import TBLite

from benchmarks.molecules import ACCURATE, MOLECULES, calculated
from tests.ase.structures import exact
from unsaddle import Outcome
from unsaddle.ase import Minimum, certify

ENDS = (Outcome.CERTIFIED, Outcome.COARSER)
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("accuracy", [1.0, 0.01])
@pytest.mark.parametrize("name", ["NH3 planar", "H2O linear", "C2H6 eclipsed", "H2O2 cis"])
def test_saddles_are_left_and_claims_are_true(name, accuracy):
    atoms = calculated(MOLECULES[name], accuracy)
    shown = certify(atoms)
    assert shown.holds is False
    before = atoms.get_potential_energy()
    opt = Minimum(atoms, logfile=None)
    opt.run(fmax=0.01, steps=300)
    assert opt.outcome in ENDS[: 1 if accuracy < 1 else 2]
    assert atoms.get_potential_energy() < before - 0.01
    accurate = calculated(MOLECULES[name], ACCURATE)
    accurate.positions = atoms.positions
    assert exact(accurate, step=5e-3)[0] > -opt.certificate.curvature_tol


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NH3", {"charge": 1, "multiplicity": 2}),
        ("CH3", {"multiplicity": 2}),
        ("H2O", {"charge": -1, "multiplicity": 2}),
        ("O2", {"multiplicity": 3}),
    ],
)
def test_charges_and_open_shells(name, words):
    atoms = molecule(name)
    atoms.rattle(0.03, seed=1)
    given = {"method": "GFN2-xTB", "verbosity": 0, "accuracy": 0.01}
    atoms.calc = TBLite(**given, **words)
    opt = Minimum(atoms, logfile=None)
    opt.run(fmax=0.01, steps=200)
    assert opt.outcome in ENDS
    assert opt.certificate.frequency < 60
    assert exact(atoms, step=5e-3)[0] > -opt.certificate.curvature_tol
