"""Algorithm 3 of Zhang & Li (2021): stochastic negative curvature finding."""

from collections.abc import Iterator
from typing import Any

from numpy.linalg import norm

from .ask import Asking, Vector, sampled_grad


def snc_finding(
    x_tilde: Vector,
    radius: float,  # r_s
    steps: int,  # T_s
    smoothness: float,  # l
    samples: Iterator[Any],
    draws: Iterator[Vector],
    start: Vector | None = None,  # y_0
) -> Asking[Vector]:
    """Find a direction of negative curvature from sampled gradients.

    Args:
        x_tilde: The point, near a saddle; x_0 in print.
        radius: The length that y is brought back to.
        steps: Number of steps.
        smoothness: Lipschitz constant of the gradient.
        samples: Gives m samples each time.
        draws: Gives the xi of line 5 each time.
        start: On the sphere of radius `radius`, as the caption of Figure 2 says; 0 as printed.

    Returns:
        A unit vector.
    """
    if start is None:
        y, scale = 0 * x_tilde, radius  # line 1
    else:
        y, scale = start, 1.0  # L_t is |z_t| / r_s of Algorithm 7
    for _ in range(1, steps + 1):  # line 2
        theta = next(samples)  # line 3
        ahead = yield from sampled_grad(x_tilde + y, theta)  # line 4
        behind = yield from sampled_grad(x_tilde, theta)  # line 4
        g = ahead - behind  # line 4
        # Erratum 8: the n of xi ~ N(0, r_s^2/n) is printed d.
        y = y - (g + next(draws) / scale) / smoothness  # line 5
        scale = norm(y) / radius * scale  # line 6
        y = y * (radius / norm(y))  # line 6
    # Erratum 8: y_{T_s}. Printed: y_T.
    return y / radius  # line 8
