"""Limited-memory BFGS with a Wolfe line search: the descent that needs no constants.

Source: Nocedal (1980), Liu & Nocedal (1989); the line search is in ``line_search.py``.

Choices:

1. The direction is the two-loop recursion over the last twenty pairs (s, y), scaled by s'y/y'y.
2. A first step has length one, or 1/l times the gradient once a curvature l has been met.
3. A line search that fails goes as far down as it has come, forgets the pairs and starts along
   the gradient. If that leads nowhere to speak of, or if ten steps in a row change nothing that
   floating point can show, or if the gradient is noise (``noise_floor.py``), the descent gives up.
4. While it descends it measures the curvature it meets, |y|/|s|, and the change of curvature, by
   the error of the trapezoidal rule, 12 |f(x+s) - f(x) - s'(g + g_+)/2| / |s|^3, both of which
   fade by a tenth per step. Neither costs a gradient.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, GO, GRADIENT, NOTHING, START, TRIAL, PhaseName
from unsaddle.core.resolution import visible_change
from unsaddle.descents.curvature_pairs import Memory, learn, memory, two_loop, value_noise
from unsaddle.descents.line_search import accepts, along, narrow, without_noise
from unsaddle.descents.noise_floor import NOISE_FLOOR, Floor, close_by, measure, seen

LINE_SEARCH, GIVE_UP, UNBOUNDED = PhaseName.LINE_SEARCH, PhaseName.GIVE_UP, PhaseName.UNBOUNDED


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    tries: int = 20  # of a line search, 5 to 60: as in L-BFGS-B
    doubt: int = 6  # tries, below those: so many are rare where the gradient is exact
    idle: int = 10  # steps, 1 to 100: so many in a row without a visible fall are no accident


TUNING = Tuning()


class Settings(NamedTuple):
    """Hyperparameters."""

    max_step: float = inf  # length of the longest step and trial
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d = -g, without a past."""
    fresh = without_pairs(ops, p, s, value, gradient)
    norm = ops.norm(gradient)
    finite = ops.where(norm < inf, LINE_SEARCH, UNBOUNDED)
    onward = ops.where(fresh.idle >= TUNING.idle, GIVE_UP, finite)
    return s._replace(descent=fresh, phase=ops.where(norm <= s.tolerance, s.report, onward))


def without_pairs(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> Memory:
    """Forget the pairs, and aim along -g: at length one, or 1/l if an l has been met."""
    d, tiny = s.descent, ops.tiny(gradient)
    norm = ops.maximum(ops.norm(gradient), tiny)
    t = ops.where(d.curvature > 0, 1 / ops.maximum(d.curvature, tiny), 1 / norm)
    fell = d.value - value > visible_change(ops, s.x, value, value)
    idle = ops.where(fell & ((d.count > 0) | (d.value == inf)), 0, d.idle + 1)
    return d._replace(
        gradient=ops.copy(gradient),
        direction=ops.times(-1.0, gradient),
        count=0,
        value=value,
        line=along(ops, value, -norm * norm, t, p.descent.max_step / norm),
        idle=idle,
        floor=Floor(stiffest=d.floor.stiffest),
    )


def turn(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d = -H g, with H from the last pairs by the two-loop recursion."""
    d = s.descent
    q = two_loop(ops, d)
    small = ops.norm(d.gradient) <= s.tolerance
    slope = ops.dot(q, d.gradient)
    most = p.descent.max_step / ops.maximum(ops.norm(q), ops.tiny(q))
    return s._replace(
        descent=d._replace(direction=q, line=along(ops, d.value, slope, 1.0, most)),
        phase=ops.where(small, s.report, ops.where(slope < 0, LINE_SEARCH, START)),
    )


def trial(ops: Ops, p: Parameters, s: State) -> Vector:
    """x + t d."""
    return ops.add(s.x, s.descent.line.t, s.descent.direction)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take the step where the Wolfe conditions hold, else try another t."""
    d, line = s.descent, s.descent.line
    slope = ops.dot(gradient, d.direction)
    smooth = without_noise(ops, line, value, slope, value_noise(ops, d))
    taken = accepts(line, smooth, slope)
    fell = d.value - value > visible_change(ops, s.x, d.value, d.value)
    idle = ops.where(taken, ops.where(fell, 0, d.idle + 1), d.idle)
    floor = seen(ops, d, ops.norm(gradient), taken)
    after = learn(ops, d, value, gradient, slope, taken)
    after = after._replace(line=narrow(ops, line, smooth, slope), idle=idle, floor=floor)
    again = retry(ops, s, after, value)
    best = ops.where(again == START, after.line.low.t, 0.0)
    x = ops.axpy(ops.where(taken, line.t, best), d.direction, s.x)
    phase = ops.where(taken, onward(ops, p, s, after), again)
    return s.descended(phase, x, ops.where(taken, s.left - 1, s.left), after)


def onward(ops: Ops, p: Parameters, s: State, after: Memory) -> Scalar:
    """Go on from the new x, report after the last step, or see if there is more to gain."""
    norm, floor = ops.norm(after.gradient), after.floor
    stuck = (after.idle >= TUNING.idle) | (norm <= p.descent.gradient_noise)
    doubts = ops.where(floor.since >= floor.patience, NOISE_FLOOR, GO)
    further = ops.where(stuck, GIVE_UP, doubts)
    return ops.where(s.left <= 1, s.report, ops.where(norm <= s.tolerance, GO, further))


def retry(ops: Ops, s: State, after: Memory, value: Scalar) -> Scalar:
    """Try another t; when there have been enough, start anew from the lowest point, or give up."""
    d, line = s.descent, s.descent.line
    endless = (line.high.t == inf) & (value < line.low.value)
    anew = (d.count > 0) | (d.value - after.line.low.value > value_noise(ops, d))
    ends = ops.where(endless, UNBOUNDED, ops.where(anew, START, GIVE_UP))
    doubts = ops.where(line.tries + 1 == TUNING.doubt, NOISE_FLOOR, LINE_SEARCH)
    return ops.where(line.tries + 1 >= TUNING.tries, ends, doubts)


lbfgs = Part(
    {
        START: Phase(iterate, BOTH, start),
        GO: Phase(iterate, NOTHING, turn),
        LINE_SEARCH: Phase(trial, BOTH | TRIAL, attempt),
        NOISE_FLOOR: Phase(close_by, GRADIENT, measure),
    },
    Settings,
    memory,
)
