"""One run on NumPy: a session, the user's function, and what was seen on the way.

Budget, history, callbacks and the best point live here.
"""

import zlib
from array import array
from collections.abc import Callable
from math import inf, isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.outcome import ENDS, Outcome, last_phase
from unsaddle.core.phases import BEGIN, GRADIENT, START, VALUE, PhaseName, name_of
from unsaddle.core.session import NotFiniteError, Query, Session
from unsaddle.numpy.ops import CachingOps, Vector
from unsaddle.numpy.oracle import Oracle


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    lap: int = 1024  # gradients, 100 and up: a descent should be elsewhere after so many


TUNING = Tuning()
REPORT = 1000  # a query for the result, after the run: the number is no phase's


class History(NamedTuple):
    """Every query of the function, in order."""

    phase: NDArray[np.str_]
    """Name of the phase that asked."""
    value: NDArray[np.float64]
    """Value there; NaN where it was not asked for."""
    gradient_norm: NDArray[np.float64]
    """Norm of the gradient there; NaN where it was not asked for."""


class Best(NamedTuple):
    """The point of the lowest value seen, and that value."""

    x: Vector
    fun: float


class Seen(NamedTuple):
    """A point that was queried, and what was seen there."""

    x: Vector
    value: float | None = None
    gradient: Vector | None = None  # the user's array: no longer its own if its norm has changed
    norm: float = nan


class EndError(Exception):
    """The run is over, though no kernel says so: ``outcome`` says why."""

    def __init__(self, outcome: Outcome) -> None:
        """Take the outcome."""
        super().__init__(outcome.value)
        self.outcome = outcome


class Run:
    """One run of a solver, from a state to its end."""

    def __init__(
        self,
        solver: Solver,
        parameters: Parameters,
        state: State,
        oracle: Oracle,
        limit: float = inf,  # on the gradients that the oracle may give in all
        callback: "Callable[[Run], None] | None" = None,  # StopIteration stops the run
        descend: Callable[[Vector], Vector] | None = None,  # the user's own descent
    ) -> None:
        """Prepare to run."""
        self.ops = CachingOps()
        self.session: Session[Vector] = Session(self.ops, solver, parameters, state)
        self.parameters, self.oracle, self.limit = parameters, oracle, limit
        self.callback, self.descend = callback, descend
        self.phases, self.values, self.norms = array("h"), array("d"), array("d")
        self.iterate = self.lowest = Seen(state.x.copy())  # the last, and that of the best point
        self.best: Best | None = None
        self.iterations = 0
        self.earlier = 0  # gradients of the calls that this one goes on from
        self.begun = 0  # gradients of this call before the last search
        self._mark: int | None = None

    def take_up(self, state: State, value: float, gradient: Vector | None) -> None:
        """Go on from the state of an earlier run, with the last answers that it was given."""
        session = self.session
        session.state, session.value, session.gradient = state, value, gradient
        self.iterate = Seen(state.x.copy())

    @property
    def state(self) -> State:
        """Where the run is."""
        return self.session.state

    @property
    def searched(self) -> int:
        """Gradients of the last search."""
        return self.oracle.gradients - self.begun

    def go(self) -> Outcome:
        """Run until a kernel ends it, or something else does; say how."""
        try:
            while self.step():
                pass
        except NotFiniteError:
            return Outcome.NOT_FINITE
        except KeyboardInterrupt:
            return Outcome.INTERRUPTED
        except EndError as end:
            return end.outcome
        return ENDS[last_phase(self.ops, self.state.phase, self.state.stalled)]

    def step(self) -> bool:
        """Answer one query; say whether there was one."""
        session = self.session
        if self.descend is not None and session.state.phase == START:
            session.state.x[:] = self.descend(session.state.x.copy())
        query = session.ask()
        if query is None:
            return False
        if query.searches:
            self.begun = self.oracle.gradients
        point = query.point.copy() if query.at_iterate else query.point
        value, gradient = self.answer(point, query)
        session.tell(value, gradient)
        self.record(point, query, value, gradient)
        if query.needs & GRADIENT:
            self.iterations += 1
            if not self.iterations % TUNING.lap:
                self._check_progress()
            if self.callback is not None:
                self._call_back(self.callback)
        return True

    def answer(self, point: Vector, query: Query) -> tuple[float | None, Vector | None]:
        """Ask the oracle at a point; whatever it says counts, also if it fails later."""
        oracle, needs, value, gradient = self.oracle, query.needs, None, None
        if oracle.gradients >= self.limit and oracle.costs_gradient(needs):
            raise EndError(Outcome.BUDGET)
        if needs & GRADIENT:
            self.session.gradient = None
            self.ops.give_back()
        if oracle.together:
            value, gradient = oracle.both(point)
        elif needs & VALUE:
            value = oracle.value(point)
        if value is not None and -inf < value < (inf if self.best is None else self.best.fun):
            self.best = Best(point, value)
        if needs & GRADIENT and not oracle.together:
            gradient = oracle.gradient(point)
        if gradient is not None:
            if self.callback is not None:
                gradient = gradient.copy()  # the callback may call jac, which may reuse its array
            self.ops.lend(gradient)
        return value, gradient

    def record(
        self, point: Vector, query: Query, value: float | None, gradient: Vector | None
    ) -> None:
        """Take an answer into the history, and remember it if it is of the iterate."""
        norm = nan if gradient is None else self.ops.norm(gradient)
        if query.at_iterate:
            self.iterate = Seen(point, value, gradient, norm)
        if value is not None and self.best is not None and self.best.x is point:
            self.lowest = Seen(point, value, gradient, norm)
        self.phases.append(query.phase)
        self.values.append(nan if value is None else value if isfinite(value) else inf)
        self.norms.append(norm)

    def value_at(self, x: Vector) -> float:
        """Give the value at x, from memory where it was seen, else by one more query."""
        for seen, value in (self.iterate[:2], self.best or (None, None)):
            if seen is not None and value is not None and np.array_equal(seen, x):
                return value
        query, point = Query(x, VALUE, False, REPORT, False, 0, 1), x.copy()
        value, gradient = self.answer(point, query)
        if value is None or not isfinite(value):
            raise NotFiniteError("the function is NaN or infinite where the run has ended")
        self.record(point, query, value, gradient)
        return value

    @property
    def history(self) -> History:
        """Every query so far."""
        names = [*map(_name, self.phases)]
        return History(np.array(names, np.str_), np.array(self.values), np.array(self.norms))

    def _call_back(self, callback: "Callable[[Run], None]") -> None:
        try:
            callback(self)
        except StopIteration as stop:
            raise EndError(Outcome.STOPPED) from stop

    def _check_progress(self) -> None:
        """End a descent that goes round in floating point: x is as it was a lap ago."""
        state = self.state
        waits = state.phase >= BEGIN or state.tolerance < 0  # a search, or for its time
        mark = None if waits or state.phase < 0 else zlib.crc32(state.x.data)
        if mark is not None and mark == self._mark:
            self.session.state = state._replace(phase=PhaseName.GIVE_UP)
        self._mark = mark


def _name(code: int) -> str:
    return "report" if code == REPORT else name_of(code)
