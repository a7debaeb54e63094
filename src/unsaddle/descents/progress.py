"""What a run of parameter-free accelerated descent has come to, over all epochs."""

from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    rises: int = 64  # epochs, 0 to 1000: that may end where f rises; a quadratic needs some
    idle: int = 1000  # steps, 100 to 10^5: so many that lower neither f nor |g| are a stall


TUNING = Tuning()


class Progress(NamedTuple):
    """What the steps so far have lowered."""

    least: Scalar = 0.0  # smallest |g|
    idle: Scalar = 0  # steps since f or |g| last fell
    far: Scalar = 0.0  # length of a step that is an endless fall
    rises: Scalar = TUNING.rises  # how many more epochs may end where f rises


def progressed(
    ops: Ops, so_far: Progress, taken: Scalar, norm: Scalar, fell: Scalar, rises: Scalar
) -> Progress:
    """Count the steps that have lowered neither f nor |g|, and the epochs that may end by f."""
    flatter = norm < so_far.least
    return so_far._replace(
        least=ops.where(taken & flatter, norm, so_far.least),
        idle=ops.where(taken & (fell | flatter), 0, so_far.idle + 1),
        rises=ops.where(rises, so_far.rises - 1, so_far.rises),
    )


def stuck(progress: Progress) -> Scalar:
    """Say whether too many steps have lowered neither f nor |g|."""
    return progress.idle >= TUNING.idle
