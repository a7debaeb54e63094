"""Many runs in lockstep: vectors as (M, n) arrays, one row per run; scalars as floats or (M,).

A run's row is the run that has that seed: seeds are an (M,) array, and each row's noise is a
function of its own (seed, episode) and nothing else, whichever rows stand beside it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Vector = NDArray[Any]

sqrt = np.sqrt
log = np.log
maximum = np.maximum
where = np.where

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele, Lea & Flood 2014)
_MIX = (
    (30, np.uint64(0xBF58476D1CE4E5B9)),
    (27, np.uint64(0x94D049BB133111EB)),
    (31, np.uint64(1)),
)


def dot(x: Vector, y: Vector) -> Any:
    """Inner product of each row."""
    return np.einsum("...i,...i->...", x, y)


def norm(x: Vector) -> Any:
    """Euclidean length of each row."""
    return np.sqrt(dot(x, x))


def axpy(a: Any, x: Vector, y: Vector) -> Vector:
    """y + a x, in y's storage."""
    y += _column(a) * x
    return y


def scale(a: Any, x: Vector) -> Vector:
    """a x, in x's storage."""
    x *= _column(a)
    return x


def times(a: Any, x: Vector) -> Vector:
    """a x, as a new vector."""
    return (_column(a) * x).astype(x.dtype, copy=False)


def add(x: Vector, a: Any, y: Vector) -> Vector:
    """x + a y, as a new vector."""
    return axpy(a, y, x.copy())


def keep(x: Vector) -> Vector:
    """Copy x."""
    return x.copy()


hold = keep


def switch(condition: Any, x: Vector, y: Vector) -> Vector:
    """Choose the row of x where the condition holds, else that of y."""
    return np.where(_column(condition), x, y)


def noise(like: Vector, seed: Any, episode: Any) -> Vector:
    """Standard normal rows of like's shape and precision, each a function of (seed, episode)."""
    columns = np.arange(1, like.shape[-1] + 1, dtype=np.uint64) * _GOLDEN
    return ndtri(_unit(_key(seed, episode, 0)[:, None] + columns)).astype(like.dtype, copy=False)


def uniform(like: Vector, seed: Any, episode: Any) -> Any:
    """Scalars in (0, 1), each a function of (seed, episode), independent of the noise."""
    return _unit(_key(seed, episode, 1))


def size(x: Vector) -> int:
    """How many numbers a row has."""
    return x.shape[-1]


def roundoff(x: Vector) -> float:
    """Unit roundoff of x's precision."""
    return float(np.finfo(x.dtype).eps) / 2


def tiny(x: Vector) -> float:
    """Smallest normal number of x's precision."""
    return float(np.finfo(x.dtype).tiny)


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
