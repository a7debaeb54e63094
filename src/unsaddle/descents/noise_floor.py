"""When a descent has come down to the noise of its gradient, it should say so and not go on.

Where the norm of the gradient has not come to a new low for some steps, or a line search takes
long, the noise is measured by one gradient a few roundoffs away. A gradient that is not longer than
a few times that is noise: the descent gives up, and x is searched. Else it goes on, and is twice as
patient. What was measured here or by a search stays in the state: where the tolerance is below the
noise, a gradient that is hardly longer is measured at once. Where noise is declared, a gradient
that is no longer than that ends the descent.
"""

from math import inf, sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, PhaseName
from unsaddle.core.records import new
from unsaddle.core.resolution import at_noise_floor, few_roundoffs

NOISE_FLOOR, LINE_SEARCH, GIVE_UP = (
    PhaseName.NOISE_FLOOR,
    PhaseName.LINE_SEARCH,
    PhaseName.GIVE_UP,
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    patience: int = 8  # steps, 1 to 100: rarely in vain on exact gradients; doubled when it was
    rounding: float = 32.0  # of l h, above 1: a smaller change may be f's own, or rounding of x
    lower: float = 0.5  # of the lowest norm, (0, 1]: by less it is no new low
    near: float = 2.0  # noises, 1 to 4: a gradient as short is not worth another step


TUNING = Tuning()


class Floor(NamedTuple):
    """How low the gradient has come."""

    lowest: Scalar = inf  # its norm
    since: Scalar = 0  # steps since then
    patience: Scalar = TUNING.patience
    back: Scalar = GO  # where to go on after the noise was measured
    stiffest: Scalar = 0.0  # largest curvature met in the run, l


def stepped(ops: Ops, floor: Floor, norm: Scalar, curvature: Scalar) -> Floor:
    """Take note of a step."""
    lower = norm < TUNING.lower * floor.lowest
    since, lowest = ops.where(lower, 0, floor.since + 1), ops.where(lower, norm, floor.lowest)
    stiffest = ops.maximum(floor.stiffest, curvature)
    return new(Floor, (lowest, since, floor.patience, GO, stiffest))


def may_be_noise(ops: Ops, p: Parameters, s: State, floor: Floor, norm: Scalar) -> Scalar:
    """Say whether the gradient may be noise: it is not much longer, or has not fallen for long."""
    near = (norm <= TUNING.near * s.noise) & (p.tolerance < s.noise)
    return near | (floor.since >= floor.patience)


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
    reached = at_noise_floor(ops.norm(d.gradient), noise)
    floor = d.floor._replace(since=0, patience=2 * d.floor.patience)
    onto = ops.where(reached, GIVE_UP, d.floor.back)
    return s._replace(descent=d._replace(floor=floor), phase=onto, noise=noise)
