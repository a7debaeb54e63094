"""A driver for sampled kernels that watches every query, and sampled functions to run it on."""

from typing import Any

import numpy as np

from unsaddle.kernel import GRADIENT, SAME, Parameters, Solver, State
from unsaddle.ops import numpy as ops


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
    """Run a solver; list where it looks and at which samples, and the states it passes.

    The gradient is `mean(point, samples)`, or `answer(point, number of the first sample)`.
    """
    looks, states, gradient = [], [state._replace(x=state.x.copy())], np.zeros(state.x.size)
    while state.phase >= 0 and len(looks) < limit and not until(state):
        phase = solver.phases[state.phase]
        if phase.needs & GRADIENT:
            size = phase.size(p)
            drawn = state.drawn if phase.sample == SAME else state.drawn + size
            state = state._replace(drawn=drawn)
            point, first = phase.at(ops, p, state).copy(), drawn - size
            looks.append((point, first, size))
            given = answer(point, first) if answer else mean(point, thetas(point.size, size, first))
            gradient = np.array(given)
        state = phase.update(ops, p, state, np.nan, gradient)
        states.append(state._replace(x=state.x.copy()))
    return looks, states
