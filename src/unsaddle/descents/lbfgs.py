"""Limited-memory BFGS with a Wolfe line search: the descent that needs no constants.

Source: Nocedal (1980), Liu & Nocedal (1989); the line search is in ``wolfe.py``.

Choices:

1. The direction is the two-loop recursion over the last twenty pairs (s, y), scaled by s'y/y'y.
2. A first step has length one, or 1/l times the gradient once a curvature l has been met.
3. A line search that fails goes as far down as it has come, forgets the pairs and starts along
   the gradient; if that leads nowhere to speak of, or if ten steps in a row change nothing that
   floating point can see, the descent has stalled.
4. While it descends it measures the curvature it meets, |y|/|s|, and the change of curvature, by
   the error of the trapezoidal rule, 12 |f(x+s) - f(x) - s'(g + g_+)/2| / |s|^3, both of which
   fade by a tenth per step. Neither costs a gradient.
"""

from math import inf
from typing import NamedTuple

from unsaddle.descents.pairs import HAZE, PAIRS, haze, learn, memory, steer
from unsaddle.descents.wolfe import accepts, along, clean, narrow
from unsaddle.kernel import (
    BOTH,
    GO,
    NOTHING,
    STALLED,
    START,
    TRIAL,
    UNBOUNDED,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

TRY = 2
TRIES, IDLE = 20, 10


class Settings(NamedTuple):
    """None."""


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d = -g, without a past."""
    d, norm = s.descent, ops.maximum(ops.norm(gradient), ops.tiny(gradient))
    t = ops.where(d.curvature > 0, 1 / ops.maximum(d.curvature, ops.tiny(gradient)), 1 / norm)
    fell = d.value - value > 8 * ops.roundoff(s.x) * abs(value)
    idle = ops.where(fell & ((d.count > 0) | (d.value == inf)), 0, d.idle + 1)
    fresh = d._replace(
        gradient=ops.keep(gradient),
        direction=ops.times(-1.0, gradient),
        steps=ops.scale(0.0, d.steps),
        bends=ops.scale(0.0, d.bends),
        products=ops.blank(s.x, PAIRS),
        count=0,
        value=value,
        line=along(value, -norm * norm, t),
        idle=idle,
    )
    onward = ops.where(idle >= IDLE, STALLED, ops.where(norm < inf, TRY, UNBOUNDED))
    phase = ops.where(norm <= s.tolerance, s.report, onward)
    return s._replace(descent=fresh, phase=phase)


def turn(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d = -H g, with H from the last pairs by the two-loop recursion."""
    d = s.descent
    q = steer(ops, d)
    small = ops.norm(d.gradient) <= s.tolerance
    slope = ops.dot(q, d.gradient)
    return s._replace(
        descent=d._replace(direction=q, line=along(d.value, slope, 1.0)),
        phase=ops.where(small, s.report, ops.where(slope < 0, TRY, START)),
    )


def trial(ops: Ops, p: Parameters, s: State) -> Vector:
    """x + t d."""
    return ops.add(s.x, s.descent.line.t, s.descent.direction)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take the step where the Wolfe conditions hold, else try another t."""
    d, line, left = s.descent, s.descent.line, s.left - 1
    noise = haze(ops, d)
    slope = ops.dot(gradient, d.direction)
    seen = clean(ops, line, value, slope, noise)
    taken = accepts(line, seen, slope)
    idle = ops.where(d.value - value > noise / HAZE, 0, d.idle + 1)
    after = learn(ops, d, value, gradient, slope, taken)._replace(
        line=narrow(ops, line, seen, slope), idle=ops.where(taken, idle, d.idle)
    )
    onward = ops.where(
        left <= 0,
        s.report,
        ops.where((idle >= IDLE) & (ops.norm(gradient) > s.tolerance), STALLED, GO),
    )
    endless = (line.high == inf) & (value < line.low_value)
    best, over = after.line.low, line.tries + 1 >= TRIES
    anew = (d.count > 0) | (d.value - after.line.low_value > noise)
    gives_up = ops.where(endless, UNBOUNDED, ops.where(anew, START, STALLED))
    again = ops.where(over, gives_up, TRY)
    t = ops.where(taken, line.t, ops.where(over & (gives_up == START), best, 0.0))
    return s._replace(
        x=ops.axpy(t, d.direction, s.x),
        descent=after,
        left=ops.where(taken, left, s.left),
        phase=ops.where(taken, onward, again),
    )


lbfgs = Part(
    {
        START: Phase(iterate, BOTH, start),
        GO: Phase(iterate, NOTHING, turn),
        TRY: Phase(trial, BOTH | TRIAL, attempt),
    },
    Settings,
    memory,
)
