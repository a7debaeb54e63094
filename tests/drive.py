"""The shortest driver there is, for tests that watch every query."""

from typing import Any

import numpy as np

from unsaddle.kernel import GRADIENT, NOTHING, VALUE, Parameters, Solver, State, ball
from unsaddle.ops import numpy as ops


def trace(
    solver: Solver, parameters: Parameters, state: State, landscape: Any, limit: int = 10**9
) -> tuple[np.ndarray, list[State]]:
    """Run a solver and list the points it looks at and the states it passes."""
    points, states = [], [state._replace(x=state.x.copy())]
    value, gradient = np.nan, np.zeros(state.x.size)
    while state.phase >= 0 and len(points) < limit:
        at, needs, update, *_ = solver.phases[state.phase]
        if needs != NOTHING:
            point = at(ops, parameters, state).copy()
            points.append(point)
            value = float(landscape.value(point)) if needs & VALUE else value
            gradient = np.array(landscape.gradient(point)) if needs & GRADIENT else gradient
        state = update(ops, parameters, state, value, gradient)
        states.append(state._replace(x=state.x.copy()))
    return np.array(points), states


def run_while(
    solver: Solver, parameters: Parameters, state: State, landscape: Any, within: Any
) -> tuple[dict[int, list[np.ndarray]], State]:
    """Run a solver while its phase is one of some; give the points of each phase, and the end."""
    points: dict[int, list[np.ndarray]] = {}
    value, gradient = np.nan, np.zeros(state.x.size)
    while state.phase in within:
        at, needs, update, *_ = solver.phases[state.phase]
        if needs != NOTHING:
            point = at(ops, parameters, state).copy()
            points.setdefault(state.phase, []).append(point)
            value = float(landscape.value(point)) if needs & VALUE else value
            gradient = np.array(landscape.gradient(point)) if needs & GRADIENT else gradient
        state = update(ops, parameters, state, value, gradient)
    return points, state


def starts(n: int, radius: float, seed: int = 0):
    """Give the draws from the ball that a run with this seed makes, one per search."""
    episode = 0
    blank = State(0, np.zeros(n), 0, None, None, 0, 0, 0, seed)
    while True:
        episode += 1
        yield radius * ball(ops, blank._replace(episode=episode))


def merged(points: np.ndarray) -> np.ndarray:
    """List each point once: asking again at a point is no new look."""
    return np.array(list(dict.fromkeys(tuple(point.tolist()) for point in points)))
