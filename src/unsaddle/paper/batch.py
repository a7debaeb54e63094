"""The backend of many runs at once: vectors are (M, n) arrays, scalars floats or (M,) arrays.

A row is the run that has its seed: seeds are an (M,) array, and each row's noise is a function of
its own (seed, episode), whichever rows stand beside it. Blocks of vectors are left out: no method
that is run this way keeps any.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

Vector = NDArray[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele, Lea & Flood 2014)
_MIX = (
    (30, np.uint64(0xBF58476D1CE4E5B9)),
    (27, np.uint64(0x94D049BB133111EB)),
    (31, np.uint64(1)),
)


class Batch:
    """The operations of :class:`unsaddle.core.ops.Operations`, row by row."""

    sqrt, log = staticmethod(np.sqrt), staticmethod(np.log)
    maximum, where = staticmethod(np.maximum), staticmethod(np.where)
    copy = retain = staticmethod(np.copy)

    def dot(self, x: Vector, y: Vector) -> Any:
        """Inner product of each row."""
        return np.einsum("...i,...i->...", x, y)

    def norm(self, x: Vector) -> Any:
        """Euclidean length of each row."""
        return np.sqrt(self.dot(x, x))

    def axpy(self, a: Any, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage."""
        y += _column(a) * x
        return y

    def scale(self, a: Any, x: Vector) -> Vector:
        """a x, in x's storage."""
        x *= _column(a)
        return x

    def times(self, a: Any, x: Vector) -> Vector:
        """a x, as a new vector."""
        return (_column(a) * x).astype(x.dtype, copy=False)

    def add(self, x: Vector, a: Any, y: Vector) -> Vector:
        """x + a y, as a new vector."""
        return self.axpy(a, y, x.copy())

    def switch(self, condition: Any, x: Vector, y: Vector) -> Vector:
        """The row of x where the condition holds, else that of y."""
        return np.where(_column(condition), x, y)

    def noise(self, like: Vector, seed: Any, episode: Any) -> Vector:
        """Standard normal rows of like's shape and precision, each of its (seed, episode)."""
        columns = np.arange(1, like.shape[-1] + 1, dtype=np.uint64) * _GOLDEN
        bits = _key(seed, episode, 0)[:, None] + columns
        return ndtri(_unit(bits)).astype(like.dtype, copy=False)

    def uniform(self, like: Vector, seed: Any, episode: Any) -> Any:
        """Numbers in (0, 1), each of its (seed, episode) and independent of the noise."""
        return _unit(_key(seed, episode, 1))

    def size(self, x: Vector) -> int:
        """How many numbers a row has."""
        return x.shape[-1]

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of x's precision."""
        return float(np.finfo(x.dtype).eps) / 2

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of x's precision."""
        return float(np.finfo(x.dtype).tiny)


class Circle(Batch):
    """Draws from the ball lie on its sphere."""

    def uniform(self, like: Vector, seed: Any, episode: Any) -> Any:
        """The radius of a draw, which is one."""
        return 1.0


class Reduced(Batch):
    """Two coordinates stand for n: x1, and the length of all others.

    This is exact wherever f depends on x2, ..., xn through their length only, as h does.
    """

    def __init__(self, n: int) -> None:
        """Take the dimension that is stood for."""
        self.n = n

    def noise(self, like: Vector, seed: Any, episode: Any) -> Vector:
        """A normal number, and the length of n - 1 others, drawn from its own distribution."""
        rest = self.uniform(like, np.asarray(seed) + 2**40, episode)
        length = np.sqrt(2 * gammaincinv((self.n - 1) / 2, rest))
        return np.stack([super().noise(like, seed, episode)[:, 0], length], -1)

    def size(self, x: Vector) -> int:
        """The dimension that is stood for."""
        return self.n


class Given(Batch):
    """The noise is given: every search starts from the same rows."""

    def __init__(self, rows: Vector) -> None:
        """Take the rows, or one row for all."""
        self.rows = rows

    def noise(self, like: Vector, seed: Any, episode: Any) -> Vector:
        """The rows given."""
        return self.rows * np.ones_like(like)


class Floorless(Batch):
    """Rounding is not known of, so that no search widens its radius because of it."""

    def roundoff(self, x: Vector) -> float:
        """None that is admitted."""
        return 0.0


BATCH, CIRCLE = Batch(), Circle()


def _column(a: Any) -> Any:
    return np.asarray(a)[..., None]


def _key(seed: Any, episode: Any, which: int) -> NDArray[np.uint64]:
    seeds, episodes = (np.atleast_1d(each).astype(np.uint64) for each in (seed, episode))
    return _mixed(_mixed(seeds + _GOLDEN) + (episodes + episodes + np.uint64(which)) * _GOLDEN)


def _unit(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    return ((_mixed(bits) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in _MIX:
        z = (z ^ (z >> np.uint64(shift))) * factor
    return z
