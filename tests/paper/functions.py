"""Functions to test the transcriptions on, and the algebra that they are compared with."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.linalg import eigh, matrix_power, norm

from .ask import Vector

# ------------------------------------------------------------------------- functions to test on


class Landscape(NamedTuple):
    """A function and its gradient."""

    value: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]


def triangle(x: Vector) -> float:
    """Give 1/2 cos(pi x1) + 1/2 (x2 + (cos(2 pi x1) - 1) / 2)^2 - 1/2."""
    return np.cos(np.pi * x[0]) / 2 + (x[1] + (np.cos(2 * np.pi * x[0]) - 1) / 2) ** 2 / 2 - 0.5


def triangle_gradient(x: Vector) -> Vector:
    """Give the gradient of `triangle`."""
    u = x[1] + (np.cos(2 * np.pi * x[0]) - 1) / 2
    inner = np.sin(np.pi * x[0]) / 2 + u * np.sin(2 * np.pi * x[0])
    return np.array([-np.pi * inner, u])


def exponential(x: Vector) -> float:
    """Give 1 / (1 + exp(x1^2)) + 1/2 (x2 - x1^2 exp(-x1^2))^2 - 1."""
    q = x[0] ** 2
    return 1 / (1 + np.exp(q)) + (x[1] - q * np.exp(-q)) ** 2 / 2 - 1


def exponential_gradient(x: Vector) -> Vector:
    """Give the gradient of `exponential`."""
    q = x[0] ** 2
    u = x[1] - q * np.exp(-q)
    inner = np.exp(q) / (1 + np.exp(q)) ** 2 + u * np.exp(-q) * (1 - q)
    return np.array([-2 * x[0] * inner, u])


QUARTIC = Landscape(
    lambda x: x[0] ** 4 / 16 - x[0] ** 2 / 2 + 9 / 8 * x[1] ** 2,
    lambda x: np.array([x[0] ** 3 / 4 - x[0], 9 / 4 * x[1]]),
)
CUBIC = Landscape(
    lambda x: (x[0] ** 3 - x[1] ** 3) / 2 - 3 * x[0] * x[1] + (x @ x) ** 2 / 2,
    lambda x: np.array([1.5, -1.5]) * x**2 - 3 * x[::-1] + 2 * (x @ x) * x,
)
LANDSCAPES = {
    "quartic": QUARTIC,
    "cubic": CUBIC,
    "triangle": Landscape(triangle, triangle_gradient),
    "exponential": Landscape(exponential, exponential_gradient),
}
SADDLE = np.zeros(2)  # of all four
NEARBY = np.array([0.03, -0.02])  # no saddle: the gradient is small, and not zero
on_landscapes = pytest.mark.parametrize("landscape", LANDSCAPES.values(), ids=LANDSCAPES)
on_places = pytest.mark.parametrize("x_tilde", [SADDLE, NEARBY], ids=["saddle", "nearby"])


def quadratic(hessian: Vector, slope: Vector) -> Landscape:
    """Make the quadratic with this Hessian and this gradient at the origin."""
    return Landscape(
        lambda x: float(x @ hessian @ x / 2 + slope @ x), lambda x: hessian @ x + slope
    )


HILL = quadratic(-np.eye(1), np.zeros(1))


def random_quadratic(n: int = 6) -> tuple[Vector, Vector, Landscape]:
    """Draw a Hessian with eigenvalues in [-1, 1], a slope, and the quadratic of both."""
    rng = np.random.default_rng(1)
    basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
    hessian, slope = basis @ np.diag(np.linspace(-1, 1, n)) @ basis.T, rng.standard_normal(n)
    return hessian, slope, quadratic(hessian, slope)


def momentum_polynomial(hessian: Vector, steps: int, step: float, friction: float) -> Vector:
    """Give p(H) with x_T = p(H) x_0, by powers of each eigenvalue's companion matrix."""

    def p(eigenvalue: float) -> float:
        a = 1 - step * eigenvalue
        companion = np.array([[a * (2 - friction), -a * (1 - friction)], [1, 0]])
        return (matrix_power(companion, steps) @ [1, 1])[0]

    eigenvalues, basis = eigh(hessian)
    return basis @ np.diag([p(eigenvalue) for eigenvalue in eigenvalues]) @ basis.T


def unit(x: Vector) -> Vector:
    """Scale x to norm one."""
    return x / norm(x)


def angle(a: Vector, b: Vector) -> float:
    """Give the angle between two lines, when small."""
    return float(min(norm(unit(a) - unit(b)), norm(unit(a) + unit(b))))


def starts_on(radius: float, number: int = 5, n: int = 2) -> list[Vector]:
    """Draw offsets on the sphere of this radius."""
    rng = np.random.default_rng(0)
    return [radius * unit(rng.standard_normal(n)) for _ in range(number)]
