"""Algorithm 2 of Zhang & Li (2021): accelerated descent with negative curvature finding (ANCGD)."""

from collections.abc import Iterator

import numpy as np
from numpy.linalg import norm

from .algorithm5 import jump
from .algorithm6 import nce
from .ask import Asking, Vector, f, f_and_grad, grad


def ancgd(
    x0: Vector,
    steps: int,  # T
    step: float,  # eta
    friction: float,  # theta
    nce_curvature: float,  # gamma
    nce_length: float,  # s
    window: int,  # T'
    radius: float,  # r'
    tol: float,  # epsilon
    hessian_lipschitz: float,  # rho
    starts: Iterator[Vector],
    guard: float = 0.0,
) -> Asking[Vector]:
    """Descend with momentum; where the gradient is small, search a window for a way down.

    Args:
        x0: The initial point.
        steps: The last t: the loop runs t = 0, ..., `steps`.
        step: Step length.
        friction: One minus the momentum.
        nce_curvature: Curvature below minus which the momentum itself is exploited.
        nce_length: Length of that exploitation.
        window: Steps of a search.
        radius: Distance from the point searched at which gradients are taken.
        tol: A gradient of at most this norm starts a search.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        starts: The draws of line 5, one per search, uniform in the ball of radius `radius` about
            the origin.
        guard: Rounding error of a value relative to itself: the test of line 15 is skipped
            where it could not see beyond that. Zero is the paper.

    Returns:
        The point of a search that found no way down, else the last x.
    """
    # x and z are kept as offsets from `origin`, which is x~ while a window is open and 0 otherwise.
    # Only a window's looks are at x~ + offset: to subtract x~ again would lose the digits of r'.
    origin = zero = np.zeros_like(x0)
    # Erratum 1: no perturbation yet. Printed: t_perturb <- 0.
    t_perturb = None  # line 1
    x = z = x_tilde = x0  # line 1
    zeta = zero  # line 1
    f_tilde = np.nan
    for t in range(steps + 1):  # line 2
        # Erratum 3: T' is meant. Printed: t - t_perturb > T, with the T of Algorithm 1.
        searchable = t_perturb is None or t - t_perturb > window  # line 3
        if searchable and norm((yield from grad(x))) <= tol:  # line 3
            x_tilde = origin = x  # line 4
            f_tilde = yield from f(x_tilde)  # for erratum 11
            x = z = next(starts)  # line 5
            zeta = yield from grad(x_tilde)  # line 5
            t_perturb = t  # line 5
        if t_perturb is not None and t - t_perturb == window:  # line 6
            e = x / norm(x)  # line 7
            lower = yield from jump(x_tilde, f_tilde, zeta, e, tol, hessian_lipschitz)  # line 8
            # Erratum 11: a jump that does not go down is undone. Printed: it is always taken.
            if lower is None:
                return x_tilde
            x = z = lower  # line 8
            zeta = origin = zero  # line 8
        x_old = x
        x = z - step * ((yield from grad(origin + z)) - zeta)  # line 9
        v = x - x_old  # line 10
        z = x + (1 - friction) * v  # line 11
        # Erratum 1 again. Printed: t_perturb != 0 and t - t_perturb < T'.
        if t_perturb is not None and t - t_perturb < window:  # line 12
            # Erratum 2: one factor, from z before it is overwritten.
            # Printed: z <- x~ + r' (z - x~) / |z - x~|, x <- x~ + r' (x - x~) / |z - x~|.
            scale = radius / norm(z)
            z = scale * z  # line 13
            x = scale * x  # line 13
        # Erratum 7: with v = 0 the inequality of line 15 is f(x) <= f(x). Printed: no condition.
        elif np.any(z != x):  # line 14
            f_z, grad_z = yield from f_and_grad(z)  # line 15
            f_x = yield from f(x)  # line 15
            bend = nce_curvature * norm(z - x) ** 2
            visible = bend > guard * max(abs(f_x), abs(f_z))
            if visible and f_x <= f_z + grad_z @ (x - z) - bend / 2:  # line 15
                x, v = yield from nce(x, v, nce_length)  # line 16
                z = x + (1 - friction) * v  # line 17
    return origin + x
