"""One run on NumPy: a session, the user's function, and what was seen on the way.

History, callbacks and interrupts live here; the budget and the best point are the oracle's.
"""

import signal
import zlib
from array import array
from collections.abc import Callable
from math import inf, isfinite, isnan, nan
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsaddle.core.events import JUMP_BEGIN, JUMPING, Event, log
from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.outcome import EndError, Outcome
from unsaddle.core.phases import (
    BEGIN,
    GRADIENT,
    REPORT,
    START,
    VALUE,
    PhaseName,
    name_of,
    phase_of,
)
from unsaddle.core.records import new
from unsaddle.core.session import InterruptsHeldBack, NotFiniteError, Query, Session
from unsaddle.numpy import agreement, symmetry
from unsaddle.numpy.ops import CachingOps, Vector
from unsaddle.numpy.oracle import Oracle
from unsaddle.numpy.progress import Clock
from unsaddle.numpy.settle import settle, spent


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    lap: int = 1024  # gradients, 100 and up: a descent should be elsewhere after so many
    first: int = 32  # queries, 21 and up: kept without a history too, to say what may be amiss
    last: int = 100  # events, 1 and up: kept without a history, to plot the end


TUNING = Tuning()
LINE_SEARCH = PhaseName.LINE_SEARCH
Answer = Callable[[Vector, Query], tuple[float | None, Vector | None]]


class History(NamedTuple):
    """Every query of the function, in order; none with ``history=False``."""

    phase: NDArray[np.str_]
    """Name of the phase that asked."""
    value: NDArray[np.float64]
    """Value there; NaN where it was not asked for."""
    gradient_norm: NDArray[np.float64]
    """Norm of the gradient there; NaN where it was not asked for."""
    events: tuple[Event, ...] = ()
    """Searches, curvature that was found, jumps, and the end."""
    path: NDArray[np.float64] | None = None
    """The iterate after every query, of two variables only."""


class Seen(NamedTuple):
    """A point that was queried, and what was seen there."""

    x: Vector
    value: float | None = None
    gradient: Vector | None = None  # the user's array: no longer its own if its norm has changed
    norm: float = nan


