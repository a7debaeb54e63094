"""Limited-memory BFGS with a Wolfe line search: the descent that needs no constants.

Source: Nocedal (1980), Liu & Nocedal (1989); the line search is in ``line_search.py``.

Choices:

1. The direction is that of the last twenty pairs (s, y), ten where they are long, and s'y/y'y I,
   by ``compact_form.py``.
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
from unsaddle.descents.compact_form import PAIRS, direction, forget
from unsaddle.descents.curvature_pairs import Memory, learn, memory, value_noise
from unsaddle.descents.line_search import accepts, along, narrow, tried
from unsaddle.descents.noise_floor import NOISE_FLOOR, close_by, may_be_noise, measure

LINE_SEARCH, TAKE_STEP, NARROW = PhaseName.LINE_SEARCH, PhaseName.TAKE_STEP, PhaseName.NARROW
GIVE_UP, UNBOUNDED = PhaseName.GIVE_UP, PhaseName.UNBOUNDED


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    tries: int = 20  # of a line search, 5 to 60: as in L-BFGS-B
    rare: int = 9  # tries, below those: so many are rare where the gradient is exact
    idle: int = 10  # steps, 1 to 100: so many in a row without a visible fall are no accident


TUNING = Tuning()


class Settings(NamedTuple):
    """Hyperparameters."""

    max_step: float = inf  # length of the longest step and trial
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding
    pairs: int = PAIRS  # (s, y) that are kept


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d = -g, without a past."""
    fresh = without_pairs(ops, p, s, value, gradient)
    norm = ops.norm(gradient)
    finite = ops.where(norm < inf, LINE_SEARCH, UNBOUNDED)
    onto = ops.where(fresh.idle >= TUNING.idle, GIVE_UP, finite)
    return s._replace(descent=fresh, phase=ops.where(norm <= s.tolerance, s.report, onto))


def without_pairs(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> Memory:
    """Forget the pairs, and aim along -g: at length one, or 1/l if an l has been met."""
    d, tiny = s.descent, ops.tiny(gradient)
    norm, noise = ops.maximum(ops.norm(gradient), tiny), value_noise(ops, s.x, value)
    t = ops.where(d.curvature > 0, 1 / ops.maximum(d.curvature, tiny), 1 / norm)
    fell = d.value - value > visible_change(ops, s.x, value, value)
    idle = ops.where(fell & ((d.pairs.count > 0) | (d.value == inf)), 0, d.idle + 1)
    return d._replace(
        gradient=ops.copy(gradient),
        direction=ops.times(-1.0, gradient),
        pairs=forget(ops, s.x, d.pairs.block, len(d.pairs.along)),
        value=value,
        line=along(ops, value, -norm * norm, t, p.descent.max_step / norm, noise),
        idle=idle,
        floor=d.floor._replace(lowest=inf, since=0),
    )


def turn(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d = -H g, with H from the last pairs."""
    d = s.descent
    q = direction(ops, d.pairs, d.gradient)
    small = ops.norm(d.gradient) <= s.tolerance
    slope, noise = ops.dot(q, d.gradient), value_noise(ops, q, d.value)
    most = p.descent.max_step / ops.maximum(ops.norm(q), ops.tiny(q))
    after = d.along(q, along(ops, d.value, slope, 1.0, most, noise))
    onto = ops.where(small, s.report, ops.where(slope < 0, LINE_SEARCH, START))
    return s.descended(onto, s.x, s.left, after)


def trial(ops: Ops, p: Parameters, s: State) -> Vector:
    """x + t d."""
    return ops.add(s.x, s.descent.line.t, s.descent.direction)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take the step where the Wolfe conditions hold, else try another t."""
    d = s.descent
    line = tried(ops, d.line, value, ops.dot(gradient, d.direction))
    onto = ops.where(accepts(line), TAKE_STEP, NARROW)
    return s.descended(onto, s.x, s.left, d.along(d.direction, line))


def take(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x + t d."""
    d, norm = s.descent, ops.norm(gradient)
    x = ops.axpy(d.line.t, d.direction, s.x)
    after = learn(ops, d, value, gradient)
    return s.descended(next_phase(ops, p, s, after, norm), x, s.left - 1, after)


def next_phase(ops: Ops, p: Parameters, s: State, after: Memory, norm: Scalar) -> Scalar:
    """Go on from the new x, report after the last step, or see if there is more to gain."""
    stuck = (after.idle >= TUNING.idle) | (norm <= p.descent.gradient_noise)
    goes_on = ops.where(may_be_noise(ops, p, s, after.floor, norm), NOISE_FLOOR, GO)
    further = ops.where(stuck, GIVE_UP, goes_on)
    return ops.where(s.left <= 1, s.report, ops.where(norm <= s.tolerance, GO, further))


def again(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Try another t; when there have been enough, start anew from the lowest point, or give up."""
    d, line = s.descent, narrow(ops, s.descent.line)
    endless = (d.line.high.t == inf) & (value < d.line.low.value)
    anew = (d.pairs.count > 0) | (d.value - line.low.value > line.noise)
    ends = ops.where(endless, UNBOUNDED, ops.where(anew, START, GIVE_UP))
    goes_on = ops.where(line.tries == TUNING.rare, NOISE_FLOOR, LINE_SEARCH)
    onto = ops.where(line.tries >= TUNING.tries, ends, goes_on)
    best = ops.where(onto == START, line.low.t, 0.0)
    floor = d.floor._replace(back=LINE_SEARCH, stiffest=ops.maximum(d.floor.stiffest, d.curvature))
    x = ops.axpy(best, d.direction, s.x)
    return s.descended(onto, x, s.left, d._replace(line=line, floor=floor))


lbfgs = Part(
    {
        START: Phase(iterate, BOTH, start),
        GO: Phase(iterate, NOTHING, turn),
        LINE_SEARCH: Phase(trial, BOTH | TRIAL, attempt),
        TAKE_STEP: Phase(iterate, NOTHING, take),
        NARROW: Phase(iterate, NOTHING, again),
        NOISE_FLOOR: Phase(close_by, GRADIENT, measure),
    },
    Settings,
    memory,
)
