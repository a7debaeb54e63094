"""The jump along negative curvature when rho is not known: both ways, halved or doubled.

With lambda the curvature found (e'He = -lambda) and s the length:

* s is halved, both signs being tried, until f(x~ +- s e) <= f(x~) - lambda s^2/8;
* then doubled, as long as that lowers f by more than lambda s^2/4 again.

If the Hessian is rho-Lipschitz, every s <= 9 lambda/(4 rho) passes the first test and every
s < 5 lambda/(6 rho) passes the second, so whatever the first s was, f falls by at least
(25/576) lambda^3/rho^2, about a quarter of what the best length would give; and rho is not needed.
Decreases that floating point cannot tell from none are not accepted. Where sixty doublings find no
end of it, f has no minimum that way.
"""

from math import inf
from typing import NamedTuple

from unsaddle.kernel import (
    BEGIN,
    CERTIFIED,
    JUMP_FAILED,
    START,
    TRIAL,
    UNBOUNDED,
    VALUE,
    Ops,
    Parameters,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

MEASURE, TRY = BEGIN + 2, BEGIN + 3
HALVINGS = DOUBLINGS = 60


class Stride(NamedTuple):
    """What is known of the jump."""

    value: Scalar  # f(x~)
    lowest: Scalar  # lowest value at an accepted length, infinity before that
    chosen: Scalar  # the signed length that gave it
    reach: Scalar  # the signed length to try next
    turned: Scalar  # whether that is the second sign
    tries: Scalar  # so far, and from the first accepted length anew


NO_STRIDE = Stride(0.0, inf, 0.0, 0.0, False, 0)


def measure(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin downhill with s = 2 lambda/rho, where rho is what the descent has met."""
    e = s.escape
    _, rho = s.descent.scale()
    size = ops.maximum(ops.norm(s.x), 1.0)
    length = ops.where(
        rho * size > -2e-3 * e.curvature, -2 * e.curvature / ops.maximum(rho, ops.tiny(s.x)), size
    )
    uphill = ops.dot(e.gradient, e.direction) > 0
    stride = Stride(value, inf, 0.0, ops.where(uphill, -length, length), False, 0)
    return s._replace(escape=e._replace(stride=stride), phase=TRY)


def landing(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + s e."""
    return ops.add(s.x, s.escape.stride.reach, s.escape.direction)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Turn, halve, double or land."""
    e, t = s.escape, s.escape.stride
    square = -e.curvature * t.reach * t.reach  # lambda s^2
    seen = 200 * ops.roundoff(s.x) * abs(t.value)
    early = t.lowest == inf
    asked = ops.where(early, t.value - square / 8, t.lowest - square / 16)
    good = (value <= asked) & (value < t.value - seen)
    lowest = ops.where(good, value, t.lowest)
    chosen = ops.where(good, t.reach, t.chosen)
    shorter = ops.where(t.turned, -t.reach / 2, -t.reach)
    lands = ops.where(good, False, lowest < inf)
    hopeless = (t.tries >= 2 * HALVINGS) | (square < seen)
    fails = ops.where(good, False, (lowest == inf) & hopeless)
    stays = ops.where(e.found == inf, CERTIFIED, JUMP_FAILED)  # not sought, but met
    endless = (lowest < t.lowest) & (t.lowest < inf) & (t.tries >= DOUBLINGS)
    stride = Stride(
        value=t.value,
        lowest=lowest,
        chosen=chosen,
        reach=ops.where(good, 2 * t.reach, shorter),
        turned=ops.where(good, False, ops.where(t.turned, False, True)),
        tries=ops.where(good & early, 0, t.tries + 1),
    )
    return s._replace(
        x=ops.axpy(ops.where(lands, chosen, 0.0), e.direction, s.x),
        escape=e._replace(stride=stride),
        phase=ops.where(lands, START, ops.where(fails, stays, ops.where(endless, UNBOUNDED, TRY))),
    )


PHASES = {
    MEASURE: Phase(iterate, VALUE, measure),
    TRY: Phase(landing, VALUE | TRIAL, attempt),
}
