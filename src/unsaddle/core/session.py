"""One run, turned inside out: ``ask`` where to query the objective, ``tell`` the answer.

This is the only eager loop of the package: NumPy's ``minimize`` and ``certify``, the torch
optimisers, the benchmarks and a loop of your own all drive a session. A session knows neither the
objective nor a budget; whoever drives it does.
"""

import signal
import threading
from math import inf, isfinite, nan
from typing import Any, Generic, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, Solver, State, iterate
from unsaddle.core.ops import Operations, V
from unsaddle.core.phases import (
    BEGIN,
    EXACT,
    GO,
    GRADIENT,
    NEW,
    PROBE,
    PROOF,
    PROVE,
    REPORT,
    SAME,
    TRIAL,
    VALUE,
    PhaseName,
)
from unsaddle.core.records import new

_HERE = Phase(iterate, GRADIENT, lambda ops, p, s, value, gradient: s)
SEARCHES = frozenset((BEGIN, PROVE))  # the phases in which a search begins
SETTLES = frozenset((PhaseName.TAKE_STEP, PhaseName.NARROW))  # that finish what an answer began


class NotFiniteError(ArithmeticError):
    """The function or its gradient was NaN or infinite."""


class Query(NamedTuple):
    """Where a run wants to know something, and what."""

    point: Any  # where; the iterate itself if ``at_iterate``, so hand out a copy then
    needs: int  # VALUE, GRADIENT or BOTH, and TRIAL if it can do without
    at_iterate: bool = False
    phase: int = REPORT  # which asks
    searches: bool = False  # whether a search began since the last query
    first: int = 0  # number of the first sample wanted
    size: int = 1  # how many
    descends: bool = False  # whether the descent went on since the last query
    along: Any = None  # d, where H d at the point is wanted in place of a gradient


class Session(Generic[V]):
    """A run from a state to its end, one query at a time."""

    def __init__(
        self,
        ops: Operations[V],
        solver: Solver,
        parameters: Parameters,
        state: State,  # where to begin, or to go on
        value: float = nan,  # the last one that was told before, if the run goes on
        gradient: V | None = None,  # likewise
    ) -> None:
        """Take a run up."""
        self.ops, self.phases, self.parameters = ops, solver.phases, parameters
        self.state, self.value, self.gradient = state, value, gradient
        self._pending: Phase | None = None

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.state.phase < 0

    def ask(self) -> Query | None:
        """Go through the phases that need no answer, and give the next query; None at the end."""
        state, searches, descends = self.state, False, False
        while (code := state.phase) >= 0:
            phase = self.phases[code]
            if code <= GO:
                descends = True
            elif code in SEARCHES:
                searches = True
            if needs := phase.needs:
                self.state, self._pending = state, phase
                if needs & PROBE and self.parameters.products:
                    d = self.offset(phase)
                    x = self.point(_HERE)
                    return Query(x, GRADIENT, False, code, searches, 0, 1, descends, d)
                point, here = self.point(phase), phase.at is iterate
                first, size = (0, 1) if phase.sample == EXACT else self._sample(phase)
                known = (point, needs & ~PROBE, here, code, searches, first, size, descends, None)
                return new(Query, known)
            state = phase.update(self.ops, self.parameters, state, self.value, self.gradient)
        self.state, self._pending = state, None
        return None

    def tell(self, value: float | None = None, gradient: V | None = None) -> None:
        """Take the answer to the last query in.

        Args:
            value: What the query needs, and more if it is known.
            gradient: Likewise; lent until the next query, by which it may have been overwritten.
                Where the query is ``along`` d, this is H d.

        Raises:
            NotFiniteError: If the answer is not finite, unless the query can do without.
            RuntimeError: If nothing was asked.
        """
        phase, state, ops = self._pending, self.state, self.ops
        if phase is None:
            raise RuntimeError("tell answers a query: call ask first")
        needs = phase.needs
        if needs & PROBE and self.parameters.products and gradient is not None:
            gradient = ops.add(self.searched_gradient(), 1.0, gradient)
        finite = not needs & VALUE or (value is not None and isfinite(value))
        if finite and needs & GRADIENT:
            finite = gradient is not None and (ops.norm(gradient) < inf or ops.finite(gradient))
        if not finite:
            if not needs & TRIAL:
                raise NotFiniteError("the function or its gradient is NaN or infinite")
            value, gradient = inf, ops.times(0.0, state.x)
        if value is not None:
            self.value = value
        if gradient is not None:
            self.gradient = gradient
        if phase.sample == NEW:
            state = state._replace(drawn=state.drawn + phase.size(self.parameters))
        self._pending = None
        state = phase.update(ops, self.parameters, state, self.value, self.gradient)
        while state.phase in SETTLES:
            settle = self.phases[state.phase].update
            state = settle(ops, self.parameters, state, self.value, self.gradient)
        self.state = state

    def point(self, phase: Phase) -> V:
        """Give the point that a phase wants to query; a backend may write it where it belongs."""
        state = self.state
        return state.x if phase.at is iterate else phase.at(self.ops, self.parameters, state)

    def offset(self, phase: Phase) -> V:
        """Give d, where a phase wants to query x + d: the point that it would query at x = 0."""
        still = self.state._replace(x=self.ops.times(0.0, self.state.x))
        return phase.at(self.ops, self.parameters, still)

    def searched_gradient(self) -> V:
        """Give g(x), as the part keeps it that has asked for a probe."""
        s = self.state
        own = s.descent if s.phase < BEGIN else s.escape
        return (s.proof if s.phase >= BEGIN + PROOF else own).gradient

    def _sample(self, phase: Phase) -> tuple[int, int]:
        """Give the number of the first sample that a phase wants, and how many it wants."""
        size, drawn = phase.size(self.parameters), self.state.drawn
        return (drawn - size if phase.sample == SAME else drawn), size


class InterruptsHeldBack:
    """Lets a Ctrl-C through in the user's functions only: half an update in place is no state.

    Those are where ``run.interruptible`` is set. One that comes elsewhere waits for the next query,
    as ``run.interrupted`` says, or for the end. Python handles signals in its main thread. It is a
    class, as ``contextlib`` writes into an exception that passes, which not all exceptions allow.
    """

    def __init__(self, run: Any) -> None:
        """Take the run, which is not interrupted yet."""
        self.run = run
        run.interruptible = run.interrupted = False

    def __enter__(self) -> None:
        """Take the place of the handler that there is, if it is Python's and this its thread."""
        main = threading.current_thread() is threading.main_thread()
        handler: Any = signal.getsignal(signal.SIGINT) if main else None
        self.handler = handler if callable(handler) else None
        if self.handler is not None:
            signal.signal(signal.SIGINT, self)

    def __call__(self, number: int, frame: Any) -> None:
        """Handle a Ctrl-C."""
        self.run.interrupted = not self.run.interruptible
        if self.run.interruptible and self.handler is not None:
            self.handler(number, frame)

    def __exit__(self, *error: object) -> None:
        """Put the handler back that there was, and let through what came last."""
        if self.handler is None:
            return
        last = signal.signal(signal.SIGINT, self.handler)
        if last is not self:  # the user's functions have set one of their own
            signal.signal(signal.SIGINT, last)
        if self.run.interrupted:
            self.handler(signal.SIGINT, None)
