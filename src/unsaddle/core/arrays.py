"""Vectors as one-dimensional float arrays, updated in place through BLAS; scalars as floats.

Each backend that has such vectors draws noise of its own, and adds it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from unsaddle.core.eager import GEMV, EagerOps, blas_of

Vector = NDArray[np.floating]
Block = Vector  # of two dimensions, a vector in every row
Row = Vector

_AXPY, _SCAL, _DOT = blas_of("axpy"), blas_of("scal"), blas_of("dot")
IN_PLACE = 0, 1, 0, 1, 0, 1  # of gemv: offsets and increments, not transposed, into y
_ROUNDOFF = {8: 2.0**-53, 4: 2.0**-24}
_TINY = {8: 2.0**-1022, 4: 2.0**-126}


class ArrayOps(EagerOps):
    """The operations of :class:`unsaddle.core.ops.Operations` on arrays, but for the noise."""

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
        return GEMV[y.itemsize](1.0, filled.T, weights[: len(filled)], 1.0, y, *IN_PLACE)

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
