"""What the exact Hessian says of a point: its extreme eigenvalues, and what a proof must cost."""

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky_banded

from .oracle import Array, Problem

HALVINGS = 45


class Banded(NamedTuple):
    """A symmetric matrix in the lower form of LAPACK, up to the order of its rows."""

    lower: Array

    def lowest(self) -> float:
        """Halve an interval: H - mu I has a Cholesky factor just if mu is below the lowest."""
        off = self.lower[1:]
        reach = sum(abs(np.roll(row, shift)) + abs(row) for shift, row in enumerate(off, 1))
        low, high = float((self.lower[0] - reach).min()), float(self.lower[0].min())
        low -= 1e-9 * (1.0 + abs(low))
        for _ in range(HALVINGS):
            mu = (low + high) / 2
            try:
                cholesky_banded(np.vstack([self.lower[0] - mu, off]), lower=True)
                low = mu
            except LinAlgError:
                high = mu
        return low

    def ends(self) -> tuple[float, float]:
        """Give the lowest eigenvalue and the highest."""
        return self.lowest(), -Banded(-self.lower).lowest()


def spectrum(problem: Problem, x: Array) -> tuple[float | None, float | None]:
    """Give the lowest eigenvalue of the exact Hessian and the largest modulus."""
    h = problem.hessian(x)
    if not np.isfinite(h.lower if isinstance(h, Banded) else h).all():
        return None, None
    if isinstance(h, Banded):
        lowest, highest = h.ends()
    else:
        values = np.linalg.eigvalsh((h + h.T) / 2)
        lowest, highest = values[0], values[-1]
    return float(lowest), float(max(abs(lowest), abs(highest)))


def product(problem: Problem, x: Array) -> Callable[[Array], Array]:
    """Give v -> H(x) v, exact: by the Hessian, or by the complex step where that is banded."""
    h = problem.hessian(x)
    if isinstance(h, Banded):
        return lambda v: np.imag(problem.gradient(x + 1e-30j * v)) / 1e-30
    return lambda v: h @ v


def fewest(times: Callable[[Array], Array], first: Array, rate: float, needed: float) -> int:
    """Count the products that Lanczos, exact and reorthogonalised, needs to certify.

    Args:
        times: v -> H v.
        first: Where the process begins.
        rate: The gamma to certify.
        needed: The growth sqrt(K) that certifies; on an invariant subspace it is infinite.

    Returns:
        The number of products.
    """
    n = len(first)
    basis, q, q_before, before, square = [first / np.linalg.norm(first)], 1.0, 0.0, 0.0, 1.0
    size = 0.0
    for k in range(1, n + 1):
        w = times(basis[-1])
        alpha, size = basis[-1] @ w, max(size, float(np.linalg.norm(w)))
        known = np.array(basis)
        for _ in range(2):
            w = w - known.T @ (known @ w)
        beta = float(np.linalg.norm(w)) if k < n else 0.0
        if beta > 1e-14 * size:
            q, q_before = ((alpha + rate) * q - before * q_before) / beta, q
            before, square = beta, square + q * q
            basis.append(w / beta)
        else:
            square = inf
        if sqrt(square) >= needed:
            return k
    raise AssertionError("a space of n dimensions is invariant")
