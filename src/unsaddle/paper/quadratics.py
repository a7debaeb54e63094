"""Quadratic saddles of any size, on the few coordinates that matter, and the Lanczos limit.

Where eigenvalues coincide, a method that starts at random sees of each eigenspace only the length
of its start there: n coordinates reduce, exactly, to one for each distinct eigenvalue.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from math import inf
from typing import Any

import numpy as np

from unsaddle.kernel import BEGIN
from unsaddle.landscapes import Landscape
from unsaddle.methods import METHODS
from unsaddle.ops import batch
from unsaddle.ops import numpy as numpy_ops
from unsaddle.paper.lockstep import trajectory, variant


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


def drawn(multiplicities: np.ndarray, seed: int, starts: int) -> np.ndarray:
    """Draw starts at random: squares of their lengths in eigenspaces of these dimensions.

    Args:
        multiplicities: The dimensions, not necessarily whole.
        seed: Of the draws.
        starts: How many.

    Returns:
        One row for each start.
    """
    return np.random.default_rng(seed).chisquare(multiplicities, (starts, len(multiplicities)))


def rayleigh(eigenvalues: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Give the Rayleigh quotient of each row."""
    return (eigenvalues * points**2).sum(-1) / (points**2).sum(-1)


def quotients(
    method: str, f: Landscape, values: Any, squares: np.ndarray, limit: int,
    known: dict[int, list[Any]] | None = None, block: int = 64,
) -> Iterator[np.ndarray]:  # fmt: skip
    """Give the Rayleigh quotients of many starts after each step, from one run of the kernel.

    On a quadratic a search is linear in its start, up to its length: where the start is all ones
    the kernel's point is p_t(eigenvalue) in each coordinate, and every other start's is that
    times the start.

    Args:
        method: A key of ``KINDS``.
        f: The quadratic.
        values: Of the paper's symbols.
        squares: One row for each start.
        limit: Steps at most.
        known: Points and quotients of other methods with the same starts, to which these are
            added: where the points are the same to ten digits, so are the quotients.
        block: How many steps go together.

    Yields:
        One number for each start, for each step.
    """
    eigenvalues = f.gradient(np.ones(f.n))
    ones = variant(batch, noise=lambda like, seed, episode: np.ones_like(like))
    run = trajectory(method, f, values, range(1, limit + 1), np.zeros(1, np.int64), ones)
    for number in count():
        rows = [point[0] / np.abs(point[0]).max() for point in islice(run, block)]
        if not rows:
            return
        weights = np.array(rows).T ** 2
        others = [] if known is None else known.setdefault(number, [])
        same = [found for points, found in others if np.allclose(points, weights, 1e-10, 1e-20)]
        if not same:
            found = ((squares @ (eigenvalues[:, None] * weights)) / (squares @ weights)).T
            others.append((weights, found))
            same.append(found)
        yield from same[0]


def lanczos(f: Landscape, squares: np.ndarray, bars: Any, limit: int) -> np.ndarray:
    """Count the gradients of the Lanczos escape at 0 until its lowest Ritz value is below bars.

    Args:
        f: The function; the coordinates stand for eigenspaces.
        squares: One row for each start.
        bars: Curvatures to reach.
        limit: Gradients at most.

    Returns:
        For each bar, the gradients of each start; the one at 0 is not counted, nor by the others.
    """
    line = METHODS["agd+lanczos"]
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    p = line.from_theory(**known, tol=1e-2, n=f.n)
    p = p._replace(escape=p.escape._replace(enough=inf, failure_probability=1e-300))
    counts = np.full((len(bars), len(squares)), inf)
    for row, start in enumerate(np.sqrt(squares)):
        ops = variant(numpy_ops, noise=lambda like, seed, episode, start=start: start.copy())
        gradient, looks, seen = f.gradient(np.zeros(f.n)), 0, []
        state = line.solver.start(ops, p, np.zeros(f.n), 0)._replace(phase=BEGIN)
        e = state.escape
        while looks < limit and state.phase >= 0:
            phase = line.solver.phases[state.phase]
            if phase.needs:
                gradient, looks = f.gradient(phase.at(ops, p, state)), looks + 1
            state = phase.update(ops, p, state, 0.0, gradient)
            e = state.escape
            del seen[e.steps :]  # where it began again
            if e.steps > len(seen):
                seen.append(looks)
                if len(seen) % 8 == 0 and lowest_ritz(e, e.steps) <= min(bars):
                    break
        for i, bar in enumerate(bars):
            steps = bisect_left(range(len(seen) + 1), True, 1, key=partial(_below, e, bar))
            counts[i, row] = seen[steps - 1] if steps <= len(seen) else inf
    return counts


def lowest_ritz(e: Any, steps: int) -> float:
    """Give the lowest eigenvalue of the first steps' tridiagonal matrix; it falls with them."""
    return float(numpy_ops.ritz(e.diagonal, e.beside, steps)[0])


def _below(e: Any, bar: float, steps: int) -> bool:
    return lowest_ritz(e, steps) <= bar
