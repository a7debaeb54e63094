"""A run within bounds: SciPy's L-BFGS-B descends, the search lives on the free variables.

1. No query leaves the bounds. A jump is cut where it meets one, and slides along it.
2. The descent is told the projected gradient, a search that of the free variables, zero elsewhere;
   and draws are zero elsewhere too. So all vectors of a search are of the free variables, and n is
   their number.
3. A variable is free if it is inside its bounds by more than a margin of several probe radii.
   Where a search has to probe further it begins anew, with those that are in the way held too.
4. A variable at a bound that the gradient does not clearly hold there may have a way down that no
   search of the free variables can see. Before the claim, such variables are moved in by a little
   and the descent goes on from there: what is lower is kept.
5. That the others are held, jac alone says: ``multipliers.py`` asks one value inside before the
   claim.
"""

import contextlib
import dataclasses
import math
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize

from unsaddle.certificate import Certificate
from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.outcome import EndError, Outcome
from unsaddle.core.phases import BOTH, CERTIFIED, GO, GRADIENT, START, TRIAL, VALUE
from unsaddle.core.resolution import visible_change
from unsaddle.core.session import NotFiniteError, Query
from unsaddle.escapes import krylov
from unsaddle.methods.constants import DEFAULTS
from unsaddle.numpy import multipliers
from unsaddle.numpy.box import TUNING as BOX
from unsaddle.numpy.box import Box, OutsideError, variables
from unsaddle.numpy.loop import TUNING as LOOP
from unsaddle.numpy.loop import Run, Seen
from unsaddle.numpy.ops import CachingOps, Vector, ops
from unsaddle.numpy.oracle import Oracle


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    pairs: int = 10  # 3 to 30: SciPy's own default
    trials: int = 20  # of a line search, 10 and up: SciPy's own default
    wall: float = 1e3  # of 1 + |f|, above 1: the value of a trial that has none, for a line search
    # that can do with finite ones only
    nudges: tuple[float, ...] = (1e-3, 1e-2, 1e-1)  # of max(1, |x_i|), (0, 1): how far a variable
    # is moved in from its bound, the further the less the gradient shows
    departures: int = 5  # 1 and up: so many times in a row at most
    away: float = 4.0  # margins, above 1: from a bound, in a search whose probes have met one


TUNING = Tuning()


class ArrivedError(Exception):
    """The projected gradient is small."""


class Known(NamedTuple):
    """The last point whose value and whole gradient were computed."""

    x: Vector
    value: float
    gradient: Vector


