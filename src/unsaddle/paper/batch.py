"""The backend of many runs at once: vectors are (M, n) arrays, scalars floats or (M,) arrays.

A row is the run that has its seed: seeds are an (M,) array, and what it draws is a function of
its own (seed, episode), whichever rows stand beside it. Blocks of vectors are left out: no method
that is run this way keeps any.

Two coordinates can stand for n: x1, and the length of all others. This is exact wherever f depends
on x2, ..., xn through their length only, as h does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from unsaddle.core.records import is_record

Vector = NDArray[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele, Lea & Flood 2014)
_MIX = (
    (30, np.uint64(0xBF58476D1CE4E5B9)),
    (27, np.uint64(0x94D049BB133111EB)),
    (31, np.uint64(1)),
)


@dataclass(frozen=True, eq=False)
class Batch:
    """The operations of :class:`unsaddle.core.ops.Operations`, row by row."""

    n: int = 0  # the dimension that two coordinates stand for; 0 if each is itself
    starts: Vector | None = None  # rows, or one for all, from which every search starts
    circle: bool = False  # draws from the ball lie on its sphere
    floor: bool = True  # rounding is known of, and searches may widen their radius because of it

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

    def switch(self, condition: Any, x: Any, y: Any) -> Any:
        """The row, or the record of scalars, of x where the condition holds, else that of y."""
        if is_record(x):
            return type(x)(*(self.where(condition, a, b) for a, b in zip(x, y, strict=True)))
        return np.where(_column(condition), x, y)

    def normal(self, like: Vector, seed: Any, episode: Any) -> Vector:
        """Standard normal rows of like's shape and precision, each of its (seed, episode)."""
        if self.starts is not None:
            return self.starts * np.ones_like(like)
        columns = np.arange(1, like.shape[-1] + 1, dtype=np.uint64) * _GOLDEN
        bits = _key(seed, episode, 0)[:, None] + columns
        normal = ndtri(_unit(bits)).astype(like.dtype, copy=False)
        if self.n:  # the length of n - 1 others is drawn from its own distribution
            rest = self.uniform(like, np.asarray(seed) + 2**40, episode)
            normal[:, 1] = np.sqrt(2 * gammaincinv((self.n - 1) / 2, rest))
        return normal

    def uniform(self, like: Vector, seed: Any, episode: Any) -> Any:
        """Numbers in (0, 1), each of its (seed, episode) and independent of `normal`."""
        return 1.0 if self.circle else _unit(_key(seed, episode, 1))

    def size(self, x: Vector) -> int:
        """How many numbers a row has, or stands for."""
        return self.n or x.shape[-1]

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of x's precision."""
        return float(np.finfo(x.dtype).eps) / 2 if self.floor else 0.0

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of x's precision."""
        return float(np.finfo(x.dtype).tiny)


BATCH = Batch()


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
