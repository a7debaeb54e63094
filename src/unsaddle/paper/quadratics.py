"""Quadratic saddles of any size, on the few coordinates that matter, and the Lanczos limit.

Where eigenvalues coincide, a method that starts at random sees of each eigenspace only the length
of its start there: n coordinates reduce, exactly, to one for each distinct eigenvalue.
"""

from math import inf
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from unsaddle.kernel import BEGIN
from unsaddle.landscapes import Landscape
from unsaddle.methods import METHODS
from unsaddle.ops import batch
from unsaddle.ops import numpy as numpy_ops
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

    return variant(batch, noise=noise, size=lambda x: int(multiplicities.sum()))


def rayleigh(eigenvalues: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Give the Rayleigh quotient of each row."""
    return (eigenvalues * points**2).sum(-1) / (points**2).sum(-1)


def lanczos(
    f: Landscape, multiplicities: np.ndarray, seeds: np.ndarray, bars: Any, limit: int
) -> list[np.ndarray]:
    """Count the gradients of the Lanczos escape at 0 until its lowest Ritz value is below bars.

    Args:
        f: The quadratic.
        multiplicities: Of its eigenvalues.
        seeds: One for each start.
        bars: Curvatures to reach.
        limit: Gradients at most.

    Returns:
        For each bar, the gradients of each start; the one at 0 is not counted, nor by the others.
    """
    drawn = weighted(multiplicities)
    ops = variant(numpy_ops, size=drawn.size, noise=lambda like, seed, episode: drawn.noise(
        like[None], np.array([seed]), episode)[0])  # fmt: skip
    line = METHODS["agd+lanczos"]
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    p = line.from_theory(**known, tol=1e-2, n=f.n)
    p = p._replace(escape=p.escape._replace(enough=inf, failure_probability=1e-300))
    counts = np.full((len(bars), len(seeds)), inf)
    for row, seed in enumerate(seeds):
        gradient, looks = f.gradient(np.zeros(f.n)), 0
        state = line.solver.start(ops, p, np.zeros(f.n), seed)._replace(phase=BEGIN)
        while looks < limit and state.phase >= 0 and not np.isfinite(counts[:, row]).all():
            phase = line.solver.phases[state.phase]
            if phase.needs:
                gradient, looks = f.gradient(phase.at(ops, p, state)), looks + 1
            state = phase.update(ops, p, state, 0.0, gradient)
            e = state.escape
            lowest = ops.ritz(e.diagonal, e.beside, e.steps)[0] if e.steps else inf
            below = (lowest <= np.array(bars)) & np.isinf(counts[:, row])
            counts[below, row] = looks
    return list(counts)