class Run(Session[Vector]):
    """One run of a solver, from a state to its end: a session that answers its own queries."""

    def __init__(
        self,
        solver: Solver,
        parameters: Parameters,
        state: State,
        oracle: Oracle,
        callback: "Callable[[Run], None] | None" = None,  # StopIteration stops the run
        descend: Callable[[Vector], Vector] | None = None,  # the user's own descent
        remembers: bool = True,  # every query, not only what the run itself needs
    ) -> None:
        """Prepare to run."""
        self.known = CachingOps(state.x)  # the operations, which know the last gradient
        super().__init__(self.known, solver, parameters, state)
        self.oracle, self.callback, self.descend = oracle, callback, descend
        self.answer: Answer = oracle.answer  # to a query at a point
        self.codes, self.values, self.norms = array("h"), array("d"), array("d")  # of all queries
        self.iterate = self.lowest = Seen(state.x.copy())  # the last, and that of the best point
        self.iterations = 0
        self.earlier = 0  # gradients of the calls that this one goes on from
        self.begun = 0  # gradients of this call before the last search
        self.begun_products = 0  # likewise
        self.trouble = ""  # what was not finite
        self.doubt = ""  # of the products that a claim comes of
        self.interruptible = self.interrupted = False
        self._mark: int | None = None
        self.clock: Clock | None = None  # that shows progress and ends the run in time
        self.events: list[Event] = []
        self.remembers = remembers
        drawn = remembers and state.x.size == 2
        self.path = array("d") if drawn else None  # of the iterates, for a picture
        self.certificate_budget = inf  # share of all gradients that a search may take
        self.settled = False  # whether the last claim is what could be shown by then
        self._forgotten = 0  # queries
        self._searching = self._jumping = False
        self._slope = nan  # the gradient's norm where the last search began

    def go(self) -> Outcome | None:
        """Run until a kernel ends it, which is None, or something else does, which is told."""
        try:
            with InterruptsHeldBack(self):
                self._answer_all()
                self._check_claim()
        except NotFiniteError as error:
            self.trouble = str(error)
            return Outcome.NOT_FINITE
        except KeyboardInterrupt:
            return Outcome.INTERRUPTED
        except EndError as end:
            return end.outcome
        return None

    def _check_claim(self) -> None:
        """See that gradients contradict neither the products of a claim nor one another."""
        check = agreement if self.parameters.products else symmetry
        self.state, self.doubt = check.checked(self)

    def _answer_all(self) -> None:
        """Ask, query the function, tell, and take note, until there is nothing to ask."""
        oracle, known, answer, clock = self.oracle, self.known, self.answer, self.clock
        while True:
            if self.descend is not None and self.state.phase == START:
                self._descend(self.descend)
            if (query := self.ask()) is None:
                return
            point, needs, here, code, searches, _, _, _, along = query
            if code >= BEGIN or self._searching:
                self._notice(query)
            if here or along is not None:
                point = point.copy()
            if needs & GRADIENT:
                self.gradient = known.lent = None  # so that there is room for the next
            if searches:
                self.begun, self.begun_products = oracle.gradients, oracle.products
                self.settled = False
            self.interruptible = True
            if self.interrupted:
                signal.raise_signal(signal.SIGINT)
            value, gradient = answer(point, query)
            self.interruptible = False
            norm = nan
            if gradient is not None and along is None:
                if self.callback is not None:
                    gradient = gradient.copy()  # the callback may call jac, which may reuse it
                norm = known.lend(gradient)
            sound = gradient is None or norm < inf or known.finite(gradient)
            if here and sound and (value is None or isfinite(value)):
                self.iterate = new(Seen, (point, value, gradient, norm))
            if sound and value is not None and oracle.lowest_at is point:
                self.lowest = new(Seen, (point, value, gradient, norm))
                if code == LINE_SEARCH:  # where x will be, not where it was
                    self.iterate = self.lowest
            del point, query  # so that there is room for what a kernel makes
            self.tell(value, gradient)
            if self.certificate_budget < inf and code >= BEGIN:
                self._settle()
            self.codes.append(code)
            self.values.append(nan if value is None else value if isfinite(value) else inf)
            self.norms.append(norm)
            if self.path is not None:
                self.path.extend(self.state.x.tolist())
            if needs & GRADIENT:
                self.iterations += 1
                if not self.iterations % TUNING.lap:
                    self._check_progress()
                    if not self.remembers:
                        self.forget()
                if self.callback is not None:
                    self._call_back(self.callback)
            if clock is not None and monotonic() >= clock.due:
                clock.tick(self)

    def _settle(self) -> None:
        """Claim what is shown, once the search has taken its share."""
        taken = self.oracle.gradients + self.oracle.products
        searched = taken - self.begun - self.begun_products
        if spent(self.certificate_budget, searched, self.earlier + taken):
            before, self.state = self.state, settle(self.ops, self.parameters, self.state)
            self.settled = self.settled or self.state is not before

    def _notice(self, query: Query) -> None:
        """Take note of a search, of curvature that was found, and of a jump."""
        state, phase = self.state, phase_of(query.phase)
        search, place = state.last_search, state.episode
        if query.searches:
            self._slope = nan if self.gradient is None else self.known.norm(self.gradient)
            slope = "" if isnan(self._slope) else f": gradient norm {self._slope:.3g}"
            self.happened("search", nan, f"search {max(place, 1)}{slope}")
        elif phase == JUMP_BEGIN:
            found = float(search.curvature)
            self.happened("curvature", found, f"curvature {found:.3g} found in search {place}")
        elif phase < BEGIN and self._jumping:
            bend, j = float(search.curvature), search.jump
            change = f"value {j.value:.6g} -> {j.lowest:.6g}"
            self.value = j.lowest if isfinite(j.lowest) else self.value
            self.happened("jump", bend, f"jump {place}: curvature {bend:.3g}, {change}")
        self._searching, self._jumping = query.phase >= BEGIN, phase in JUMPING

    @property
    def slope(self) -> float:
        """The norm of the last gradient of the descent, or of the one where the search is."""
        return self._slope if self._searching or not len(self.norms) else self.norms[-1]

    def happened(self, kind: str, curvature: float, text: str) -> None:
        """Keep an event, log it, and show it."""
        queries = self._forgotten + len(self.codes)
        event = Event(kind, queries, self.value, curvature, text)
        self.events.append(event)
        log.info(text)
        if self.clock is not None and self.clock.progress is not None:
            self.clock.progress.event(event)

    def value_at(self, x: Vector) -> float:
        """Give the value at x, from memory where it was seen, else by one more query."""
        oracle = self.oracle
        for seen, value in (self.iterate[:2], oracle.best or (None, None)):
            if seen is not None and value is not None and np.array_equal(seen, x):
                return value
        if oracle.fun is None:
            return nan
        point = x.copy()
        value, gradient = self.answer(point, Query(x, VALUE))
        if value is None or not isfinite(value):
            raise NotFiniteError("the function is NaN or infinite where the run has ended")
        norm = nan if gradient is None else self.known.lend(gradient)
        self.report(value, norm)
        if oracle.lowest_at is point:
            self.lowest = Seen(point, value, gradient, norm)
        return value

    def queried(self, point: Vector, along: Vector | None = None) -> Vector:
        """Give the gradient at a point when the run is over, or the product along a vector."""
        self.interruptible = True
        if self.interrupted:
            signal.raise_signal(signal.SIGINT)
        _, gradient = self.answer(point, Query(point, GRADIENT, along=along))
        self.interruptible = False
        if gradient is None or not self.known.finite(gradient):
            raise NotFiniteError("the gradient is NaN or infinite where a claim is checked")
        self.report(nan, nan if along is not None else self.known.norm(gradient))
        return gradient

    def report(self, value: float, norm: float) -> None:
        """Write down what was asked for when the run was over."""
        self.codes.append(REPORT)
        self.values.append(value)
        self.norms.append(norm)
        if self.path is not None:
            self.path.extend(self.state.x.tolist())

    def timed(self, seconds: float, progress: Any = None) -> None:
        """End in so many seconds from now, and show the progress meanwhile if that is wanted."""
        if progress is not None or seconds < inf:
            self.clock = Clock(seconds, progress)

    def forget(self) -> None:
        """Drop all queries but the first and the last, and all events but the last."""
        many = len(self.codes)
        for kept in (self.codes, self.values, self.norms):
            del kept[TUNING.first : -1]
        self._forgotten += many - len(self.codes)
        del self.events[: -TUNING.last]

    @property
    def history(self) -> History:
        """Every query so far, if they were to be remembered."""
        if not self.remembers:
            none = np.empty(0)
            return History(np.empty(0, np.str_), none, none.copy(), tuple(self.events))
        names = np.array([*map(name_of, self.codes)], np.str_)
        path = None if self.path is None else np.array(self.path).reshape(-1, 2)
        return History(names, np.array(self.values), np.array(self.norms), tuple(self.events), path)

    def _descend(self, descend: Callable[[Vector], Vector]) -> None:
        """Let the user's own descent move x."""
        self.interruptible = True
        after = descend(self.state.x.copy())
        self.interruptible = False
        self.state.x[:] = after

    def _call_back(self, callback: "Callable[[Run], None]") -> None:
        self.interruptible = True
        try:
            callback(self)
        except StopIteration as stop:
            raise EndError(Outcome.STOPPED) from stop
        self.interruptible = False

    def _check_progress(self) -> None:
        """End a descent that goes round in floating point: x is as it was a lap ago."""
        state = self.state
        waits = state.phase >= BEGIN or state.tolerance < 0  # a search, or for its time
        mark = None if waits or state.phase < 0 else zlib.crc32(state.x.data)
        if mark is not None and mark == self._mark:
            self.state = state._replace(phase=PhaseName.GIVE_UP)
        self._mark = mark
