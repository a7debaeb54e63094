"""A driver for sampled kernels that watches every query, and sampled functions to run it on."""

from typing import Any

import numpy as np

from tests.drive import noting
from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.session import Session
from unsaddle.numpy.ops import ops


def thetas(n: int, size: int, number: int, seed: int = 0) -> np.ndarray:
    """Give the samples from this number on: rows of n numbers that a landscape may use at will."""
    return np.random.default_rng((seed, number, 7)).standard_normal((size, n))


def noisy(gradient, sigma: float, bend: float):
    """Make a gradient a mean over samples: noise that does not depend on x, and noise that does."""

    def mean(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        return gradient(x) + sigma * theta.mean(0) + bend * np.mean(theta * np.sin(theta + x), 0)

    return mean


def trace(
    solver: Solver,
    p: Parameters,
    state: State,
    mean: Any,
    limit: int = 10**9,
    until: Any = lambda s: False,
    answer: Any = None,
) -> tuple[list[tuple[np.ndarray, int, int]], list[State]]:
    """Run a solver; list its queries, each with its samples, and the states it passes.

    The gradient is `mean(point, samples)`, or `answer(point, number of the first sample)`.
    """
    queries, states = [], [state._replace(x=state.x.copy())]
    session = Session(ops, noting(solver, states), p, state, gradient=np.zeros(state.x.size))
    while len(queries) < limit and (query := session.ask()) is not None:
        if until(session.state):
            break
        point, first, size = query.point.copy(), query.first, query.size
        queries.append((point, first, size))
        given = answer(point, first) if answer else mean(point, thetas(point.size, size, first))
        session.tell(gradient=np.array(given))
    return queries, states
