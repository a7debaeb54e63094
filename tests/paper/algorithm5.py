"""Algorithm 5 of Zhang & Li (2021): gradient descent with negative curvature finding (PGD+NC)."""

from collections.abc import Iterator

import numpy as np
from numpy.linalg import norm

from .algorithm1 import nc_finding
from .ask import Asking, Vector, f, grad


def pgd_nc(
    x0: Vector,
    steps: int,  # T
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    tol: float,  # epsilon
    radius: float,  # r
    search_steps: int,  # script T
    starts: Iterator[Vector],
) -> Asking[Vector]:
    """Descend; where the gradient is small, search for a way down and jump.

    Args:
        x0: The initial point.
        steps: The last t: the loop runs t = 0, ..., `steps`.
        smoothness: Lipschitz constant of the gradient.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        tol: A gradient of at most this norm starts a search.
        radius: Distance from the point searched at which gradients are taken.
        search_steps: Steps of a search.
        starts: The draws of Algorithm 1, one per search.

    Returns:
        The point of a search that found no way down, else the last x.
    """
    x = x0  # line 1
    for _ in range(steps + 1):  # line 2
        grad_x = yield from grad(x)  # line 3
        if norm(grad_x) <= tol:  # line 3
            f_x = yield from f(x)  # for erratum 11
            e = yield from nc_finding(x, radius, search_steps, smoothness, next(starts))  # line 4
            lower = yield from jump(x, f_x, grad_x, e, tol, hessian_lipschitz)  # line 5
            # Erratum 11: a jump that does not go down is undone. Printed: it is always taken.
            if lower is None:
                return x
            x = lower  # line 5
        x = x - (yield from grad(x)) / smoothness  # line 6
    return x


def jump(
    x: Vector,
    f_x: float,
    grad_x: Vector,
    e: Vector,
    tol: float,  # epsilon
    hessian_lipschitz: float,  # rho
) -> Asking[Vector | None]:
    """Jump along e or against it, as Lemma 6 does, and see whether f falls as Lemma 6 says.

    Args:
        x: The point searched.
        f_x: The value there.
        grad_x: The gradient there.
        e: The unit vector found.
        tol: The norm below which a gradient is small.
        hessian_lipschitz: Lipschitz constant of the Hessian.

    Returns:
        The point after the jump; None if f does not fall enough, and then x is second-order
        stationary with high probability (Remark 8).
    """
    length = np.sqrt(tol / hessian_lipschitz) / 4
    decrease = np.sqrt(tol**3 / hessian_lipschitz) / 384
    # Erratum 6: the slope is that at x_t. Printed: f'_e(x_0) / |f'_e(x_0)|, 0/0 at a saddle.
    slope = grad_x @ e
    sign = 1.0 if slope >= 0 else -1.0
    best = x - sign * length * e
    f_best = yield from f(best)
    # Erratum 6: a slope that changes f by less than the decrease looked for cannot decide.
    # Both ways are then tried, as in the proof of Lemma 6.
    if abs(slope) * length <= decrease:
        other = x + sign * length * e
        f_other = yield from f(other)
        if f_other < f_best:
            best, f_best = other, f_other
    return best if f_x - f_best >= decrease else None
