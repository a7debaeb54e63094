"""When a descent has come down to the noise of its gradient, it should say so and not go on.

Where the norm of the gradient has not come to a new low for some steps, or a line search takes
long, the noise is measured by one gradient a few roundoffs away. A gradient that is not longer than
a few times that is noise: the descent gives up, and x is searched. Else it goes on, and is twice as
patient. Where noise is declared, a gradient that is no longer than that ends the descent at once.
"""

from math import inf, sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, PhaseName
from unsaddle.core.resolution import few_roundoffs

NOISE_FLOOR, LINE_SEARCH, GIVE_UP = (
    PhaseName.NOISE_FLOOR,
    PhaseName.LINE_SEARCH,
    PhaseName.GIVE_UP,
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    patience: int = 5  # steps, 1 to 100: a tenth of a short run; doubled whenever it was in vain
    rounding: float = 32.0  # of l h, above 1: a smaller change may be f's own, or rounding of x
    floor: float = 4.0  # noises, above 1: a gradient as short shows no direction to speak of


TUNING = Tuning()


class Floor(NamedTuple):
    """How low the gradient has come."""

    lowest: Scalar = inf  # its norm
    since: Scalar = 0  # steps since then
    patience: Scalar = TUNING.patience
    back: Scalar = GO  # where to go on after the noise was measured
    stiffest: Scalar = 0.0  # largest curvature met in the run, l


def seen(ops: Ops, d: Any, norm: Scalar, taken: Scalar) -> Floor:
    """Take note of a trial, and of where it goes on: from its step, if it was taken."""
    floor, stiffest = d.floor, ops.maximum(d.floor.stiffest, d.curvature)
    lower = taken & (norm < floor.lowest)
    since = ops.where(lower, 0, ops.where(taken, floor.since + 1, floor.since))
    back = ops.where(taken, GO, LINE_SEARCH)
    lowest = ops.where(lower, norm, floor.lowest)
    return floor._replace(lowest=lowest, since=since, back=back, stiffest=stiffest)


def close_by(ops: Ops, p: Parameters, s: State) -> Vector:
    """Query x + h d/|d|, where h is a few roundoffs of x."""
    direction = s.descent.direction
    length = ops.maximum(ops.norm(direction), ops.tiny(direction))
    return ops.add(s.x, few_roundoffs(ops, s.x) / length, direction)


def measure(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Give up where |g| is noise; else go on."""
    d: Any = s.descent
    change = ops.norm(ops.add(gradient, -1.0, d.gradient))
    rounding = TUNING.rounding * d.floor.stiffest * few_roundoffs(ops, s.x)
    noise = ops.where(change > rounding, change / sqrt(2), 0.0)
    reached = ops.norm(d.gradient) <= TUNING.floor * noise
    floor = d.floor._replace(since=0, patience=2 * d.floor.patience)
    return s._replace(
        descent=d._replace(floor=floor), phase=ops.where(reached, GIVE_UP, d.floor.back)
    )
