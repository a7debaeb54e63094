"""Neon2-online of Allen-Zhu & Li (2018) as it is described, with its weak search.

Where `radius` is given, x_t - x_0 is brought back to that length at every step.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.linalg import norm

from .algorithm8 import Believe, tried_direction, tried_jump
from .ask import Asking, Vector, sampled_grad


def neon2_weak(
    x0: Vector,
    step: float,  # eta
    steps: int,  # T
    far: float,  # r/sigma
    xi: Vector,  # of length sigma
    samples: Iterator[Any],
    radius: float | None = None,
) -> Asking[Vector | None]:
    """Search once.

    Returns:
        A unit vector, or None.
    """
    sigma = norm(xi)
    grown = 1.0  # |x_t - x_0|/sigma, where that is not what x_t shows
    if radius is not None:
        xi = xi * (radius / sigma)
    x = x0 + xi
    for _ in range(steps):
        i = next(samples)  # the same at both points
        behind = yield from sampled_grad(x0, i)
        ahead = yield from sampled_grad(x, i)
        x = x - step * (ahead - behind)
        if radius is None:
            grown = norm(x - x0) / sigma
        else:  # Difference 1: kept at one length. Printed: not renormalised.
            grown = grown * norm(x - x0) / radius
            x = x0 + (x - x0) * (radius / norm(x - x0))
        if grown >= far:
            # Difference 2: the last iterate. Printed: x_s with s uniform on 1, ..., t.
            return (x - x0) / norm(x - x0)
    return None


def neon2_online(
    x: Vector,
    step: float,
    steps: int,
    far: float,
    xis: Iterator[Vector],
    samples: Callable[[str], Iterator[Any]],
    believe: Believe,
    radius: float | None = None,
    searches: int | None = None,
) -> Asking[Vector | None]:
    """Search, test and jump; None where no direction is believed.

    Returns:
        The point after the jump, or None.
    """
    for _ in range(believe.searches if searches is None else searches):
        v = yield from neon2_weak(x, step, steps, far, next(xis), samples("m"), radius)
        if v is None:
            continue
        # Differences 4 and 5: Student's interval, and a tested jump. Printed: z <= -3 d/4, and
        # the move by d/rho to a random side.
        slope, bent = yield from tried_direction(x, v, samples("K"), believe)
        if bent:
            reach = -believe.length if slope >= 0 else believe.length
            lower = yield from tried_jump(x, v, reach, samples("K"), believe)
            if lower is not None:
                return lower
    return None


def sgd_neon2(
    x0: Vector,
    rate: float,  # of SGD
    small: float,
    samples: Callable[[str], Iterator[Any]],
    search: Callable[[Vector], Asking[Vector | None]],
) -> Asking[Vector]:
    """SGD that searches where the estimate of the gradient is small.

    Returns:
        The point of a search that found nothing.
    """
    x = x0
    while True:
        g = yield from sampled_grad(x, next(samples("M")))
        if norm(g) <= small:
            lower = yield from search(x)
            if lower is None:
                return x
            x = lower
            g = yield from sampled_grad(x, next(samples("M")))
        x = x - rate * np.asarray(g)
