"""Ten functions within bounds whose saddles lie inside, on faces, on edges and in corners.

Each starts where L-BFGS-B stops, or is led to it. A sentence says what holds the point there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Boxed(NamedTuple):
    """A function with its gradient and Hessian, its bounds, and where to start."""

    name: str
    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array], Array]
    lower: Array
    upper: Array
    start: Array


def quartic(
    name: str,
    linear: Any,  # b
    matrix: Any,  # A, symmetric
    fourth: Any,  # c
    lower: Any,
    upper: Any,
    start: Any,
) -> Boxed:
    """f(x) = b'x + x'Ax/2 + sum c_i x_i^4/4."""
    b, a, c = (np.asarray(each, float) for each in (linear, matrix, fourth))
    return Boxed(
        name,
        lambda x: float(b @ x + x @ a @ x / 2 + c @ x**4 / 4),
        lambda x: b + a @ x + c * x**3,
        lambda x: a + np.diag(3 * c * x**2),
        *(np.broadcast_to(np.asarray(each, float), b.shape) for each in (lower, upper, start)),
    )


def turned(n: int, eigenvalues: Array, seed: int) -> Array:
    """Give a symmetric matrix with these eigenvalues in random directions."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    return q * eigenvalues @ q.T


def faces() -> list[Boxed]:
    """Give the ten."""
    well = np.diag([1.0, -1.0])
    held, inner = np.zeros((20, 20)), turned(10, np.linspace(-2, 9, 10), 1)
    held[:10, :10], held[10:, 10:] = np.eye(10), inner
    mixed = [[1.0, -3.0], [-3.0, 1.0]]
    return [
        # x_0 >= 0 is held by a slope of one; the well is along x_1
        quartic("face below", [1, 0], well, [0, 1], [0, -2], [3, 2], [1, 0]),
        quartic("face above", [-1, 0], well, [0, 1], [-3, -2], [0, 2], [-1, 0]),
        quartic("edge", [1, -1, 0], np.diag([0, 0, -1.0]), [0, 0, 1], -1, 1, [0, 0, 0]),
        # from the middle, which is a maximum, to a corner
        quartic("middle", [0, 0, 0], -np.eye(3), [0, 0, 0], -1, 1, [0, 0, 0]),
        # the wells are at +-1, and the bounds end before them
        quartic("cut", [1, 0], well, [0, 1], [0, -0.5], [3, 0.25], [1, 0]),
        quartic("twenty", [1.0] * 10 + [0.0] * 10, held, np.ones(20), [0] * 10 + [-5] * 10, 5, 0.0),
        # nothing holds x_0 at 0, and the way down leads inside: no free variable sees it
        quartic("unheld", [0, 0], np.diag([-1.0, 1.0]), [1, 0], [0, -1], [2, 1], [0, 0.5]),
        quartic("corner", [0, 0], [[0.0, -1.0], [-1.0, 0.0]], [0, 0], 0, 1, [0, 0]),
        quartic("mixed", [0, 0], mixed, [1, 1], [0, -3], [3, 3], [0, 0]),
        # a free variable between bounds that are a thousandth apart
        quartic("narrow", [0, 0], np.diag([1.0, -1.0]), [0, 1], [-5e-4, -2], [5e-4, 2], [0, 0]),
    ]
