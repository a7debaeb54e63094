"""Stochastic gradient descent: the first and the last line of Algorithm 8 of Zhang & Li (2021).

Differences from the paper: print takes the last step with g(x_t; theta_t), the gradient of one
sample; the minibatch that was just drawn for the test ``|g(x_t)| <= 3 eps/4`` is meant.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, iterate
from unsaddle.core.phases import GO, GRADIENT, NEW, START
from unsaddle.descents.gd import Memory, step


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta = 1/l
    batch: int  # M


def batch(p: Parameters) -> int:
    """M samples a step."""
    return p.descent.batch


STEP = Phase(iterate, GRADIENT, step, NEW, batch)

sgd = Part({START: STEP, GO: STEP}, Settings, lambda ops, x, settings: Memory())
