"""Algorithm 6 of Zhang & Li (2021): negative curvature exploitation (NCE)."""

import numpy as np
from numpy.linalg import norm

from .ask import Asking, Vector, f


def nce(
    x: Vector,
    v: Vector,
    length: float,  # s
) -> Asking[tuple[Vector, Vector]]:
    """Stop at x, or if the momentum is short, step along it or against it to the lower value.

    Args:
        x: The point.
        v: The momentum, not zero (erratum 7: the caller sees to it).
        length: Length of the step.

    Returns:
        The new point and a momentum of zero.
    """
    if norm(v) >= length:  # line 1
        x_next = x  # line 2
    else:  # line 3
        # Erratum 7. Printed: s v_t / |v|_t.
        xi = length * v / norm(v)  # line 4
        f_plus = yield from f(x + xi)  # line 5
        f_minus = yield from f(x - xi)  # line 5
        # Erratum 7: x_{t+1} is set. Printed: x_t <- argmin.
        x_next = x + xi if f_plus <= f_minus else x - xi  # line 5
    # Erratum 7: x_{t+1} is returned. Printed: (z_{t+1}, 0).
    return x_next, np.zeros_like(v)  # line 6
