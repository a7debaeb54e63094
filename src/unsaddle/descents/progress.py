"""What a run of parameter-free accelerated descent has come to, over all epochs."""

from math import inf
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, State, give_up
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import PhaseName
from unsaddle.core.resolution import at_noise_floor, visible_change
from unsaddle.descents.noise_floor import Floor


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    rises: int = 64  # epochs, 0 to 1000: that may end where f rises; a quadratic needs some
    lap: int = 1000  # steps, 100 to 10^5: after so many something should have come of them
    share: float = 1e-6  # of the descent's fall, 0 to 1e-3: less in a lap is none
    futile: int = 3  # descents, 2 to 10: gradients that lead nowhere so often are not those of f
    most: int = 100_000  # steps, 10^4 and up: a descent's budget; 60 times that of condition 10^5


TUNING = Tuning()


class Progress(NamedTuple):
    """What the steps so far have lowered: a lap without a lower f and a flatter g is a stall."""

    first: Scalar = 0.0  # f where the descent began
    high: Scalar = 0.0  # f where this lap began
    least: Scalar = 0.0  # smallest |g| of this lap
    before: Scalar = 0.0  # smallest |g| of the lap before
    steps: Scalar = 0  # and trials that were not taken
    stuck: Scalar = False  # whether nothing came of a lap, or there were too many steps
    far: Scalar = 0.0  # length of a step that is an endless fall
    rises: Scalar = TUNING.rises  # how many more epochs may end where f rises
    futile: Scalar = 0  # descents in a row that gave up without a fall


def begun(so_far: Progress, value: Scalar, norm: Scalar, far: Scalar, futile: Scalar) -> Progress:
    """Begin the first lap of a descent."""
    return Progress(value, value, norm, norm, 0, False, far, so_far.rises, futile)


def progressed(ops: Ops, so_far: Progress, value: Scalar, norm: Scalar, noise: Scalar) -> Progress:
    """Count a step that has come to f and |g|, and judge the lap that it ends."""
    steps, least = so_far.steps + 1, ops.where(norm < so_far.least, norm, so_far.least)
    ends = steps % TUNING.lap == 0
    fell = so_far.high - value > TUNING.share * (so_far.first - value) + noise
    idle = ops.where(fell | (least < so_far.before), False, ends)
    return so_far._replace(
        high=ops.where(ends, value, so_far.high),
        least=ops.where(ends, inf, least),
        before=ops.where(ends, least, so_far.before),
        steps=steps,
        stuck=idle | (steps >= TUNING.most),
    )


def forget(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Report from x, and forget L, which failures have doubled; end if it was futile too often."""
    d, noisy = s.descent, at_noise_floor(ops.norm(gradient), s.noise)
    fell = d.progress.first - d.value > visible_change(ops, s.x, d.value, d.progress.first)
    futile = ops.where(fell | noisy, 0, d.progress.futile + 1)
    progress = d.progress._replace(futile=futile)
    forgotten = d._replace(smoothness=0.0, progress=progress, floor=Floor())  # as it knows L, too
    phase = ops.where(futile < TUNING.futile, s.report, PhaseName.STALLED)
    return give_up(ops, p, s, value, gradient)._replace(descent=forgotten, phase=phase)
