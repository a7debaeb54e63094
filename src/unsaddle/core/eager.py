"""What the backends without tracing share: scalars are Python floats, rows are NumPy arrays."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from unsaddle.core.tridiagonal import gershgorin_bound, lowest_eigenpair

Row = NDArray[np.floating]
T = TypeVar("T")


def blas_of(name: str) -> dict[int, Callable[..., Any]]:
    """Give a routine of BLAS by the bytes that a number takes."""
    (double,), (single,) = (blas.get_blas_funcs((name,), dtype=char) for char in "df")
    return {8: double, 4: single}


GEMV = blas_of("gemv")
BY_ROWS = 0, 1, 0, 1, 1  # of gemv: offsets and increments, transposed


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
        gemv = GEMV[row.itemsize]
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
        """Gershgorin's bound by the first rows of a tridiagonal matrix; zero without rows."""
        return gershgorin_bound(diagonal, offdiagonal, count)

    def ritz(self, diagonal: Row, offdiagonal: Row, count: int) -> tuple[float, Row]:
        """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
        return lowest_eigenpair(diagonal, offdiagonal, count)
