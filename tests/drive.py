"""The shortest drivers there are, for tests that watch every query."""

from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from unsaddle.core.kernel import Parameters, Solver, State, ball, iterate
from unsaddle.core.phases import BEGIN, BOTH, GRADIENT, VALUE
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


def with_own_x(state: State) -> State:
    """Give the state with an x of its own."""
    return state._replace(x=state.x.copy())


def noting(solver: Solver, states: list[State], kept: Callable[[State], State] = with_own_x) -> Any:
    """Give the solver, with what is kept of every state that it passes noted in a list."""

    def note(phase: Any) -> Any:
        def update(*given: Any) -> State:
            after = phase.update(*given)
            states.append(kept(after))
            return after

        return phase._replace(update=update)

    return solver._replace(phases={code: note(phase) for code, phase in solver.phases.items()})


def run_while(
    solver: Solver, parameters: Parameters, state: State, landscape: Any, within: Any
) -> tuple[dict[int, list[np.ndarray]], State]:
    """Run a solver while its phase is one of some; give the points of each phase, and the end."""
    points, f = dict[int, list[np.ndarray]](), landscape
    session = Session(ops, halting(solver, within), parameters, state)
    for query in queries(session, f.value, f.gradient, until={*solver.phases} - {*within}):
        points.setdefault(query.phase, []).append(query.point.copy())
    return points, session.state


def halting(solver: Solver, within: Container[int]) -> Solver:
    """Give the solver whose other phases ask, so that a session comes to a halt before them."""
    phases = {
        code: phase if code in within else phase._replace(at=iterate, needs=BOTH)
        for code, phase in solver.phases.items()
    }
    return solver._replace(phases=phases)


def answer(value: Any, gradient: Any, query: Query) -> tuple[float | None, np.ndarray | None]:
    """Give what a query needs."""
    known = float(value(query.point)) if query.needs & VALUE else None
    return known, np.array(gradient(query.point)) if query.needs & GRADIENT else None


def descended(
    solver: Solver,
    p: Parameters,
    state: State,
    value: Any,
    gradient: Any,
    kept: Callable[[State], State] = with_own_x,  # as the next phase may reuse vectors
) -> list[State]:
    """Run the descent alone; list what is kept of the state after every phase."""
    states, ends = list[State](), {code for code in solver.phases if code >= BEGIN}
    alone = halting(solver, {*solver.phases} - ends)
    finish(Session(ops, noting(alone, states, kept), p, state), value, gradient, until=ends)
    return states


def at_search(solver: Solver, p: Parameters, state: State, gradient: np.ndarray) -> State:
    """Give the state in which a search that begins where the gradient is this first asks."""
    session = Session(ops, solver, p, state._replace(phase=BEGIN), gradient=gradient)
    session.ask()
    return session.state


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
