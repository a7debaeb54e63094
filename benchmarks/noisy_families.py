"""Ten families of functions with known Hessians, noise for their gradients, and an oracle.

Every family has a stationary point at which lambda_min is placed at will. The oracle knows the
noise and the bending of the function, and says which gamma differences of gradients can resolve.
"""

import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Vector = np.ndarray
FACTOR = 4.0  # gamma over the error of a difference: the certificate's own
LEAST = 1e-8  # of l, the least gamma asked for: lambda_min is placed to 1e-15 of l
UNIT = 2.0**-53


class Landscape(NamedTuple):
    """A function with a stationary point and its lowest curvature there."""

    fun: Callable[[Vector], float]
    grad: Callable[[Vector], Vector]
    x: Vector  # the stationary point
    lowest: float  # lambda_min there
    smoothness: float  # l there, the largest eigenvalue
    length: float = 1.0  # the farthest that a probe may go

    def hessian(self, x: Vector) -> np.ndarray:
        """Give the Hessian by central differences of the clean gradient."""
        steps = 1e-5 * max(1.0, float(np.abs(x).max()) ** 0.5) * np.eye(x.size)
        columns = [(self.grad(x + s) - self.grad(x - s)) / (2 * s.max()) for s in steps]
        return (np.array(columns) + np.array(columns).T) / 2


Make = Callable[[int, float], Landscape]  # of n and lambda_min


@functools.cache
def rotation(n: int) -> np.ndarray:
    """Give an orthogonal matrix, always the same for one n."""
    return np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]


def separable(
    curvatures: Vector, cubic: Vector | float, quartic: Vector | float, distance: float = 0.0
) -> Landscape:
    """Give sum_i d_i z_i^2/2 + a_i z_i^3/6 + b_i z_i^4/24 with z a rotation of x - c, |c| given."""
    d, n = curvatures, curvatures.size
    q, c = rotation(n), np.full(n, distance / math.sqrt(n))

    def fun(x: Vector) -> float:
        z = q.T @ (x - c)
        return float(np.sum(z**2 * (d / 2 + z * (cubic / 6 + z * quartic / 24))))

    def grad(x: Vector) -> Vector:
        z = q.T @ (x - c)
        return q @ (z * (d + z * (cubic / 2 + z * quartic / 6)))

    return Landscape(fun, grad, c, float(d.min()), float(np.abs(d).max()))


def first(n: int, value: float) -> Vector:
    """Give a vector that is zero but for its first entry."""
    return np.where(np.arange(n) == 0, value, 0.0)


def held(lowest: float) -> float:
    """Give the fourth derivative that turns negative curvature into a well at distance one."""
    return 6 * max(-lowest, 0.0)


def dense(n: int, lowest: float) -> Landscape:
    """A quadratic with eigenvalues evenly up to one; a well along the lowest."""
    return separable(np.linspace(lowest, 1.0, n), 0.0, first(n, held(lowest)))


def logarithmic(n: int, lowest: float) -> Landscape:
    """A quadratic with eigenvalues from 1e-4 to one by equal factors, and the lowest."""
    spectrum = np.concatenate([[lowest], np.geomspace(max(1e-4, lowest), 1.0, n - 1)])
    return separable(spectrum, 0.0, first(n, held(lowest)))


