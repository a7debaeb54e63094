"""Two facts about a symmetric tridiagonal matrix, for the backends whose rows are on the CPU."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal, lapack

Row = NDArray[np.floating]
_LAPACK = {  # bisection and inverse iteration, by the bytes that a number takes
    size: lapack.get_lapack_funcs(("stebz", "stein"), dtype=char)
    for size, char in ((8, "d"), (4, "f"))
}
LOWEST = 2, 0.0, 0.0, 1, 1, 0.0, "B"  # of stebz: by number, from the first to the first


def lowest_eigenpair(diagonal: Row, offdiagonal: Row, count: int) -> tuple[float, Row]:
    """Lowest eigenpair of the leading count x count matrix, as ``ritz`` of ``core/ops.py`` is."""
    if not (_finite(diagonal[:count]) and _finite(offdiagonal[:count])):
        return math.nan, np.full_like(diagonal, math.nan)
    weights = np.zeros(len(diagonal), diagonal.dtype)
    if count == 1:
        weights[0] = 1.0
        return diagonal.item(0), weights
    bisect, iterate = _LAPACK[diagonal.itemsize]
    rows = diagonal[:count], offdiagonal[: count - 1]
    _, values, block, split, failed = bisect(*rows, *LOWEST)
    vectors, unfinished = iterate(*rows, values[:1], block, split)
    if failed or unfinished:  # as it never was yet
        values, vectors = eigh_tridiagonal(*rows, select="i", select_range=(0, 0))
    weights[:count] = vectors[:, 0] * (-1 if vectors[0, 0] < 0 else 1)
    return values.item(0), weights


def _finite(row: Row) -> bool:
    """Whether all numbers are finite; their square is, if none is huge."""
    return math.isfinite(row.dot(row)) or bool(np.isfinite(row).all())


def gershgorin_bound(diagonal: Row, offdiagonal: Row, count: int) -> float:
    """max |b_{i-1}| + |a_i| + |b_i| over i <= count, in double precision; zero without rows."""
    b = np.abs(offdiagonal[:count], dtype=np.float64)
    sums = np.abs(diagonal[:count], dtype=np.float64) + b
    sums[1:] += b[:-1]
    return float(sums.max(initial=0.0))
