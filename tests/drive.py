"""The shortest drivers there are, for tests that watch every query."""

from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from unsaddle.core.kernel import Parameters, Solver, State, ball, iterate
from unsaddle.core.phases import BEGIN, BOTH, GRADIENT, NOTHING, VALUE
from unsaddle.core.session import Query, Session
from unsaddle.numpy.ops import ops


def queries(
    session: Session[np.ndarray],
    value: Callable[[np.ndarray], Any] | None,
    gradient: Callable[[np.ndarray], Any] | None,
    until: Container[int] = (),  # phases, of which none is answered
) -> Iterator[Query]:
    """Give the queries of a session, one after the other, and answer each when it was looked at."""
    while (query := session.ask()) is not None and query.phase not in until:
        yield query
        session.tell(*answer(value, gradient, query))


def finish(session: Session[np.ndarray], *functions: Any, until: Container[int] = ()) -> State:
    """Answer all queries up to a phase; give the state that it is then in."""
    for _ in queries(session, *functions, until=until):
        pass
    return session.state


def trace(
    solver: Solver, parameters: Parameters, state: State, landscape: Any, limit: int = 10**9
) -> tuple[np.ndarray, list[State]]:
    """Run a solver and list the points it queries and the states it passes."""
    points, states = [], [state._replace(x=state.x.copy())]
    session = Session(ops, noting(solver, states), parameters, state)
    while len(points) < limit and (query := session.ask()) is not None:
        points.append(query.point.copy())
        session.tell(*answer(landscape.value, landscape.gradient, query))
    return np.array(points), states


def noting(solver: Solver, states: list[State]) -> Solver:
    """Give the solver, with every state that it passes noted in a list."""

    def note(phase: Any) -> Any:
        def update(*given: Any) -> State:
            after = phase.update(*given)
            states.append(after._replace(x=after.x.copy()))
            return after

        return phase._replace(update=update)

    return solver._replace(phases={code: note(phase) for code, phase in solver.phases.items()})


def run_while(
    solver: Solver, parameters: Parameters, state: State, landscape: Any, within: Any
) -> tuple[dict[int, list[np.ndarray]], State]:
    """Run a solver while its phase is one of some; give the points of each phase, and the end."""
    points, f = dict[int, list[np.ndarray]](), landscape
    halting = {  # any other phase asks, and is not answered
        code: phase if code in within else phase._replace(at=iterate, needs=BOTH)
        for code, phase in solver.phases.items()
    }
    session = Session(ops, solver._replace(phases=halting), parameters, state)
    for query in queries(session, f.value, f.gradient, until={*solver.phases} - {*within}):
        points.setdefault(query.phase, []).append(query.point.copy())
    return points, session.state


def answer(value: Any, gradient: Any, query: Query) -> tuple[float | None, np.ndarray | None]:
    """Give what a query needs."""
    known = float(value(query.point)) if query.needs & VALUE else None
    return known, np.array(gradient(query.point)) if query.needs & GRADIENT else None


def descended(
    solver: Solver, p: Parameters, state: State, value: Any, gradient: Any
) -> Iterator[State]:
    """Run the descent alone; give the state after every phase, whose vectors the next may reuse."""
    f, g = np.nan, np.zeros(1)
    while 0 <= state.phase < BEGIN:
        at, needs, update, *_ = solver.phases[state.phase]
        if needs != NOTHING:
            point = at(ops, p, state).copy()
            f, g = float(value(point)), np.array(gradient(point))
        state = update(ops, p, state, f, g)
        yield state


def starts(n: int, radius: float, seed: int = 0):
    """Give the draws from the ball that a run with this seed makes, one per search."""
    episode = 0
    blank = State(0, np.zeros(n), 0, None, None, None, 0, 0, False, False, 0, seed)
    while True:
        episode += 1
        yield radius * ball(ops, blank._replace(episode=episode))


def merged(points: np.ndarray) -> np.ndarray:
    """List each point once: asking again at a point is no new query."""
    return np.array(list(dict.fromkeys(tuple(point.tolist()) for point in points)))
