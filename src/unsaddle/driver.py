"""The loop on NumPy: budget, finiteness, history, callbacks and the best point live here."""

import math
import zlib
from array import array
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsaddle.kernel import BEGIN, ENDS, GRADIENT, START, TRIAL, Outcome, Parameters, Solver, State
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import NotFiniteError, Oracle

LAP = 1024  # looks after which a descent should be elsewhere


class History(NamedTuple):
    """Every look at the function, in order."""

    phase: NDArray[np.str_]
    """Name of the phase that looked."""
    value: NDArray[np.float64]
    """Value there; NaN where it was not asked for."""
    gradient_norm: NDArray[np.float64]
    """Norm of the gradient there; NaN where it was not asked for."""


class Best(NamedTuple):
    """The point of the lowest value seen, and that value."""

    x: Vector
    fun: float


class Look(NamedTuple):
    """The last iterate that was looked at with success, and what was seen there."""

    x: Vector
    value: float | None
    gradient: Vector | None
    norm: float = math.nan


class Within(NamedTuple):
    """A confirming search that was cut short: where it was, and what it is to do."""

    state: State
    settings: Any


class EndError(Exception):
    """The run is over, though no kernel says so: ``outcome`` says why."""

    def __init__(self, outcome: Outcome) -> None:
        """Take the outcome."""
        super().__init__(outcome.value)
        self.outcome = outcome


class Run:
    """One run of a solver, from a state to its end."""

    def __init__(self, solver: Solver, parameters: Parameters, oracle: Oracle) -> None:
        """Prepare to run.

        Args:
            solver: The method's phases.
            parameters: Its hyperparameters.
            oracle: The user's function.
        """
        self.phases, self.parameters, self.oracle = solver.phases, parameters, oracle
        self.frugal = SimpleNamespace(**vars(ops) | {"norm": self.norm})
        self.state: State
        self.names: list[str] = []
        self.values, self.norms = array("d"), array("d")
        self.value = math.nan
        self.gradient: Vector | None = None
        self.iterate: Look
        self.best: Best | None = None
        self.descend: Callable[[Vector], Vector] | None = None
        self.within: Within | None = None
        self.iterations = 0
        self.mark: int | None = None
        self.before = 0  # gradients of the calls that this one goes on from
        self.begun = 0  # gradients of this call before the last search

    def go(
        self,
        max_gradients: float = math.inf,
        callback: "Callable[[Run], None] | None" = None,
        until: Callable[[int], bool] | None = None,
    ) -> Outcome:
        """Run from ``self.state`` until a kernel ends it, or something else does.

        Args:
            max_gradients: How many gradients the oracle may give in all.
            callback: Called with this run after every gradient; StopIteration stops the run.
            until: Which phase ends the run; by default every negative one.

        Returns:
            How it ended; TESTED where ``until`` ended it before a kernel did.
        """
        try:
            while self.state.phase >= 0 if until is None else not until(self.state.phase):
                self._step(max_gradients, callback)
        except NotFiniteError:
            return Outcome.NOT_FINITE
        except KeyboardInterrupt:
            return Outcome.INTERRUPTED
        except EndError as end:
            return end.outcome
        return ENDS.get(self.state.phase, Outcome.TESTED)

    def _step(self, max_gradients: float, callback: "Callable[[Run], None] | None") -> None:
        state, parameters = self.state, self.parameters
        if self.descend is not None and state.phase == START:
            state.x[:] = self.descend(state.x.copy())
        if state.phase == BEGIN:
            self.begun = self.oracle.gradients
        at, needs, update, sample, size = self.phases[state.phase]
        here = False
        if needs:
            state = self.draw(state, sample, size)
            point = at(ops, parameters, state)
            here = point is state.x
            self.look(point.copy() if here else point, needs, max_gradients, here, update.__name__)
        backend = self.frugal if here else ops
        self.state = update(backend, parameters, state, self.value, self.gradient)
        if needs & GRADIENT:
            self.iterations += 1
            if not self.iterations % LAP:
                self._check_progress()
            if callback is not None:
                try:
                    callback(self)
                except StopIteration as stop:
                    raise EndError(Outcome.STOPPED) from stop

    def _check_progress(self) -> None:
        """End a descent that goes round in floating point: x is as it was a lap ago."""
        waits = self.state.phase >= BEGIN or self.state.tolerance < 0  # a search, or for its time
        mark = None if waits else zlib.crc32(self.state.x.data)
        if mark is not None and mark == self.mark:
            raise EndError(Outcome.STALLED)
        self.mark = mark

    def draw(self, state: State, sample: int, size: Callable[[Parameters], int]) -> State:
        """Draw the sample that a phase wants; here the function has none."""
        return state

    def look(self, point: Vector, needs: int, max_gradients: float, here: bool, name: str) -> None:
        """Ask the oracle at a point and take note of the answer.

        Args:
            point: Where; not to be changed afterwards.
            needs: What for.
            max_gradients: How many gradients the oracle may give in all.
            here: Whether the point is the iterate.
            name: What for, in the history.

        Raises:
            EndError: If that would take one gradient too many.
            NotFiniteError: If the answer is NaN or infinite.
        """
        oracle, wanted = self.oracle, needs & GRADIENT
        if oracle.gradients >= max_gradients and oracle.costs_gradient(needs):
            raise EndError(Outcome.BUDGET)
        if wanted:
            self.gradient = None  # make room
        norm = math.nan
        try:
            value, gradient = oracle.look(point, needs)
            if gradient is not None:
                norm = ops.norm(gradient)
                if not norm < math.inf and not np.isfinite(gradient).all():
                    raise NotFiniteError(f"{oracle.name} returned NaN or infinity")
        except NotFiniteError:
            if not needs & TRIAL:
                raise
            value, gradient, norm = math.inf, np.zeros_like(point), math.nan
        if wanted:
            self.gradient = gradient
        if value is not None:
            self.value = value
            if value < (math.inf if self.best is None else self.best.fun):
                self.best = Best(point, value)
        if here:
            self.iterate = Look(point, value, gradient, norm)
        self.values.append(math.nan if value is None else value)
        self.norms.append(norm)
        self.names.append(name)

    def norm(self, x: Vector) -> float:
        """Give |x|, which is known where x is the gradient at the iterate: kernels only read it."""
        _, _, gradient, norm = self.iterate
        return norm if x is gradient else ops.norm(x)

    @property
    def history(self) -> History:
        """Every look so far."""
        return History(np.array(self.names, np.str_), np.array(self.values), np.array(self.norms))
