"""The jump along a direction of negative curvature: Lemma 6 of Zhang & Li (2021).

Shared by every escape that ends in a direction e. Differences from the paper:

1. The slope f'_e is taken at x~, where the search was, not at x_0 as Algorithms 5 and 8 print.
2. Where the slope cannot decide, |f'_e| s <= the promised decrease (in particular where it is 0/0
   in print), both signs are tried and the lower value is kept, as the paper remarks one should.
3. A jump that does not lower f as promised is not taken: at a minimum the printed one raises f.
   The run then ends at x~. The promise is never below a visible change of f.
4. Like the paper, the method takes one descent step from where it lands before it asks again
   whether the gradient is small.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, iterate, watch
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import NOTHING, PROVE, START, VALUE, PhaseName
from unsaddle.core.resolution import visible_change

JUMP_BEGIN, JUMP, LANDED = PhaseName.JUMP_BEGIN, PhaseName.JUMP, PhaseName.LANDED
JUMP_FAILED = PhaseName.JUMP_FAILED


class Jump(NamedTuple):
    """What is known of the jump. Lengths are in units of |direction|."""

    value: Scalar  # f(x~)
    lowest: Scalar  # the lower of f(x~ -+ s e) so far
    chosen: Scalar  # the signed length that gave it
    reach: Scalar  # the signed length to try next
    unsure: Scalar  # whether the other sign is to be tried too


NO_JUMP = Jump(0.0, inf, 0.0, 0.0, False)


def aim(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Point e downhill: the first try is -s f'_e(x~)/|f'_e(x~)| along e."""
    e = s.escape
    length = p.escape.length / ops.norm(e.direction)
    slope = ops.dot(e.gradient, e.direction)
    jump = Jump(
        value=value,
        lowest=inf,
        chosen=0.0,
        reach=ops.where(slope >= 0, -length, length),
        unsure=abs(slope) * length <= p.escape.decrease,
    )
    return s.searched(JUMP, e._replace(jump=jump))


def landing(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ -+ s e."""
    return ops.add(s.x, s.escape.jump.reach, s.escape.direction)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x <- x~ -+ s e if f falls by (1/384) sqrt(eps^3/rho), else x~ is the answer."""
    jump, bent = s.escape.jump, s.escape.resolution.shows(s.escape.curvature)
    lower = value < jump.lowest
    lowest = ops.where(lower, value, jump.lowest)
    chosen = ops.where(lower, jump.reach, jump.chosen)
    visible = visible_change(ops, s.x, jump.value, jump.value)
    pays = lowest <= jump.value - ops.maximum(p.escape.decrease, visible)
    move = ops.where(jump.unsure, 0.0, ops.where(pays, chosen, 0.0))
    stays = ops.where(bent, JUMP_FAILED, PROVE)
    after = Jump(jump.value, lowest, chosen, -jump.reach, False)
    phase = ops.where(jump.unsure, JUMP, ops.where(pays, START, stays))
    return land(ops, s, move, after)._replace(phase=phase)


def land(ops: Ops, s: State, move: Scalar, jump: Jump) -> State:
    """Move x, and let go of the search's vectors if that is anywhere; then take one step."""
    e, landed = s.escape, move != 0
    x = ops.axpy(move, e.direction, s.x)
    return s._replace(
        x=x,
        escape=e._replace(
            gradient=ops.switch(landed, x, e.gradient),
            direction=ops.switch(landed, x, e.direction),
            jump=jump,
        ),
        left=1.0,
        tolerance=-1.0,
        report=LANDED,
        stalled=ops.where(landed, False, s.stalled),
    )


PHASES = {
    JUMP_BEGIN: Phase(iterate, VALUE, aim),
    JUMP: Phase(landing, VALUE, attempt),
    LANDED: Phase(iterate, NOTHING, watch),
}