class FreeOps(CachingOps):
    """The operations on the free variables: draws are zero elsewhere, and n is their number."""

    free: Vector  # 1 for a free variable, else 0

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector of the free variables."""
        return super().normal(like, seed, episode) * self.free

    def size(self, x: Vector) -> int:
        """How many variables are free."""
        return int(self.free.sum())


class BoxRun(Run):
    """One run within bounds."""

    def __init__(
        self,
        solver: Solver,
        parameters: Parameters,
        state: State,
        oracle: Oracle,
        box: Box,
        callback: Any = None,
        remembers: bool = True,
        anew: int = GO,  # the phase in which a search begins again
    ) -> None:
        """Prepare to run."""
        super().__init__(solver, parameters, state, oracle, callback, self._arrive, remembers)
        self.box, self.anew, self.answer = box, anew, self._restricted
        if oracle.noise:  # which only numerical gradients have
            oracle.jac = partial(oracle.jac, box=box)
        self.known = self.ops = FreeOps(state.x)
        self.whole: Known | None = None
        self.set_free(self.state.x)

    def set_free(self, x: Vector, least: float = 0.0) -> None:
        """Find the free variables of x, with a margin of at least so much."""
        p = self.parameters
        own = p.escape if isinstance(p.escape, krylov.Settings) else p.proof  # of certify
        unit = max(ops.roundoff(x), self.oracle.noise)
        radius = own.probe_radius or 2 * math.sqrt(unit) * max(ops.norm(x), 1.0)
        self.margin = max(BOX.margin * radius, least)
        self.known.free = self.box.free(x, self.margin).astype(x.dtype)

    def _restricted(self, point: Vector, query: Query) -> tuple[float | None, Vector | None]:
        """Answer within the bounds, and give of the gradient what counts for the phase."""
        if query.along is not None:
            return None, self._of_free(self.oracle.answer(point, query)[1])
        if query.phase > GO and query.needs & GRADIENT and not self.box.holds(point):
            raise OutsideError
        self.box.clip(point)
        whole = self.whole
        known = whole is not None and query.at_iterate and np.array_equal(whole.x, point)
        if whole is not None and known and not (query.needs & VALUE and math.isnan(whole.value)):
            value, gradient = whole.value, whole.gradient
        else:
            value, gradient = self.oracle.answer(point, query)
            if gradient is not None and query.at_iterate:
                here = math.nan if value is None else value
                self.whole = Known(point.copy(), here, gradient.copy())
        if gradient is None:
            return value, None
        if query.phase == START:
            return value, self.box.projected(point, gradient)
        return value, self._of_free(gradient)

    def _of_free(self, gradient: Any) -> Vector:
        """Give zero for the variables that are held, but NaN where the gradient is not finite."""
        with np.errstate(invalid="ignore"):  # zero times infinity
            return gradient * self.known.free

    def gradient_at(self, x: Vector) -> Vector | None:
        """Give the whole gradient at x, if it is known."""
        whole = self.whole
        return whole.gradient if whole is not None and np.array_equal(whole.x, x) else None

    def restricted(self, shown: Certificate) -> Certificate:
        """Say of a certificate which variables it is about."""
        x, free, (lower, upper) = self.state.x, self.known.free > 0, self.box
        gradient, count = self.gradient_at(x), int(free.sum())
        if self.state.phase == CERTIFIED and not count:
            gamma = self.parameters.curvature_tol
            shown = Certificate(True, gamma, 0.0, math.inf, None, 0, "")
        if gradient is None:
            return dataclasses.replace(shown, free=count)
        loose = self.box.unclear(x, gradient, self.parameters.tolerance or DEFAULTS["tol"])
        near = ~free & (x > lower) & (x < upper)
        unclear = tuple(np.flatnonzero(loose | near).tolist())
        norm = ops.norm(self.box.projected(x, gradient))
        about = f"Within bounds: this is about the {count} of {x.size} variables that are free."
        unsaid = "may not be held there by the gradient; nothing is claimed of moving them in."
        named = f"{variables(unclear)}, at a bound or next to one, {unsaid}" if unclear else ""
        note = " ".join(filter(None, (shown.note, about, named)))
        return dataclasses.replace(
            shown, note=note, gradient_norm=norm, free=count, unclear=unclear
        )

    def kept(self) -> Vector:
        """Give what another call needs to go on: which variables are free, and the gradient."""
        gradient = self.gradient_at(self.state.x)
        unknown = np.full_like(self.state.x, math.nan)
        return np.stack([self.known.free, unknown if gradient is None else gradient])

    def go_on(self, free: Vector, gradient: Vector) -> None:
        """Go on from there."""
        if not self.box.holds(self.state.x):
            raise ValueError("state is of a run with other bounds: pass the same, or start anew")
        self.known.free = free.copy()
        if ops.finite(gradient) and self.state.phase != START:
            self.whole = Known(self.state.x.copy(), math.nan, gradient.copy())

    def _check_claim(self) -> None:
        """See that values do not contradict the multipliers that a claim rests on, too."""
        super()._check_claim()
        if not self.doubt:
            self.state, self.doubt = multipliers.checked(self)

    def _answer_all(self) -> None:
        """Go on to the end; a search whose probes meet a bound begins anew, away from it."""
        while True:
            try:
                return super()._answer_all()
            except OutsideError:
                self.set_free(self.state.x, TUNING.away * self.margin)
                self.interruptible = False
                self.state = self.state._replace(phase=self.anew)

    def _descend(self, descend: Any) -> None:
        """Let L-BFGS-B move x, and find out which variables are free where it stops."""
        if self._searching:
            self._notice(Query(self.state.x, BOTH, True, START))
        self.box.clip(self.state.x)
        self._arrive(self.state.x)
        self._leave_unclear_bounds()
        self.set_free(self.state.x)

    def _arrive(self, x: Vector) -> Vector:
        """Descend from x to where the projected gradient is small, or no further."""
        begun = False
        ends: Known | None = None

        def both(at: Vector) -> tuple[float, Vector]:
            nonlocal begun, ends
            ends = self._queried(at.astype(x.dtype), not begun)
            if not begun or (
                self._small(ends) and self.whole is not None and ends.value <= self.whole.value
            ):
                begun = True
                self._take(ends)
            return ends.value, ends.gradient.astype(float)

        def step(at: Vector) -> None:
            if ends is not None:
                self._take(ends)

        options = {"maxcor": TUNING.pairs, "maxls": TUNING.trials, "ftol": 0.0, "gtol": 0.0}
        options |= {"maxiter": np.iinfo(np.int32).max, "maxfun": np.iinfo(np.int32).max}
        sides = [*zip(self.box.lower.astype(float), self.box.upper.astype(float), strict=True)]
        given: Any = {"jac": True, "bounds": sides, "callback": step, "options": options}
        with contextlib.suppress(ArrivedError):
            scipy_minimize(both, x.astype(float), method="L-BFGS-B", **given)
        return self.state.x

    def _queried(self, point: Vector, first: bool) -> Known:
        """Query the function for the descent; a trial without a value is as a wall."""
        whole, query = self.whole, Query(point, BOTH | TRIAL * (not first), phase=GO)
        if whole is not None and np.array_equal(whole.x, self.box.clip(point)):
            return whole
        self.interruptible = True
        value, gradient = self.oracle.answer(self.box.clip(point), query)
        self.interruptible = False
        if value is None or gradient is None or not (math.isfinite(value) and ops.finite(gradient)):
            if value == -math.inf:
                raise EndError(Outcome.UNBOUNDED)
            if first or self.whole is None:
                raise NotFiniteError("the function or its gradient is NaN or infinite")
            wall = self.whole.value + TUNING.wall * (1 + abs(self.whole.value))
            seen = Known(point, wall, np.zeros_like(point))
        else:
            seen = Known(point, value, gradient.copy())
        self._note(GO, seen)
        return seen

    def _note(self, code: int, seen: Known) -> None:
        """Write a query of the descent down."""
        norm = ops.norm(self.box.projected(seen.x, seen.gradient))
        self.codes.append(code)
        self.values.append(seen.value)
        self.norms.append(norm)
        if self.path is not None:
            self.path.extend(seen.x.tolist())
        self.iterations += 1
        if not (self.remembers or self.iterations % LOOP.lap):
            self.forget()
        if self.oracle.lowest_at is seen.x:
            self.lowest = Seen(seen.x, seen.value, seen.gradient, norm)
        if self.callback is not None:
            self._call_back(self.callback)
        if self.clock is not None and monotonic() >= self.clock.due:
            self.clock.tick(self)

    def _take(self, seen: Known) -> None:
        """Make a point the iterate, and stop there if it will do."""
        self.state.x[:] = seen.x
        self.whole = seen
        norm = ops.norm(self.box.projected(seen.x, seen.gradient))
        self.iterate = Seen(seen.x, seen.value, seen.gradient, norm)
        if self._small(seen):
            raise ArrivedError

    def _small(self, seen: Known) -> bool:
        """Say whether the projected gradient is small enough."""
        return ops.norm(self.box.projected(seen.x, seen.gradient)) <= self.parameters.tolerance

    def _leave_unclear_bounds(self) -> None:
        """Move variables off bounds that do not clearly hold them, as long as that leads lower."""
        for _ in range(TUNING.departures):
            arrived, tolerance = self.whole, self.parameters.tolerance
            if arrived is None:
                return
            which = self.box.unclear(arrived.x, arrived.gradient, tolerance)
            if not which.any() or not self._lower_from(arrived, which):
                return

    def _lower_from(self, arrived: Known, which: NDArray[np.bool_]) -> bool:
        """Descend from further and further inside until the gradient shows; keep what is lower."""
        x, (lower, upper) = arrived.x, self.box
        rng = np.random.default_rng(
            (int(self.state.seed), self.earlier + self.oracle.gradients, 0xB0)
        )
        inward = np.where(x <= lower, 1.0, -1.0) * rng.uniform(0.5, 1.0, x.size)
        for nudge in TUNING.nudges:
            room = np.minimum(nudge * np.maximum(1.0, abs(x)), upper - lower)
            start = self.box.clip((x + np.where(which, inward * room, 0.0)).astype(x.dtype))
            self._arrive(start)
            if not np.array_equal(self.state.x, start):
                break
        there, visible = self.whole, visible_change(ops, x, arrived.value, arrived.value)
        if there is not None and there.value < arrived.value - visible:
            return True
        self.state.x[:] = x
        self.whole = arrived
        return False


def within(box: Box, solver: Solver, p: Parameters, state: State, oracle: Oracle) -> BoxRun:
    """Prepare a search at a point within bounds; without a free variable it is over at once."""
    if not box.holds(state.x):
        out = np.flatnonzero((state.x < box.lower) | (state.x > box.upper))
        raise ValueError(f"x is outside the bounds in {variables(out)}: pass a point within them")
    run = BoxRun(solver, p, state, oracle, box, anew=state.phase)
    if not run.known.free.any():
        run.state = state._replace(phase=CERTIFIED)
    return run
