"""Many runs at once: vectors (M, n), scalars (M,). The kernels need nothing else."""

from typing import Any

import numpy as np

from unsaddle.kernel import GRADIENT, SAME, Parameters, Solver, State

sqrt, log, maximum, where = np.sqrt, np.log, np.maximum, np.where


def dot(x, y):
    return np.einsum("mi,mi->m", x, y)


def norm(x):
    return np.sqrt(dot(x, x))


def times(a, x):
    return np.asarray(a)[..., None] * x


def add(x, a, y):
    return x + times(a, y)


def axpy(a, x, y):
    return y + times(a, x)


scale, keep = times, np.copy


def switch(condition, x, y):
    return np.where(np.asarray(condition)[..., None], x, y)


def noise(like, seed, i):
    return np.random.default_rng((seed, int(np.max(i)), 0)).standard_normal(like.shape)


def size(x):
    return x.shape[-1]


def roundoff(x):
    return 2.0**-53


def tiny(x):
    return 2.0**-1022


def run(
    solver: Solver, p: Parameters, state: State, mean: Any, looks: int, phase: int | None = None
) -> State:
    """Take so many looks, all runs in step, or until they are about to begin a phase.

    `mean(points, first, size)` is the mean gradient over the samples from that number on.
    """
    from tests import batched as ops

    gradient = np.zeros(np.shape(state.x))
    for _ in range(looks):
        at = int(np.max(state.phase))
        if at == phase:
            break
        _, needs, update, sample, many = now = solver.phases[at]
        if needs & GRADIENT:
            drawn = state.drawn if sample == SAME else state.drawn + many(p)
            state = state._replace(drawn=drawn)
            gradient = mean(now.at(ops, p, state), drawn - many(p), many(p))
        state = update(ops, p, state, np.nan, gradient)
    return state
