"""Tier 2, starts at or near strict saddles, and tier 3, the same two functions in any dimension.

All but the package's own landscapes are analytic in NumPy, complex arguments included, so that
their Hessian is the complex step of their gradient: exact to rounding.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from unsaddle.landscapes import LANDSCAPES, Landscape

from .judge import Banded
from .oracle import Array, Problem

NEAR = 1e-2  # how far from the saddle the odd seeds start
SIZES: dict[str, dict[str, Any]] = {
    "h": {"n": 100, "eps": 0.01},
    "wells": {"n": 100},
    "matrix_factorisation": {"rows": 20, "rank": 3},
    "rosenbrock": {"n": 10},
}


def complex_step(gradient: Callable[[Array], Array], x: Array, h: float = 1e-30) -> Array:
    """Give the derivative of an analytic gradient: Im g(x + i h e_j)/h."""
    return np.array([np.imag(gradient(x + 1j * h * e)) / h for e in np.eye(x.size)])


def near(saddles: tuple[Array, ...]) -> Callable[[int], Array]:
    """Start at a saddle with even seeds and a short way off it with odd ones."""

    def start(seed: int) -> Array:
        saddle = saddles[seed % len(saddles)]
        kick = np.random.default_rng(seed).standard_normal(saddle.size)
        return saddle + (seed % 2) * NEAR * kick / np.linalg.norm(kick)

    return start


def analytic(
    name: str, n: int, value: Any, gradient: Any, start: Callable[[int], Array]
) -> Problem:
    """Make a problem of an analytic function."""
    return Problem(name, n, value, gradient, lambda x: complex_step(gradient, x), start)


def landscape(f: Landscape) -> Problem:
    """Make a problem of one of the package's landscapes."""
    return Problem(f.name, f.n, f.value, f.gradient, f.hessian, near(f.saddles))


def matrix_completion(rows: int = 30, rank: int = 2, share: float = 0.6) -> Problem:
    """|P(U V' - M)|^2/2 over the entries seen; a strict saddle at the origin."""
    rng = np.random.default_rng(1)
    target = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, rows)) / rows**0.5
    seen = rng.random((rows, rows)) < share
    n = 2 * rows * rank

    def parts(x: Array) -> tuple[Array, Array, Array]:
        u, v = x.reshape(2, rows, rank)
        return u, v, seen * (u @ v.T - target)

    def value(x: Array) -> Any:
        return (parts(x)[2] ** 2).sum() / 2

    def gradient(x: Array) -> Array:
        u, v, error = parts(x)
        return np.concatenate([(error @ v).ravel(), (error.T @ u).ravel()])

    return analytic("matrix completion", n, value, gradient, near((np.zeros(n),)))


def tensor(d: int = 8) -> Problem:
    """|sum u_j (x) u_j (x) u_j - sum a_j (x) a_j (x) a_j|^2/2, a orthonormal.

    Every u_j = sum a_k/d is a strict saddle.
    """
    a = np.linalg.qr(np.random.default_rng(2).standard_normal((d, d)))[0]

    def value(x: Array) -> Any:
        u = x.reshape(d, d)
        return (((u @ u.T) ** 3).sum() - 2 * ((u @ a.T) ** 3).sum() + d) / 2

    def gradient(x: Array) -> Array:
        u = x.reshape(d, d)
        return (3 * ((u @ u.T) ** 2 @ u - (u @ a.T) ** 2 @ a)).ravel()

    return analytic("tensor decomposition", d * d, value, gradient, near((np.tile(a.mean(0), d),)))


def phase_retrieval(n: int = 20) -> Problem:
    """Sum ((a_i'x)^2 - (a_i'z)^2)^2/4m, every a_i with its mirror image across z.

    So x'z = 0 is kept by the gradient, and a descent that starts there ends at a saddle; odd seeds
    start near the origin.
    """
    rng = np.random.default_rng(3)
    z = np.eye(n)[0]
    half = rng.standard_normal((40 * n, n))
    a = np.concatenate([half, half - 2 * np.outer(half @ z, z)])
    seen = (a @ z) ** 2

    def value(x: Array) -> Any:
        return (((a @ x) ** 2 - seen) ** 2).mean() / 4

    def gradient(x: Array) -> Array:
        y = a @ x
        return a.T @ ((y**2 - seen) * y) / len(a)

    def start(seed: int) -> Array:
        kick = np.random.default_rng(seed).standard_normal(n)
        kick -= 0.0 if seed % 2 else (kick @ z) * z
        return kick * (NEAR if seed % 2 else 1) / np.linalg.norm(kick)

    return analytic("phase retrieval", n, value, gradient, start)


