import numpy as np
import pytest

from benchmarks import forces
from benchmarks.molecules import MOLECULES, available, problem, relaxed, rigid_motions
from benchmarks.molecules import wanted_curvature as wanted
from tests.often import at_night

pytestmark = pytest.mark.skipif(not available(), reason=forces.MISSING)
SADDLES = {name for name in MOLECULES if name != "H2O2 trans"}  # which GFN2-xTB has as a minimum

LARGE = "biphenyl planar"  # its exact Hessian takes as long as those of all others
EACH = [at_night(name) if name == LARGE else name for name in MOLECULES]


@pytest.mark.parametrize("name", EACH)
@pytest.mark.slow
def test_it_starts_on_a_stationary_point_in_most_cases_a_saddle(name):
    p = problem(name)
    assert np.linalg.norm(p.exact_gradient(p.x0)) < 1e-6
    assert (p.exact_lowest(p.x0, internal=True) < -wanted()) == (name in SADDLES)


def test_atoms_and_charge():
    sizes = {name: len(molecule.orbits()[0]) for name, molecule in MOLECULES.items()}
    assert sizes["H3O+ planar"] == 4
    assert sizes["biphenyl planar"] == 22
    assert sizes["cyclohexane planar"] == 18
    assert MOLECULES["H3O+ planar"].charge == 1
    assert len(MOLECULES) == 14


def test_fifty_wavenumbers():
    """(2 pi c 50/cm)^2 in eV/(Å^2 amu), from the SI by hand."""
    omega = 2 * np.pi * 2.99792458e10 * 50
    assert wanted() == pytest.approx(omega**2 * 1.66053907e-27 / 1.602176634e-19 * 1e-20, rel=1e-6)


def test_value_and_gradient_at_one_point_are_one_call():
    p = problem("H2O linear")
    p.fun(p.x0), p.grad(p.x0)
    assert len(p.calls) == 1
    p.grad(p.x0 + 1e-3)
    assert len(p.calls) == 2


def test_the_gradient_is_that_of_the_energy_in_mass_weighted_coordinates():
    p = problem("NH3 planar", accuracy=1e-6)
    rng = np.random.default_rng(0)
    x, u = p.x0 + 0.05 * rng.standard_normal(12), rng.standard_normal(12)
    slope = (p.fun(x + 1e-4 * u) - p.fun(x - 1e-4 * u)) / 2e-4
    assert slope == pytest.approx(p.grad(x) @ u, rel=1e-5)


@pytest.mark.parametrize(("name", "motions"), [("H2O linear", 5), ("NH3 planar", 6)])
def test_rigid_motions_have_no_curvature(name, motions):
    p = problem(name, mass_weighted=False)
    basis = rigid_motions(p.x0, np.ones(p.x0.size))
    assert basis.shape == (p.x0.size, motions)
    for u in basis.T:
        change = p.exact_gradient(p.x0 + 1e-3 * u) - p.exact_gradient(p.x0 - 1e-3 * u)
        assert np.linalg.norm(change) / 2e-3 < 1e-3


def test_relaxing_again_changes_nothing():
    molecule, force = relaxed("C2H6 eclipsed")
    assert force < 1e-6
    for (_, here), (_, there) in zip(molecule.atoms, MOLECULES["C2H6 eclipsed"].atoms, strict=True):
        assert here == pytest.approx(there, abs=1e-6)


def test_noise_is_about_a_ten_thousandth_and_falls_with_the_accuracy():
    coarse, fine = (forces.noise("C2H6 eclipsed", a, lines=2) for a in (1.0, 1e-3))
    assert 1e-6 < coarse["returns"] < 1e-3
    assert fine["returns"] < 0.05 * coarse["returns"]
    assert coarse["error"] < 1e-3


def test_a_run_says_what_is_true():
    row = forces.run("H2O linear", None, accuracy=1e-4)
    assert row.before == pytest.approx(-14.5, abs=0.1)
    assert row.minimum
    assert not row.on_saddle
    assert not row.false
    assert row.every == 18
    assert row.energy == pytest.approx(-1.358, abs=0.01)


def test_the_table_tells_a_success_on_a_saddle_from_a_false_claim():
    right = forces.run("H2O linear", None, accuracy=1e-4)._replace(success=True)
    useless = right._replace(vibration=-1.0, lowest=-1.0, shown=2.0)
    false = useless._replace(shown=0.5)
    *_, end = forces.table(iter([right, useless, false]), [])
    assert "1 successes are there" in end
    assert "2 on a saddle; 1 false claims" in end
