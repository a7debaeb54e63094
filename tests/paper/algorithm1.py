"""Algorithm 1 of Zhang & Li (2021): negative curvature finding."""

from numpy.linalg import norm

from .ask import Asking, Vector, grad

SMALLEST = 1e-150  # a norm below which the square of y is about to underflow


def nc_finding(
    x_tilde: Vector,
    radius: float,  # r
    steps: int,  # T
    smoothness: float,  # l
    start: Vector,  # y_0
) -> Asking[Vector]:
    """Find a direction of negative curvature, y growing as it may.

    Args:
        x_tilde: The point, near a saddle.
        radius: Distance from `x_tilde` at which gradients are taken.
        steps: Number of steps.
        smoothness: Lipschitz constant of the gradient.
        start: The draw of line 1, uniform in the ball of radius `radius` about the origin.

    Returns:
        A unit vector.
    """
    grad_tilde = yield from grad(x_tilde)  # of line 3, asked once
    # Erratum 5: y is an offset. Printed: y_0 <- Uniform(ball centred at x~).
    y = start  # line 1
    for _ in range(1, steps + 1):  # line 2
        ahead = yield from grad(x_tilde + radius * y / norm(y))  # line 3
        before, y = y, y - norm(y) / (smoothness * radius) * (ahead - grad_tilde)  # line 3
        # Erratum 13: at a minimum y shrinks to 0, and y / |y| is 0 / 0. Printed: no such line.
        if norm(y) < SMALLEST:
            y = radius * before / norm(before)
    # Erratum 5: the norm of y_T is not r. Printed: y_T / r.
    return y / norm(y)  # line 4


def nc_finding_renormalised(
    x_tilde: Vector,
    radius: float,  # r
    steps: int,  # T
    smoothness: float,  # l
    start: Vector,  # y_0
) -> Asking[Vector]:
    """Find the same direction with y brought back to norm r after each step (Remark 4).

    Args:
        x_tilde: The point, near a saddle.
        radius: Distance from `x_tilde` at which gradients are taken, and the norm of y.
        steps: Number of steps.
        smoothness: Lipschitz constant of the gradient.
        start: The draw of line 1, uniform in the ball of radius `radius` about the origin.

    Returns:
        A unit vector.
    """
    grad_tilde = yield from grad(x_tilde)  # of line 3, asked once
    y = start  # line 1
    for _ in range(1, steps + 1):  # line 2
        ahead = yield from grad(x_tilde + radius * y / norm(y))  # line 3
        y = y - norm(y) / (smoothness * radius) * (ahead - grad_tilde)  # line 3
        y = radius * y / norm(y)  # Remark 4
    return y / norm(y)  # line 4
