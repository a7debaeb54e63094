"""Two facts about a symmetric tridiagonal matrix, for the backends whose rows are on the CPU."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

Row = NDArray[np.floating]


def lowest_eigenpair(diagonal: Row, offdiagonal: Row, count: int) -> tuple[float, Row]:
    """Lowest eigenpair of the leading count x count matrix, as ``ritz`` of ``core/ops.py`` is."""
    if not (np.isfinite(diagonal[:count]).all() and np.isfinite(offdiagonal[:count]).all()):
        return math.nan, np.full_like(diagonal, math.nan)
    values, vectors = eigh_tridiagonal(
        diagonal[:count], offdiagonal[: count - 1], select="i", select_range=(0, 0)
    )
    weights = np.zeros_like(diagonal)
    weights[:count] = vectors[:, 0] * (-1 if vectors[0, 0] < 0 else 1)
    return float(values[0]), weights


def gershgorin_bound(diagonal: Row, offdiagonal: Row, count: int) -> float:
    """max |b_{i-1}| + |a_i| + |b_i| over i <= count, in double precision; zero without rows."""
    a = np.abs(diagonal[:count], dtype=np.float64)
    b = np.abs(np.append(0.0, offdiagonal[:count]), dtype=np.float64)
    return float(np.max(a + b[:-1] + b[1:], initial=0.0))
