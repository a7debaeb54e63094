"""The jump along a direction of negative curvature: Lemma 6 of Zhang & Li (2021).

Shared by every escape that ends in a direction e. Differences from the paper:

1. The slope f'_e is taken at x~, where the search was, not at x_0 as Algorithms 5 and 8 print.
2. Where the slope cannot decide, |f'_e| s <= the promised decrease (in particular where it is 0/0
   in print), both signs are tried and the lower value is kept, as the paper remarks one should.
3. A jump that does not lower f as promised is not taken: at a minimum the printed one raises f.
   The run then ends at x~. The promise is never below what floating point can see of f.
4. Like the paper, the method takes one descent step from where it lands before it asks again
   whether the gradient is small.
"""

from math import inf
from typing import NamedTuple

from unsaddle.kernel import (
    BEGIN,
    JUMP_FAILED,
    NOTHING,
    START,
    TESTED,
    VALUE,
    Ops,
    Parameters,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
    watch,
)

MEASURE, JUMP, LANDED = BEGIN + 2, BEGIN + 3, BEGIN + 4


class Leap(NamedTuple):
    """What is known of the jump. Lengths are in units of |direction|."""

    value: Scalar  # f(x~)
    lowest: Scalar  # the lower of f(x~ -+ s e) so far
    chosen: Scalar  # the signed length that gave it
    reach: Scalar  # the signed length to try next
    unsure: Scalar  # whether the other sign is to be tried too


NO_LEAP = Leap(0.0, inf, 0.0, 0.0, False)


def measure(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Point e downhill: the first try is -s f'_e(x~)/|f'_e(x~)| along e."""
    e = s.escape
    length = p.escape.length / ops.norm(e.direction)
    slope = ops.dot(e.gradient, e.direction)
    leap = Leap(
        value=value,
        lowest=inf,
        chosen=0.0,
        reach=ops.where(slope >= 0, -length, length),
        unsure=abs(slope) * length <= p.escape.decrease,
    )
    return s._replace(escape=e._replace(leap=leap), phase=JUMP)


def landing(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ -+ s e."""
    return ops.add(s.x, s.escape.leap.reach, s.escape.direction)


def land(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x <- x~ -+ s e if f falls by (1/384) sqrt(eps^3/rho), else x~ is the answer."""
    e, leap = s.escape, s.escape.leap
    lower = value < leap.lowest
    lowest = ops.where(lower, value, leap.lowest)
    chosen = ops.where(lower, leap.reach, leap.chosen)
    promise = ops.maximum(p.escape.decrease, 16 * ops.roundoff(s.x) * abs(leap.value))
    pays = lowest <= leap.value - promise
    move = ops.where(leap.unsure, 0.0, ops.where(pays, chosen, 0.0))
    bent = e.sight.shows(e.curvature)
    stays = ops.where(bent, JUMP_FAILED, TESTED)
    x, landed = ops.axpy(move, e.direction, s.x), move != 0  # then the search's vectors can go
    return s._replace(
        x=x,
        escape=e._replace(
            gradient=ops.switch(landed, x, e.gradient),
            direction=ops.switch(landed, x, e.direction),
            leap=Leap(leap.value, lowest, chosen, -leap.reach, False),
        ),
        left=1.0,
        tolerance=-1.0,
        report=LANDED,
        phase=ops.where(leap.unsure, JUMP, ops.where(pays, START, stays)),
    )


PHASES = {
    MEASURE: Phase(iterate, VALUE, measure),
    JUMP: Phase(landing, VALUE, land),
    LANDED: Phase(iterate, NOTHING, watch),
}
