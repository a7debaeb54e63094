"""SGD of Fang, Lin & Zhang (2019) as it is described: balls, and the mean over the last one."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.linalg import norm

from .ask import Asking, Vector, sampled_grad


def sharp_sgd(
    x0: Vector,
    step: float,  # eta
    ball: float,  # B
    window: int,  # K_0
    samples: Iterator[Any],
    noise: Iterator[Vector],
) -> Asking[Vector]:
    """Descend until K_0 steps stay in one ball.

    Returns:
        The mean of x^0, ..., x^{K_0 - 1} in that ball.
    """
    x, k, seen = x0, 0, [x0]
    while True:
        g = yield from sampled_grad(x, next(samples))
        x, k = x - step * (g + next(noise)), k + 1
        if norm(x - seen[0]) > ball:
            k, seen = 0, [x]
        elif k == window:
            return np.mean(seen, axis=0)
        else:
            seen.append(x)
