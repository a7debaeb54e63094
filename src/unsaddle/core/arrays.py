"""Arrays of NumPy, changed in place through BLAS; scalars are Python floats.

Rows of scalars are such arrays on every backend without tracing, torch included. Vectors are such
arrays on NumPy, and where JAX is driven from the host: these two add how they draw random vectors.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, eigh_tridiagonal, lapack

Vector = NDArray[np.floating]
Block = Vector  # of two dimensions, a vector in every row
Row = Vector
T = TypeVar("T")


def blas_of(name: str) -> dict[int, Callable[..., Any]]:
    """Give a routine of BLAS by the bytes that a number takes."""
    (double,), (single,) = (blas.get_blas_funcs((name,), dtype=char) for char in "df")
    return {8: double, 4: single}


_GEMV, _AXPY, _SCAL, _DOT = map(blas_of, ("gemv", "axpy", "scal", "dot"))
BY_ROWS = 0, 1, 0, 1, 1  # of gemv: offsets and increments, transposed
IN_PLACE = 0, 1, 0, 1, 0, 1  # of gemv: offsets and increments, not transposed, into y
_LAPACK = {  # bisection and inverse iteration, by the bytes that a number takes
    size: lapack.get_lapack_funcs(("stebz", "stein"), dtype=char)
    for size, char in ((8, "d"), (4, "f"))
}
LOWEST = 2, 0.0, 0.0, 1, 1, 0.0, "B"  # of stebz: by number, from the first to the first
_ROUNDOFF = {8: 2.0**-53, 4: 2.0**-24}
_TINY = {8: 2.0**-1022, 4: 2.0**-126}


class EagerOps:
    """The operations of :class:`unsaddle.core.ops.Operations` that touch no vector."""

    sqrt = staticmethod(math.sqrt)
    log = staticmethod(math.log)

    def maximum(self, a: T, b: T) -> T:
        """The larger one; as a method, where the built-in takes four times as long to look up."""
        return b if b > a else a  # type: ignore[operator]

    def switch(self, condition: bool, x: T, y: T) -> T:
        """The vector or record x where the condition holds, else y."""
        return x if condition else y

    def where(self, condition: bool, a: T, b: T) -> T:
        """The scalar a where the condition holds, else b."""
        return a if condition else b

    def set_scalar(self, row: Row, i: int, a: float) -> Row:
        """The row with a in place i; consumes the row."""
        row[i] = a
        return row

    def get_scalar(self, row: Row, i: int) -> float:
        """The scalar in place i."""
        return row.item(i)

    def product(self, a: float, square: Row, row: Row, b: float, plus: Row) -> Row:
        """a M row + b plus, in one call of BLAS, which has matrices by columns."""
        gemv = _GEMV[row.itemsize]
        if square.flags.c_contiguous:
            return gemv(a, square.T, row, b, plus, *BY_ROWS)
        return gemv(a, square, row, b, plus)

    def set_lines(self, square: Row, i: int, row: Row | float, j: int, column: Row) -> Row:
        """The matrix with these numbers in row i, and then in column j; consumes it."""
        square[i] = row
        square[:, j] = column
        return square

    def repeat(self, count: int, body: Callable[[int, T], T], carry: T) -> T:
        """carry <- body(j, carry) for j = 0, ..., count - 1."""
        for j in range(count):
            carry = body(j, carry)
        return carry

    def tridiagonal_bound(self, diagonal: Row, offdiagonal: Row, count: int) -> float:
        """Gershgorin's bound by the first rows, in double precision; zero without rows."""
        b = np.abs(offdiagonal[:count], dtype=np.float64)
        sums = np.abs(diagonal[:count], dtype=np.float64) + b
        sums[1:] += b[:-1]
        return float(sums.max(initial=0.0))

    def ritz(self, diagonal: Row, offdiagonal: Row, count: int) -> tuple[float, Row]:
        """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
        rows = diagonal[:count], offdiagonal[: count - 1]
        if not (_finite(diagonal[:count]) and _finite(offdiagonal[:count])):
            return math.nan, np.full_like(diagonal, math.nan)
        weights = np.zeros(len(diagonal), diagonal.dtype)
        if count == 1:
            weights[0] = 1.0
            return diagonal.item(0), weights
        bisect, iterate = _LAPACK[diagonal.itemsize]
        _, values, block, split, failed = bisect(*rows, *LOWEST)
        vectors, unfinished = iterate(*rows, values[:1], block, split)
        if failed or unfinished:  # as it never was yet
            values, vectors = eigh_tridiagonal(*rows, select="i", select_range=(0, 0))
        weights[:count] = vectors[:, 0] * (-1 if vectors[0, 0] < 0 else 1)
        return values.item(0), weights


def _finite(row: Row) -> bool:
    """Whether all numbers are finite; their square is, if none is huge."""
    return math.isfinite(row.dot(row)) or bool(np.isfinite(row).all())


class ArrayOps(EagerOps):
    """The operations of :class:`unsaddle.core.ops.Operations` on arrays, but for ``normal``."""

    def dot(self, x: Vector, y: Vector) -> float:
        """Inner product."""
        return _DOT[x.itemsize](x, y)

    def norm(self, x: Vector) -> float:
        """Euclidean length, of a vector or of a row."""
        return math.sqrt(_DOT[x.itemsize](x, x))

    def axpy(self, a: float, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage."""
        return _AXPY[x.itemsize](x, y, x.size, a)

    def scale(self, a: float, x: Vector) -> Vector:
        """a x, in x's storage; of a block too."""
        return _SCAL[x.itemsize](a, x) if x.ndim == 1 else np.multiply(x, a, out=x)

    def times(self, a: float, x: Vector) -> Vector:
        """a x, as a new vector."""
        return _SCAL[x.itemsize](a, x.copy())

    def add(self, x: Vector, a: float, y: Vector) -> Vector:
        """x + a y, as a new vector."""
        return _AXPY[x.itemsize](y, x.copy(), x.size, a)

    def copy(self, x: Vector) -> Vector:
        """Copy x."""
        return x.copy()

    def retain(self, gradient: Vector) -> Vector:
        """A copy: a gradient is lent until the next query only."""
        return gradient.copy()

    def finite(self, x: Vector) -> bool:
        """Whether all numbers of x are finite."""
        return bool(np.isfinite(x).all())

    def size(self, x: Vector) -> int:
        """How many numbers x has."""
        return x.size

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of x's precision."""
        return _ROUNDOFF[x.itemsize]

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of x's precision."""
        return _TINY[x.itemsize]

    def vectors(self, x: Vector, count: int) -> Block:
        """A block of so many vectors like x, all zero."""
        return np.zeros((count, x.size), x.dtype)

    def places(self, block: Block) -> int:
        """How many vectors a block has room for."""
        return len(block)

    def set_vector(self, block: Block, i: int, x: Vector) -> Block:
        """The block with x in place i; consumes the block."""
        block[i] = x
        return block

    def get_vector(self, block: Block, i: int) -> Vector:
        """The vector in place i, to be read only."""
        return block[i]

    def inner_products(self, block: Block, count: int, x: Vector) -> Row:
        """Inner products of x with the first vectors of a block, zero in the other places."""
        if count >= len(block):
            return block.dot(x)
        products = np.zeros(len(block), x.dtype)
        block[:count].dot(x, products[:count])
        return products

    def combine(self, block: Block, count: int, weights: Row) -> Vector:
        """Weighted sum of the first vectors of a block, as a new vector."""
        return weights[:count].dot(block[:count])

    def add_combined(self, y: Vector, block: Block, count: int, weights: Row) -> Vector:
        """y and the weighted sum of the first vectors of a block, in y's storage."""
        if not count:
            return y
        filled = block if count >= len(block) else block[:count]
        return _GEMV[y.itemsize](1.0, filled.T, weights[: len(filled)], 1.0, y, *IN_PLACE)

    def scalars(self, like: Vector, count: int) -> Row:
        """A row of so many scalars, all zero."""
        return np.zeros(count, like.dtype)

    def square(self, like: Vector, count: int) -> Block:
        """A matrix of so many rows and columns of scalars, all zero."""
        return np.zeros((count, count), like.dtype)


