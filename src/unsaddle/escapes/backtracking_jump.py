"""The jump along negative curvature when rho is not known: both ways, halved or doubled.

With lambda the curvature found (e'He = -lambda) and s the length:

* s is halved, both signs being tried, until f(x~ +- s e) <= f(x~) - lambda s^2/8;
* then doubled, as long as that lowers f by more than lambda s^2/4 again.

If the Hessian is rho-Lipschitz, every s <= 9 lambda/(4 rho) passes the first test and every
s < 5 lambda/(6 rho) passes the second, so whatever the first s was, f falls by at least
(25/576) lambda^3/rho^2, about a quarter of what the best length would give; and rho is not needed.
Decreases that are no visible change of f are not accepted, and no s is longer than ``max_step``.
The first s is 2 lambda/rho, where rho is what the descent has met; that may be much more than along
e, and s so short that its gain could not be seen. It is then as long as is needed to see it, but no
longer than max(sqrt(n), |x|): one for each variable.
Where sixty doublings find no end of it, f has no minimum that way.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import CERTIFIED, START, TRIAL, VALUE, PhaseName
from unsaddle.core.resolution import visible_change
from unsaddle.escapes.jump import landing

JUMP_BEGIN, JUMP = PhaseName.JUMP_BEGIN, PhaseName.JUMP
JUMP_FAILED, UNBOUNDED = PhaseName.JUMP_FAILED, PhaseName.UNBOUNDED
DOUBT = PhaseName.DOUBT


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    halvings: int = 60  # 20 to 1000: 2^-60 of the first length is below any roundoff of x
    doublings: int = 60  # 20 to 1000: 2^60 times the first length is no minimum's distance
    gain: float = 128.0  # visible changes of f, above 8: lambda s^2 of the shortest first s; after
    # two halvings it is 8, and the gain of lambda s^2/2 can still be seen
    little_change: float = 2e-3  # of |curvature|/|x|, (0, 1): a smaller rho says nothing of s


TUNING = Tuning()


class Backtracking(NamedTuple):
    """What is known of the jump."""

    value: Scalar  # f(x~)
    lowest: Scalar  # lowest value at an accepted length, infinity before that
    chosen: Scalar  # the signed length that gave it
    reach: Scalar  # the signed length to try next
    turned: Scalar  # whether that is the second sign
    tries: Scalar  # so far, and from the first accepted length anew


NO_BACKTRACKING = Backtracking(0.0, inf, 0.0, 0.0, False, 0)


def aim(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin downhill with s = 2 lambda/rho, where rho is what the descent has met."""
    e, size = s.escape, ops.maximum(ops.norm(s.x), 1.0)
    most = ops.maximum(size, ops.size(s.x) ** 0.5)
    _, rho = s.descent.constants_met()
    known = rho * size > -TUNING.little_change * e.curvature
    length = ops.where(known, -2 * e.curvature / ops.maximum(rho, ops.tiny(s.x)), size)
    visible = TUNING.gain * visible_change(ops, s.x, value, value)
    seen = ops.sqrt(visible / ops.maximum(-e.curvature, ops.tiny(s.x)))
    length = ops.maximum(length, ops.where(seen < most, seen, most))
    length = ops.where(length < p.escape.max_step, length, p.escape.max_step)
    uphill = ops.dot(e.gradient, e.direction) > 0
    first = NO_BACKTRACKING._replace(value=value, reach=ops.where(uphill, -length, length))
    return s.searched(JUMP, e._replace(jump=first))


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Turn, halve, double or land; s' = 2 s has to gain lambda s'^2/16 = lambda s^2/4 more."""
    e, j = s.escape, s.escape.jump
    square = -e.curvature * j.reach * j.reach  # lambda s^2
    visible = visible_change(ops, s.x, j.value, j.value)
    wanted = ops.where(j.lowest == inf, j.value - square / 8, j.lowest - square / 16)
    good = (value <= wanted) & (value < j.value - visible)
    after = next_trial(ops, j, value, good)
    lands = (after.lowest < inf) & ops.where(good, 2 * abs(j.reach) > p.escape.max_step, True)
    hopeless = (j.tries >= 2 * TUNING.halvings) | (square < visible)
    endless = good & (j.lowest < inf) & (j.tries >= TUNING.doublings)
    ends = ops.where((after.lowest == inf) & hopeless, without_jump(ops, e), JUMP)
    phase = ops.where(lands, START, ops.where(endless, UNBOUNDED, ends))
    x = ops.axpy(ops.where(lands, after.chosen, 0.0), e.direction, s.x)
    stalled = ops.where(lands, False, s.stalled)
    return s._replace(x=x, escape=e._replace(jump=after), phase=phase, stalled=stalled)


def without_jump(ops: Ops, e: Any) -> Scalar:
    """The phase where no jump pays: the claim, if this was only a dip; else doubt, or failure."""
    failed = ops.where(e.probe.unpaired, DOUBT, JUMP_FAILED)
    return ops.where(e.found == inf, CERTIFIED, failed)


def next_trial(ops: Ops, j: Backtracking, value: Scalar, good: Scalar) -> Backtracking:
    """Double a length that is good; try the other sign of one that is not, or half of it."""
    shorter = ops.where(j.turned, -j.reach / 2, -j.reach)
    return Backtracking(
        value=j.value,
        lowest=ops.where(good, value, j.lowest),
        chosen=ops.where(good, j.reach, j.chosen),
        reach=ops.where(good, 2 * j.reach, shorter),
        turned=ops.where(good, False, ops.where(j.turned, False, True)),
        tries=ops.where(good & (j.lowest == inf), 0, j.tries + 1),
    )


PHASES = {
    JUMP_BEGIN: Phase(iterate, VALUE, aim),
    JUMP: Phase(landing, VALUE | TRIAL, attempt),
}