def wells(n: int, lowest: float) -> Landscape:
    """Double wells coupled along a ring: lambda_min z^2/2 + z^4/4 each, and (z_i - z_i+1)^2/2."""

    def fun(z: Vector) -> float:
        return float(np.sum(z**2 * (lowest / 2 + z**2 / 4) + (z - np.roll(z, 1)) ** 2 / 2))

    def grad(z: Vector) -> Vector:
        return z * (lowest + z**2) + 2 * z - np.roll(z, 1) - np.roll(z, -1)

    largest = 2 - 2 * math.cos(2 * math.pi * (n // 2) / n)
    return Landscape(fun, grad, np.zeros(n), lowest, lowest + largest)


def morse(n: int, lowest: float) -> Landscape:
    """Morse bonds of stiffness 50 and range 1/2, and one well, all rotated together."""
    stiffness, a, q = 50.0, 2.0, rotation(n)
    depth = stiffness / (2 * a**2)

    def fun(x: Vector) -> float:
        z = q.T @ x
        well = z[0] ** 2 * (lowest / 2 + z[0] ** 2 / 4)
        return float(well + depth * np.sum(np.expm1(-a * z[1:]) ** 2))

    def grad(x: Vector) -> Vector:
        z = q.T @ x
        bonds = -2 * a * depth * np.expm1(-a * z[1:]) * np.exp(-a * z[1:])
        return q @ np.concatenate([[z[0] * (lowest + z[0] ** 2)], bonds])

    return Landscape(fun, grad, np.zeros(n), lowest, stiffness)


def factorisation(n: int, lowest: float) -> Landscape:
    """|U V^T - M|^2/2 + (|U|^2 + |V|^2)/2 of rank two at zero: eigenvalues 1 +- singular values."""
    rank, rows = 2, n // 4
    left, right = rotation(rows), rotation(rows + 1)[:rows, :rows]
    right = np.linalg.qr(right)[0]
    m = left @ np.diag(np.linspace(1 - lowest, 0.0, rows)) @ right.T

    def split(x: Vector) -> tuple[np.ndarray, np.ndarray]:
        u, v = x.reshape(2, rows, rank)
        return u, v

    def fun(x: Vector) -> float:
        u, v = split(x)
        return float((np.sum((u @ v.T - m) ** 2) + x @ x) / 2)

    def grad(x: Vector) -> Vector:
        u, v = split(x)
        rest = u @ v.T - m
        return np.concatenate([(rest @ v).ravel(), (rest.T @ u).ravel()]) + x

    return Landscape(fun, grad, np.zeros(2 * rows * rank), lowest, 2 - lowest)


@functools.cache
def _rosenbrock_spectrum(n: int) -> tuple[Vector, np.ndarray]:
    """Give eigenvalues and eigenvectors of Rosenbrock's Hessian at its minimum, over 1000."""
    h = np.diag([802.0] + [1002.0] * (n - 2) + [200.0])
    h -= 400 * (np.eye(n, k=1) + np.eye(n, k=-1))
    values, vectors = np.linalg.eigh(h / 1000)
    return values, vectors


def rosenbrock(n: int, lowest: float) -> Landscape:
    """Rosenbrock's chain over 1000 at its minimum, with another well along its lowest direction."""
    values, vectors = _rosenbrock_spectrum(n)
    v, change, one = vectors[:, 0], lowest - values[0], np.ones(n)

    def fun(x: Vector) -> float:
        t, rest = v @ (x - one), x[1:] - x[:-1] ** 2
        chain = (100 * rest @ rest + np.sum((1 - x[:-1]) ** 2)) / 1000
        return float(chain + change / 2 * t**2 + t**4 / 4)

    def grad(x: Vector) -> Vector:
        t, rest = v @ (x - one), x[1:] - x[:-1] ** 2
        g = np.zeros(n)
        g[1:] = 200 * rest
        g[:-1] += -400 * x[:-1] * rest - 2 * (1 - x[:-1])
        return g / 1000 + (change * t + t**3) * v

    return Landscape(fun, grad, one, lowest, float(values[-1]))


def skewed(n: int, lowest: float) -> Landscape:
    """A third derivative of ten along the lowest direction, where the largest curvature is one."""
    return separable(np.linspace(lowest, 1.0, n), first(n, 10.0), first(n, 100.0))


def quartic(n: int, lowest: float) -> Landscape:
    """Curvature one but for the lowest, and 0.08 z^4 in every variable."""
    return separable(np.where(np.arange(n) == 0, lowest, 1.0), 0.0, np.full(n, 24 * 0.08))


def far(n: int, lowest: float) -> Landscape:
    """Eigenvalues evenly up to one, z^3/6 and z^4/24 in every variable, and |x| = 1e4."""
    return separable(np.linspace(lowest, 1.0, n), 1.0, np.full(n, 3.0), distance=1e4)


def clustered(n: int, lowest: float) -> Landscape:
    """Eigenvalues about 1e-3, three isolated ones up to one; z^3/6 and z^4/8 in every variable."""
    low = max(1e-3, lowest)
    spectrum = np.concatenate([[lowest], np.linspace(low, 1.2 * low, n - 4), [0.5, 0.7, 1.0]])
    return separable(spectrum, 1.0, np.full(n, 3.0))


FAMILIES: Mapping[str, Make] = {
    make.__name__: make
    for make in (
        dense, logarithmic, wells, morse, factorisation,
        rosenbrock, skewed, quartic, far, clustered,
    )
}  # fmt: skip


class Bending(NamedTuple):
    """The largest third and fourth derivatives at a point, over all unit directions."""

    third: float  # rho
    fourth: float  # rho_4


@functools.cache
def bending(family: str, n: int) -> Bending:
    """Measure the bending at the stationary point with lambda_min = 0.

    The norm of a symmetric form is its largest value along one direction, which the power method
    finds from several starts. Derivatives are differences of the clean gradient, over a step so
    long that polynomials of degree four have them exactly.
    """
    land, h = FAMILIES[family](n, 0.0), 1e-2
    g, x = land.grad, land.x

    def third(u: Vector) -> Vector:
        return (g(x + h * u) - 2 * g(x) + g(x - h * u)) / h**2

    def fourth(u: Vector) -> Vector:
        outer, inner = g(x + 2 * h * u) - g(x - 2 * h * u), g(x + h * u) - g(x - h * u)
        return (outer - 2 * inner) / (2 * h**3)

    eigenvectors = np.linalg.eigh(land.hessian(x))[1].T
    starts = [*eigenvectors, *np.random.default_rng(0).standard_normal((8, x.size))]
    return Bending(*(max(_power(form, u) for u in starts) for form in (third, fourth)))


def _power(form: Callable[[Vector], Vector], u: Vector, steps: int = 30) -> float:
    """Give the largest |form(u)| that the power method meets from u, or zero below rounding."""
    largest = 0.0
    for _ in range(steps):
        u = u / np.linalg.norm(u)
        image = form(u)
        size = float(np.linalg.norm(image))
        if size < 1e-4:
            break
        largest, u = max(largest, size), image
    return largest


class Oracle(NamedTuple):
    """FACTOR times the least error of forward and of central differences."""

    forward: float
    central: float

    @property
    def gamma(self) -> float:
        """The finer of the two."""
        return min(self)


def oracle(family: str, n: int, s: float) -> Oracle:
    """Give what differences resolve whose radius is best for the noise and bending there are.

    Forward: rho r/2 + rho_4 r^2/6 + 2 s/r. Central: rho_4 r^2/6 + s/r. Both are least over radii up
    to the length of the landscape. s is along one direction; the error of rounding is added to it.
    """
    land, (third, fourth) = FAMILIES[family](n, 0.0), bending(family, n)
    s = s + 4 * UNIT * land.smoothness * (float(np.linalg.norm(land.x)) + land.length)
    r = np.geomspace(1e-9, 1.0, 1_000) * land.length
    central = fourth * r**2 / 6 + s / r
    errors = (third * r / 2 + central + s / r, central)
    return Oracle(*(max(FACTOR * float(e.min()), LEAST * land.smoothness) for e in errors))


def oracle_gamma(family: str, n: int, s: float) -> float:
    """Give the least gamma that an oracle can resolve which knows the noise s and the bending."""
    return oracle(family, n, s).gamma


def noisy(grad: Callable[[Vector], Vector], s: float, kind: str, seed: int) -> Any:
    """Add a Gaussian vector of norm about s: a function of x (``hash``), or new at every call."""
    stream = np.random.default_rng([seed, 1])

    def noise(x: Vector) -> Vector:
        if kind == "random":
            return stream.standard_normal(x.size)
        digest = hashlib.blake2b(x.tobytes(), digest_size=8, salt=seed.to_bytes(8, "little"))
        return np.random.default_rng(int.from_bytes(digest.digest())).standard_normal(x.size)

    return lambda x: grad(x) + s / math.sqrt(x.size) * noise(x)


def difference_table_noise(samples: np.ndarray) -> float:
    """Give the norm of the noise of a vector, from its values at points along a line.

    ECnoise of Moré and Wild: with T_k the k-th differences, sigma_k^2 = (k!)^2/(2k)! mean T_k^2,
    here summed over the components. The first of three successive sigma_k that agree within a
    factor 4 is taken, if most of the components change their sign in the column.

    Returns:
        The noise, or NaN where no three agree: the points are too far apart, or too close.
    """
    column, levels, turning = samples, [], []
    for k in range(1, len(samples) - 1):
        column = np.diff(column, axis=0)
        shrink = math.factorial(k) ** 2 / math.factorial(2 * k)
        levels.append(math.sqrt(shrink * np.square(column).mean(axis=0).sum()))
        turning.append(np.mean(column.min(axis=0) * column.max(axis=0) < 0) > 0.5)
    for k in range(len(levels) - 2):
        three = levels[k : k + 3]
        if turning[k] and max(three) <= 4 * min(three):
            return levels[k]
    return math.nan
