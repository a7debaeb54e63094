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

from unsaddle.core.phases import BEGIN
from unsaddle.core.session import Session
from unsaddle.landscapes import Landscape
from unsaddle.methods.table import METHODS
from unsaddle.numpy.ops import NumpyOps, ops
from unsaddle.paper.batch import Batch
from unsaddle.paper.lockstep import trajectory


class From(NumpyOps):
    """NumPy's operations, where every search starts from one given vector."""

    def __init__(self, start: np.ndarray) -> None:
        """Take the vector."""
        self.start = start

    def normal(self, like: np.ndarray, seed: int, episode: int) -> np.ndarray:
        """The vector given."""
        return self.start.copy()


def quadratic(eigenvalues: np.ndarray, gradient: Any = None) -> Landscape:
    """Give x^T diag(eigenvalues) x/2, or a function with a gradient in place of its own."""
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
    """Give eigenvalues -eps and an even band on [-eps/2, 1], and multiplicities that sum to n."""
    count = min(n - 1, most)
    band = np.linspace(-eps / 2, 1, count)
    return np.append(-eps, band), np.append(1.0, np.full(count, (n - 1) / count))


def drawn(multiplicities: np.ndarray, seed: int, starts: int) -> np.ndarray:
    """Draw starts, by rows: squares of their lengths in eigenspaces of these dimensions."""
    return np.random.default_rng(seed).chisquare(multiplicities, (starts, len(multiplicities)))


def rayleigh(eigenvalues: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Give the Rayleigh quotient of each row."""
    return (eigenvalues * points**2).sum(-1) / (points**2).sum(-1)


def quotients(
    method: str, f: Landscape, values: Any, squares: np.ndarray, limit: int,
    known: dict[int, list[Any]] | None = None, block: int = 64,
) -> Iterator[np.ndarray]:  # fmt: skip
    """Give the Rayleigh quotients of many starts after each step, from one run of the kernel."""
    # On a quadratic a search is linear in its start, up to its length: where the start is all ones
    # the kernel's point is p_t(eigenvalue) in each coordinate, and every other start's is that
    # times the start.
    eigenvalues = f.gradient(np.ones(f.n))
    seeds, ones = np.zeros(1, np.int64), Batch(starts=np.ones(f.n))
    run = trajectory(method, f, values, range(1, limit + 1), seeds, ones)
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
    """Count the gradients of the Lanczos escape at 0 until its lowest Ritz value is below bars."""
    line = METHODS["agd+lanczos"]
    p = line.from_theory(
        n=f.n, tol=1e-2, smoothness=f.smoothness, hessian_lipschitz=f.hessian_lipschitz
    )
    p = p._replace(escape=p.escape._replace(enough=inf, failure_probability=1e-300))
    counts = np.full((len(bars), len(squares)), inf)
    for row, start in enumerate(np.sqrt(squares)):
        own, origin = From(start), np.zeros(f.n)
        begun = line.solver.start(own, p, origin, 0)._replace(phase=BEGIN)
        session = Session(own, line.solver, p, begun, 0.0, f.gradient(origin))
        basis, taken = _until(session, f, min(bars), limit)
        for i, bar in enumerate(bars):
            falls = partial(_below, basis, bar)
            steps = bisect_left(range(len(taken) + 1), True, 1, key=falls)
            counts[i, row] = taken[steps - 1] if steps <= len(taken) else inf
    return counts


def _until(session: Session, f: Landscape, bar: float, limit: int) -> tuple[Any, list[int]]:
    """Run a search until it is below a bar; give its basis, and the gradients up to each step."""
    gradients, taken = 0, list[int]()
    while True:
        query, e = session.ask(), session.state.escape
        del taken[e.steps :]  # where it began again
        if e.steps > len(taken):
            taken.append(gradients)
        done = len(taken) % 8 == 0 and taken and _below(e.basis, bar, e.steps)
        if query is None or gradients == limit or done:
            return e.basis, taken
        session.tell(0.0, f.gradient(query.point))
        gradients += 1


def _below(basis: Any, bar: float, steps: int) -> bool:
    """Say whether the lowest eigenvalue of the first steps' tridiagonal matrix is below a bar."""
    return ops.ritz(basis.diagonal, basis.offdiagonal, steps)[0] <= bar
