"""``Escape``: any optimiser of ASE's, until it is at a minimum."""

import numpy as np
import pytest

pytest.importorskip("ase")

from ase.optimize import BFGS, FIRE, LBFGS, BFGSLineSearch
from ase.optimize.precon import PreconLBFGS

from tests.ase.structures import Failing, cuboctahedron, lowest_of_the_icosahedron, small
from tests.often import at_night, most_at_night
from unsaddle import Outcome
from unsaddle.ase import Escape
from unsaddle.core.session import NotFiniteError


def plain(atoms, logfile):
    return PreconLBFGS(atoms, logfile=logfile, precon=None, use_armijo=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", most_at_night([LBFGS, FIRE], [BFGS, LBFGS, FIRE, BFGSLineSearch, plain])
)
def test_every_optimiser_leaves_the_saddle(make):
    """One with a memory and one with a velocity in every run; BFGS is that of the tests below."""
    atoms = cuboctahedron()
    opt = Escape(make(atoms, logfile=None))
    assert opt.run(fmax=0.01, steps=1000)  # LBFGS takes 195 of ASE 3.29, and 637 of ASE 3.27
    assert opt.outcome is Outcome.CERTIFIED
    assert atoms.get_potential_energy() == pytest.approx(24.6487, abs=1e-3)
    assert lowest_of_the_icosahedron() > -opt.certificate.curvature_tol
    assert opt.converged()


@pytest.mark.slow
def test_an_optimiser_that_is_made_anew():
    atoms, made = cuboctahedron(), []
    opt = Escape(lambda: made.append(0) or BFGS(atoms, logfile=None))
    seen = []
    opt.attach(lambda: seen.append(atoms.get_potential_energy()))
    steps = list(opt.irun(fmax=0.01, steps=500))
    assert len(made) == 2
    assert steps[-1]
    assert not any(steps[:-2])
    assert seen


@pytest.mark.slow
def test_sella_leaves_it_too():
    sella = pytest.importorskip("sella", reason="no sella here: type pip install sella")
    atoms = cuboctahedron()
    assert Escape(lambda: sella.Sella(atoms, order=0, logfile=None)).run(fmax=0.01, steps=500)


@pytest.mark.slow
def test_the_steps_are_counted():
    opt = Escape(BFGS(cuboctahedron(), logfile=None))
    assert not opt.run(fmax=0.01, steps=20)
    assert opt.nsteps == 20
    assert opt.run(fmax=0.01, steps=300)


@pytest.mark.slow
def test_an_ordinary_relaxation_is_certified():
    atoms = small()
    opt = Escape(BFGS(atoms, logfile=None), frequency=20.0)
    assert opt.run(fmax=0.01, steps=300)
    assert opt.certificate.frequency == pytest.approx(20)


@pytest.mark.slow
def test_it_can_be_run_again():
    atoms = small()
    opt = Escape(BFGS(atoms, logfile=None))
    assert opt.run(fmax=0.05, steps=300)
    steps = opt.nsteps
    assert opt.run(fmax=0.05, steps=300)
    assert opt.nsteps == steps
    assert opt.run(fmax=0.01, steps=300)
    atoms.rattle(0.05, seed=5)
    assert opt.run(fmax=0.01, steps=300)
    assert max((atoms.get_forces() ** 2).sum(axis=1) ** 0.5) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("every", [11, at_night(5)])
@pytest.mark.parametrize("how", [RuntimeError, None])
def test_nothing_is_lost_when_the_calculator_fails(how, every):
    """At a call of the optimiser, before a jump and after, or of the search: it goes on."""

    def run(at):
        atoms = cuboctahedron(shells=1)
        atoms.calc = Failing(at, how)
        return atoms, Escape(BFGS(atoms, logfile=None), frequency=10.0)

    whole, opt = run(0)
    assert opt.run(fmax=0.02, steps=200)
    for at in (1, *range(4, whole.calc.calls + 1, every)):
        atoms, opt = run(at)
        try:
            opt.run(fmax=0.02, steps=200)
        except (RuntimeError, NotFiniteError):
            assert np.isfinite(atoms.positions).all()
            opt.run(fmax=0.02, steps=200)
        assert opt.certified
        assert atoms.get_potential_energy() == pytest.approx(whole.get_potential_energy(), abs=1e-3)


def test_what_is_no_optimiser_is_refused():
    with pytest.raises(TypeError, match=r"such as BFGS\(atoms\)"):
        Escape(BFGS)
    with pytest.raises(TypeError, match="optimizer must be"):
        Escape(small())
