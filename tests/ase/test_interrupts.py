"""Ctrl-C as a signal: it waits for an update to be whole, and for the atoms to be in place."""

import signal

import numpy as np
import pytest
from ase.build import molecule
from ase.calculators.emt import EMT
from ase.optimize import BFGS

from tests.interrupting import interrupting
from unsaddle.ase import Escape, Minimum
from unsaddle.numpy.ops import NumpyOps

pytestmark = pytest.mark.usefixtures("handled")
WITHIN = ("axpy", "add", "copy", "norm")


class Watched(EMT):
    """Forces of EMT, with all points; a Ctrl-C comes with the k-th of them."""

    def __init__(self, k=0):
        super().__init__()
        self.points, self.k = [], k

    def calculate(self, atoms, *args):
        self.points.append(atoms.positions.copy())
        if len(self.points) == self.k:
            signal.raise_signal(signal.SIGINT)
        super().calculate(atoms, *args)


def water(k=0):
    atoms = molecule("H2O")
    atoms.rattle(0.05, seed=0)
    atoms.calc = Watched(k)
    return atoms


def by_minimum(atoms):
    return Minimum(atoms, logfile=None)


def by_escape(atoms):
    return Escape(BFGS(atoms, logfile=None))


@pytest.mark.parametrize("operation", WITHIN)
@pytest.mark.parametrize("make", [by_minimum, by_escape])
@pytest.mark.slow
def test_a_state_is_never_torn(make, operation):
    """After a Ctrl-C in the midst of any update, the run goes on as if there had been none."""
    with pytest.MonkeyPatch.context() as patch:
        passed, atoms = interrupting(patch, NumpyOps, operation, 0), water()
        full = make(atoms)
        full.run(fmax=0.01)
        total = passed[0]
    cuts = [k for k in {1, 2, 3, *range(4, total, max(1, total // 6))} if k <= total]
    assert cuts
    for k in cuts:
        cut = water()
        with pytest.MonkeyPatch.context() as patch:
            interrupting(patch, NumpyOps, operation, k)
            run = make(cut)
            with pytest.raises(KeyboardInterrupt):
                run.run(fmax=0.01)
        assert np.array_equal(run.space.optimizable.get_x(), run.space.left)
        run.run(fmax=0.01)
        assert run.outcome is full.outcome
        assert np.array_equal(cut.positions, atoms.positions)
        assert len(cut.calc.points) == len(atoms.calc.points)


def test_a_signal_while_forces_are_computed_is_let_through():
    whole, atoms = water(), water(k=5)
    by_minimum(whole).run(fmax=0.01)
    run = by_minimum(atoms)
    with pytest.raises(KeyboardInterrupt):
        run.run(fmax=0.01)
    assert len(atoms.calc.points) == 5
    assert run.run(fmax=0.01)
    assert np.array_equal(atoms.positions, whole.positions)
