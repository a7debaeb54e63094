"""Algorithm 8 of Zhang & Li (2021): stochastic gradient descent with negative curvature finding.

Between the search and the jump the direction is tried on fresh samples, which print does not do.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import norm

from .algorithm3 import snc_finding
from .ask import Asking, Vector, sampled_grad


class Believe(NamedTuple):
    """How a direction is tried before the jump."""

    checks: int  # K
    quantile: float
    radius: float
    error: float  # of a difference quotient
    threshold: float  # the curvature to reach
    length: float
    decrease: float
    rule_error: float  # of the quadrature, by s^3
    searches: int


def sgd_nc(
    x0: Vector,
    steps: int,  # T
    smoothness: float,  # l
    tol: float,  # epsilon
    radius: float,  # r_s
    search_steps: int,  # T_s
    samples: Callable[[str], Iterator[Any]],
    draws: Iterator[Vector],
    believe: Believe,
) -> Asking[Vector]:
    """Descend on minibatches; where the gradient is small, search for a way down and jump.

    Args:
        x0: The initial point.
        steps: The last t: the loop runs t = 0, ..., `steps`.
        smoothness: Lipschitz constant of the gradient.
        tol: A minibatch gradient of at most 3/4 of this starts a search.
        radius: The length r_s of a search.
        search_steps: Steps of a search.
        samples: Gives, for each of "M", "m" and "K", the iterator of fresh samples of that size.
        draws: The draws of Algorithm 3.
        believe: How directions and jumps are tried.

    Returns:
        The point of searches that found no way down, else the last x.
    """
    x = x0  # line 1
    for _ in range(steps + 1):  # line 2
        theta = next(samples("M"))  # line 3
        g = yield from sampled_grad(x, theta)  # line 4
        if norm(g) <= 3 * tol / 4:  # line 5
            lower = None
            for _ in range(believe.searches):
                e = yield from snc_finding(  # line 6
                    x, radius, search_steps, smoothness, samples("m"), draws
                )
                slope, bent = yield from tried_direction(x, e, samples("K"), believe)
                if bent:
                    # Erratum 6: f'_e at x_t, from samples. Printed: f'_e(x_0), of f itself.
                    reach = -believe.length if slope >= 0 else believe.length
                    lower = yield from tried_jump(x, e, reach, samples("K"), believe)  # line 7
                    if lower is not None:
                        break
            # Erratum 11: a jump that does not go down is undone. Printed: it is always taken.
            if lower is None:
                return x
            x = lower  # line 7
            theta = next(samples("M"))  # line 8
            g = yield from sampled_grad(x, theta)  # line 9
        # Erratum 9: the minibatch gradient. Printed: g(x_t; theta_t), of one sample.
        x = x - g / smoothness  # line 11
    return x


def tried_direction(
    x: Vector, e: Vector, samples: Iterator[Any], believe: Believe
) -> Asking[tuple[float, bool]]:
    """Measure slope and curvature along e on fresh samples.

    Returns:
        The mean slope, and whether the curvature reaches the threshold with confidence.
    """
    slopes, quotients = [], []
    for _ in range(believe.checks):
        theta = next(samples)
        behind = yield from sampled_grad(x, theta)
        ahead = yield from sampled_grad(x + believe.radius * e, theta)
        slopes.append(behind @ e)
        quotients.append((ahead - behind) @ e / believe.radius)
    return np.mean(slopes), upper(quotients, believe) + believe.error <= believe.threshold


def tried_jump(
    x: Vector, e: Vector, reach: float, samples: Iterator[Any], believe: Believe
) -> Asking[Vector | None]:
    """Jump along e by `reach`, or else by -`reach`, if fresh samples say that f falls.

    Returns:
        The point after the jump, or None.
    """
    node = (1 - 1 / np.sqrt(3)) / 2
    for s in (reach, -reach):
        falls = []
        for _ in range(believe.checks):
            theta = next(samples)
            near = yield from sampled_grad(x + node * s * e, theta)
            far = yield from sampled_grad(x + (1 - node) * s * e, theta)
            falls.append(s / 2 * (near + far) @ e)
        surely = upper(falls, believe) + believe.rule_error * abs(s) ** 3 <= 0
        if surely and np.mean(falls) <= -believe.decrease:
            return x + s * e
    return None


def upper(numbers: list[float], believe: Believe) -> float:
    """Give the upper end of Student's interval for the mean."""
    return np.mean(numbers) + believe.quantile * np.std(numbers, ddof=1) / np.sqrt(len(numbers))
