"""Vectors as one-dimensional float arrays, updated in place through BLAS; scalars as floats."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, eigh_tridiagonal

Vector = NDArray[Any]

sqrt = math.sqrt
log = math.log
maximum = max

_AXPY: dict[int, Any] = {
    size: blas.get_blas_funcs("axpy", dtype=char) for size, char in ((8, "d"), (4, "f"))
}
_SCAL: dict[int, Any] = {
    size: blas.get_blas_funcs("scal", dtype=char) for size, char in ((8, "d"), (4, "f"))
}
_DOT: dict[int, Any] = {
    size: blas.get_blas_funcs("dot", dtype=char) for size, char in ((8, "d"), (4, "f"))
}
_ROUNDOFF = {8: 2.0**-53, 4: 2.0**-24}
_TINY = {8: 2.0**-1022, 4: 2.0**-126}


def dot(x: Vector, y: Vector) -> float:
    """Inner product."""
    return _DOT[x.itemsize](x, y)


def norm(x: Vector) -> float:
    """Euclidean length."""
    return math.sqrt(_DOT[x.itemsize](x, x))


def axpy(a: float, x: Vector, y: Vector) -> Vector:
    """y + a x, in y's storage."""
    return _AXPY[x.itemsize](x, y, x.size, a)


def scale(a: float, x: Vector) -> Vector:
    """a x, in x's storage."""
    return _SCAL[x.itemsize](a, x) if x.ndim == 1 else np.multiply(x, a, out=x)


def times(a: float, x: Vector) -> Vector:
    """a x, as a new vector."""
    return _SCAL[x.itemsize](a, x.copy())


def add(x: Vector, a: float, y: Vector) -> Vector:
    """x + a y, as a new vector."""
    return _AXPY[x.itemsize](y, x.copy(), x.size, a)


def keep(x: Vector) -> Vector:
    """Copy x."""
    return x.copy()


def hold(x: Vector) -> Vector:
    """x itself: the driver gives each gradient in an array of its own."""
    return x


def switch(condition: bool, x: Vector, y: Vector) -> Vector:
    """Choose the vector x where the condition holds, else y."""
    return x if condition else y


def where(condition: bool, a: Any, b: Any) -> Any:
    """Choose the scalar a where the condition holds, else b."""
    return a if condition else b


def noise(like: Vector, seed: int, episode: int) -> Vector:
    """Standard normal vector of like's shape and precision, a function of (seed, episode)."""
    return _stream(seed, episode, 0).standard_normal(like.shape).astype(like.dtype, copy=False)


def uniform(like: Vector, seed: int, episode: int) -> float:
    """Scalar in (0, 1), a function of (seed, episode), independent of the noise."""
    return 1.0 - float(_stream(seed, episode, 1).random())


def size(x: Vector) -> int:
    """How many numbers x has."""
    return x.size


def roundoff(x: Vector) -> float:
    """Unit roundoff of x's precision."""
    return _ROUNDOFF[x.itemsize]


def tiny(x: Vector) -> float:
    """Smallest normal number of x's precision."""
    return _TINY[x.itemsize]


def _stream(seed: int, episode: int, which: int) -> np.random.Generator:
    return np.random.default_rng((seed, episode, which))


def shelf(x: Vector, places: int) -> Vector:
    """Room for so many vectors like x, all zero."""
    return np.zeros((places, x.size), x.dtype)


def put(shelf: Vector, i: int, x: Vector) -> Vector:
    """The shelf with x in place i; consumes the shelf."""
    shelf[i] = x
    return shelf


def pick(shelf: Vector, i: int) -> Vector:
    """The vector in place i, to be read only."""
    return shelf[i]


def against(shelf: Vector, filled: int, x: Vector) -> Vector:
    """Inner products of x with the first vectors of a shelf, the other places zero."""
    products = np.zeros(len(shelf), x.dtype)
    products[:filled] = shelf[:filled] @ x
    return products


def mix(shelf: Vector, filled: int, weights: Vector) -> Vector:
    """Weighted sum of the first vectors of a shelf, as a new vector."""
    return weights[:filled] @ shelf[:filled]


def blank(like: Vector, places: int) -> Vector:
    """Room for so many scalars, all zero."""
    return np.zeros(places, like.dtype)


def record(row: Vector, i: int, a: float) -> Vector:
    """The row with a in place i; consumes the row."""
    row[i] = a
    return row


def read(row: Vector, i: int) -> float:
    """The scalar in place i."""
    return row.item(i)


def repeat(count: int, body: Callable[[int, Any], Any], carry: Any) -> Any:
    """carry <- body(j, carry) for j = 0, ..., count - 1."""
    for j in range(count):
        carry = body(j, carry)
    return carry


def ritz(diagonal: Vector, beside: Vector, filled: int) -> tuple[float, Vector]:
    """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
    values, vectors = eigh_tridiagonal(
        diagonal[:filled], beside[: filled - 1], select="i", select_range=(0, 0)
    )
    weights = np.zeros(len(diagonal), diagonal.dtype)
    weights[:filled] = vectors[:, 0] * (-1 if vectors[0, 0] < 0 else 1)
    return float(values[0]), weights
