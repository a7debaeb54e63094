"""Algorithm 4 of Zhang & Li (2021): accelerated negative curvature finding, not renormalised."""

from numpy.linalg import norm

from .ask import Asking, Vector, grad


def anc_finding(
    x_tilde: Vector,
    radius: float,  # r'
    steps: int,  # T'
    step: float,  # eta
    friction: float,  # theta
    start: Vector,  # x_0
) -> Asking[Vector]:
    """Find a direction of negative curvature with momentum, x and z growing as they may.

    Args:
        x_tilde: The point, near a saddle. Below, x and z are offsets from it.
        radius: Distance from `x_tilde` at which gradients are taken.
        steps: Number of steps.
        step: Step length.
        friction: One minus the momentum.
        start: The draw of line 1, uniform in the ball of radius `radius` about the origin.

    Returns:
        A unit vector.
    """
    grad_tilde = yield from grad(x_tilde)  # of line 4, asked once
    x = start  # line 1
    z = x  # line 2
    # Erratum 4: x_1, ..., x_T' are made from x_0. Printed: t = 1, ..., T', from an x_1 never set.
    for _ in range(steps):  # line 3
        x_old = x
        ahead = yield from grad(x_tilde + radius * z / norm(z))  # line 4
        # Erratum 4: both gradients are scaled. Printed: (|z| / r') grad f(...) - grad f(x~).
        x = z - step * norm(z) / radius * (ahead - grad_tilde)  # line 4
        v = x - x_old  # line 5
        z = x + (1 - friction) * v  # line 6
    return x / norm(x)  # line 7
