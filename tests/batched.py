"""Many runs at once, all in one phase: ``paper/lockstep.py`` with one generator for all rows."""

from typing import Any

import numpy as np

from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.paper import lockstep
from unsaddle.paper.batch import Batch


class Together(Batch):
    """All rows draw from one generator, of (seed, episode)."""

    def normal(self, like, seed, episode):
        return np.random.default_rng((seed, int(np.max(episode)), 0)).standard_normal(like.shape)


ops = Together()


def run(
    solver: Solver, p: Parameters, state: State, mean: Any, steps: int, phase: int | None = None
) -> State:
    """Go through so many phases, all runs in step, or until they are about to begin one.

    `mean(points, first, size)` is the mean gradient over the samples from that number on.
    """
    left = iter(range(steps))

    def going(s: State) -> Any:
        on = int(np.max(s.phase)) != phase and next(left, None) is not None
        return np.full(len(s.x), on)

    def answer(at: Any, point: Any, size: int, s: State, last: Any) -> Any:
        return np.nan, mean(point, s.drawn - size, size)

    first = np.nan, np.zeros(np.shape(state.x))
    return lockstep.run(ops, solver, p, answer, going, state, first)[0]