class CachingArrayOps(ArrayOps):
    """The operations for one run, which know the gradient that the user's function returned last.

    They compute its norm once and never write into it, as the user may have kept it. Whoever
    answers the queries calls ``lend`` with every gradient before telling it. All vectors have one
    precision, so that BLAS and what depends on the precision are looked up once.
    """

    def __init__(self, like: Vector) -> None:
        """Take the precision of a vector, and know no gradient yet."""
        self.dot = self._dot = _DOT[like.itemsize]
        self._axpy, self._scal = _AXPY[like.itemsize], _SCAL[like.itemsize]
        self._unit, self._least = super().roundoff(like), super().tiny(like)
        self.lent: Vector | None = None  # None lets go of it: there is room for the next
        self._norm = math.nan

    def lend(self, gradient: Vector) -> float:
        """|gradient|, which ``norm`` knows from now on."""
        self.lent, self._norm = gradient, math.sqrt(self._dot(gradient, gradient))
        return self._norm

    def norm(self, x: Vector) -> float:
        """Euclidean length, not computed again if it is known."""
        return self._norm if x is self.lent else math.sqrt(self._dot(x, x))

    def axpy(self, a: float, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage unless that is the user's."""
        return self._axpy(x, y.copy() if y is self.lent else y, x.size, a)

    def add(self, x: Vector, a: float, y: Vector) -> Vector:
        """x + a y, as a new vector."""
        return self._axpy(y, x.copy(), x.size, a)

    def times(self, a: float, x: Vector) -> Vector:
        """a x, as a new vector."""
        return self._scal(a, x.copy())

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of the run's precision."""
        return self._unit

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of the run's precision."""
        return self._least

    def scale(self, a: float, x: Vector) -> Vector:
        """a x, in x's storage unless that is the user's."""
        if x is self.lent:
            x = x.copy()
        return self._scal(a, x) if x.ndim == 1 else np.multiply(x, a, out=x)

    def retain(self, gradient: Vector) -> Vector:
        """A copy if the storage is the user's."""
        return gradient.copy() if gradient is self.lent else gradient