def deep_linear(d: int = 5) -> Problem:
    """|W3 W2 W1 - M|^2/2; W3 = W1 = 0 and W2 = I is a strict saddle."""
    target = np.random.default_rng(4).standard_normal((d, d)) / d**0.5

    def value(x: Array) -> Any:
        w1, w2, w3 = x.reshape(3, d, d)
        return ((w3 @ w2 @ w1 - target) ** 2).sum() / 2

    def gradient(x: Array) -> Array:
        w1, w2, w3 = x.reshape(3, d, d)
        error = w3 @ w2 @ w1 - target
        return np.stack([(w3 @ w2).T @ error, w3.T @ error @ w1.T, error @ (w2 @ w1).T]).ravel()

    saddle = np.stack([np.zeros((d, d)), np.eye(d), np.zeros((d, d))]).ravel()
    return analytic("deep linear network", 3 * d * d, value, gradient, near((saddle,)))


def cluster() -> Problem:
    """Seven Lennard-Jones atoms, started in a plane, which the forces never leave."""
    angle = np.arange(6) * math.pi / 3
    plane = np.zeros((7, 3))
    plane[1:, 0], plane[1:, 1] = 1.12 * np.cos(angle), 1.12 * np.sin(angle)
    i, j = np.triu_indices(7, 1)

    def value(x: Array) -> Any:
        d = x.reshape(7, 3)[i] - x.reshape(7, 3)[j]
        s = 1 / (d * d).sum(1) ** 3
        return 4 * (s * s - s).sum()

    def gradient(x: Array) -> Array:
        d = x.reshape(7, 3)[i] - x.reshape(7, 3)[j]
        q = 1 / (d * d).sum(1)
        push = (24 * q * (q**3 - 2 * q**6))[:, None] * d
        force = np.zeros((7, 3), x.dtype)
        np.add.at(force, i, push)
        np.add.at(force, j, -push)
        return force.ravel()

    def start(seed: int) -> Array:
        kick = 0.05 * np.random.default_rng(seed).standard_normal((7, 3))
        return (plane + kick * [1, 1, 0]).ravel()

    return analytic("planar Lennard-Jones 7", 21, value, gradient, start)


def escape() -> list[Problem]:
    """Give the problems of tier 2."""
    known = [landscape(build(**SIZES.get(name, {}))) for name, build in LANDSCAPES.items()]
    return [
        *known,
        matrix_completion(),
        tensor(),
        phase_retrieval(),
        deep_linear(),
        cluster(),
    ]


def ring(n: int, coupling: float = 0.1, kind: str = "weakly") -> Problem:
    """A ring of coupled double wells, from its saddle at the origin, in O(n)."""

    def value(x: Array) -> Any:
        gap = x - np.roll(x, -1)
        return float(((x * x - 1) ** 2).sum() / 4 + coupling * (gap * gap).sum() / 2)

    def gradient(x: Array) -> Array:
        return x * x * x - x + coupling * (2 * x - np.roll(x, 1) - np.roll(x, -1))

    def hessian(x: Array) -> Banded:
        lower = np.full((3, n), -coupling)  # in the order 0, n-1, 1, n-2, ... a ring has two bands
        lower[0, ::2], lower[0, 1::2] = np.array_split(3 * x * x - 1 + 2 * coupling, 2)
        lower[0, 1::2] = lower[0, 1::2][::-1]
        lower[1, 1:-2] = lower[1, -1] = lower[2, -2:] = 0.0
        return Banded(lower)

    name = f"double wells, {kind} coupled"
    return Problem(name, n, value, gradient, hessian, near((np.zeros(n),)))


def dense(n: int, negative: float = 0.0, kind: str = "one") -> Problem:
    """sum d_i x_i^2/2 + x_i^4/16, from the saddle at 0; the d_i evenly up to 1, d_1 below 0."""
    d = np.linspace(negative, 1.0, n)
    d[0] = negative or -0.1

    def value(x: Array) -> Any:
        square = x * x
        return float(d @ square / 2 + square @ square / 16)

    def gradient(x: Array) -> Array:
        return x * (d + x * x / 4)

    def hessian(x: Array) -> Banded:
        return Banded((d + 3 * x * x / 4)[None])

    name = f"dense spectrum, {kind} below zero"
    return Problem(name, n, value, gradient, hessian, near((np.zeros(n),)))


FAMILIES: dict[Callable[[int], Problem], int] = {  # and the largest n
    ring: 10**6,
    dense: 10**6,
    lambda n: ring(n, 1.0, "strongly"): 10**4,
    lambda n: dense(n, -0.01, "1 %"): 10**4,
}
