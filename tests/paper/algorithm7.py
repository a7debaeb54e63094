"""Algorithm 7 of Zhang & Li (2021): stochastic negative curvature finding, not renormalised."""

from collections.abc import Iterator
from typing import Any

from numpy.linalg import norm

from .ask import Asking, Vector, sampled_grad


def snc_finding_unnormalised(
    x_tilde: Vector,
    radius: float,  # r_s
    steps: int,  # T_s
    smoothness: float,  # l
    samples: Iterator[Any],
    draws: Iterator[Vector],
    start: Vector | None = None,  # z_0
) -> Asking[Vector]:
    """Find a direction of negative curvature from sampled gradients, z growing as it may.

    Args:
        x_tilde: The point, near a saddle.
        radius: Distance from `x_tilde` at which gradients are taken.
        steps: Number of steps.
        smoothness: Lipschitz constant of the gradient.
        samples: Gives m samples each time.
        draws: Gives the xi of line 5 each time.
        start: On the sphere of radius `radius`, as the caption of Figure 2 says; 0 as printed.

    Returns:
        A unit vector.
    """
    z = 0 * x_tilde if start is None else start  # line 1
    for _ in range(1, steps + 1):  # line 2
        theta = next(samples)  # line 3
        # Erratum 8: at z = 0 the difference is 0. Printed: r_s / |z_0|, which is r_s / 0.
        shrunk = radius / norm(z) * z if norm(z) > 0 else z
        ahead = yield from sampled_grad(x_tilde + shrunk, theta)  # line 4
        behind = yield from sampled_grad(x_tilde, theta)  # line 4
        g = norm(z) / radius * (ahead - behind)  # line 4
        z = z - (g + next(draws)) / smoothness  # line 5
    return z / norm(z)  # line 7
