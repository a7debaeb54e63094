"""Quadratic saddles of any size, on the few coordinates that matter, and the Lanczos limit.

Where eigenvalues coincide, a method that starts at random sees of each eigenspace only the length
of its start there: n coordinates reduce, exactly, to one for each distinct eigenvalue.
"""

from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from scipy.special import gammaincinv

from unsaddle.landscapes import Landscape
from unsaddle.ops import batch
from unsaddle.paper.lockstep import variant


def quadratic(eigenvalues: np.ndarray, gradient: Any = None) -> Landscape:
    """Give x^T diag(eigenvalues) x/2, or a function with another gradient.

    Args:
        eigenvalues: The lowest first.
        gradient: In place of diag(eigenvalues) x.

    Returns:
        The landscape, with its saddle at the origin.
    """
    return Landscape(
        name="quadratic",
        n=len(eigenvalues),
        value=lambda x: (eigenvalues * x**2).sum(-1) / 2,
        gradient=gradient or (lambda x: eigenvalues * x),
        hessian=lambda x: np.diag(eigenvalues),
        saddles=(np.zeros(len(eigenvalues)),),
        minima=(),
        infimum=-np.inf,
        smoothness=float(np.abs(eigenvalues).max()),
        hessian_lipschitz=1.0,
        region="Everywhere.",
        radius=np.inf,
    )


def dense(eps: float, n: int, most: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Give a spectrum of -eps and an even band on [-eps/2, 1], with multiplicities that sum to n.

    Args:
        eps: The one negative curvature to find.
        n: The dimension.
        most: How many distinct eigenvalues the band has at most.

    Returns:
        Eigenvalues and multiplicities.
    """
    count = min(n - 1, most)
    band = np.linspace(-eps / 2, 1, count)
    return np.append(-eps, band), np.append(1.0, np.full(count, (n - 1) / count))


def weighted(multiplicities: np.ndarray) -> Any:
    """Give a backend whose normal draws are lengths in eigenspaces of these dimensions."""

    def noise(like: Any, seed: Any, episode: Any) -> Any:
        drawn = batch.noise(like, seed, episode)
        if (multiplicities == 1).all():
            return drawn
        bits = np.array([batch.uniform(like, np.asarray(seed) + (k + 1) * 2**40, episode)
                         for k in range(len(multiplicities))]).T  # fmt: skip
        return np.sqrt(2 * gammaincinv(multiplicities / 2, bits)).astype(like.dtype)

    return variant(noise=noise, size=lambda x: int(multiplicities.sum()))


def rayleigh(eigenvalues: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Give the Rayleigh quotient of each row."""
    return (eigenvalues * points**2).sum(-1) / (points**2).sum(-1)


def lanczos(
    eigenvalues: np.ndarray, multiplicities: np.ndarray, seeds: np.ndarray, bars: Any, limit: int
) -> list[np.ndarray]:
    """Count Lanczos steps, one gradient difference each, until the lowest Ritz value is below bars.

    Args:
        eigenvalues: Of the quadratic.
        multiplicities: Of each.
        seeds: One for each start.
        bars: Curvatures to reach.
        limit: Steps at most.

    Returns:
        For each bar, the steps of each start.
    """
    start = weighted(multiplicities).noise(np.zeros((len(seeds), len(eigenvalues))), seeds, 1)
    counts = np.full((len(bars), len(seeds)), np.inf)
    for row, v in enumerate(start):
        basis, diagonal, off = [v / np.linalg.norm(v)], [], []
        for step in range(1, limit + 1):
            w = eigenvalues * basis[-1]
            diagonal.append(float(w @ basis[-1]))
            lowest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 0))[0]
            for i, bar in enumerate(bars):
                counts[i, row] = min(counts[i, row], step) if lowest <= bar else counts[i, row]
            if np.isfinite(counts[:, row]).all():
                break
            q = np.array(basis)
            for _ in range(2):
                w = w - q.T @ (q @ w)
            length = sqrt(w @ w)
            if length < 1e-12:
                break
            off.append(length)
            basis.append(w / length)
    return list(counts)
