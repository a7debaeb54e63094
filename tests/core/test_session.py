"""A session asks and is told: in turn, finite unless it can do without, from numbered samples."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from tests.drive import finish, queries
from unsaddle.core.phases import BEGIN, BOTH, CERTIFIED, GRADIENT, NEW, PROVE, SAME, START, TRIAL
from unsaddle.core.session import NotFiniteError, Session
from unsaddle.methods.table import METHODS, STOCHASTIC
from unsaddle.numpy.ops import ops

SPECTRUM = np.array([0.5, 1.0, 2.0])


def value(x: np.ndarray) -> float:
    return float(x @ (SPECTRUM * x) / 2)


def gradient(x: np.ndarray) -> np.ndarray:
    return SPECTRUM * x


def begun(method: str = "auto", x: Any = (1.0, 2.0, 3.0), **known: Any) -> Session[np.ndarray]:
    line, x = METHODS[method], np.array(x)
    p = line.from_theory(n=x.size, **known)
    return Session(ops, line.solver, p, line.solver.start(ops, p, x, 0))


# In turn


def test_who_tells_without_being_asked_is_told_so() -> None:
    session = begun()
    with pytest.raises(RuntimeError, match="call ask first"):
        session.tell(0.0, np.zeros(3))
    assert session.ask() is not None
    session.tell(value(session.state.x), gradient(session.state.x))
    with pytest.raises(RuntimeError, match="call ask first"):
        session.tell(0.0, np.zeros(3))


def test_asking_twice_gives_the_same_query() -> None:
    session = begun()
    one, two = session.ask(), session.ask()
    assert one is not None
    assert two is not None
    assert np.array_equal(one.point, two.point)
    assert one[1:] == two[1:]
    assert (one.phase, one.needs, one.at_iterate) == (START, BOTH, True)


def test_it_runs_to_its_end_and_stays_there() -> None:
    session = begun()
    assert not session.over
    finish(session, value, gradient)
    assert session.over
    assert session.ask() is None
    assert session.state.phase == CERTIFIED
    assert np.linalg.norm(gradient(session.state.x)) <= 1e-5


def test_more_than_was_asked_for_may_be_told() -> None:
    """A query for a gradient may be answered with the value too: the same points, the same end."""
    known = {"smoothness": 2.0, "hessian_lipschitz": 1.0, "tol": 1e-2}
    runs = []
    for more in (False, True):
        session, points = begun("pgd+nc", **known), []
        while (query := session.ask()) is not None:
            points.append(query.point.copy())
            wanted = value(query.point) if more or not query.needs & GRADIENT else None
            session.tell(wanted, gradient(query.point))
        runs.append(np.array(points))
    assert np.array_equal(*runs)


# Finite


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (nan, np.ones(3)),
        (inf, np.ones(3)),
        (None, np.ones(3)),
        (1.0, np.array([1.0, nan, 0.0])),
        (1.0, np.array([1.0, -inf, 0.0])),
        (1.0, None),
    ],
)
def test_an_answer_that_is_not_finite_is_refused(f: float | None, g: Any) -> None:
    """The session stays as it was, and takes a better answer."""
    session = begun()
    session.ask()
    before = session.state
    with pytest.raises(NotFiniteError):
        session.tell(f, g)
    assert session.state is before
    session.tell(value(before.x), gradient(before.x))
    assert session.state is not before


def test_only_what_was_asked_for_has_to_be_finite() -> None:
    session = begun("pgd+nc", smoothness=2.0, hessian_lipschitz=1.0, tol=1e-2)
    query = session.ask()
    assert query is not None
    assert query.needs == GRADIENT
    session.tell(nan, gradient(query.point))


def test_a_gradient_whose_norm_overflows_is_finite() -> None:
    session = begun()
    session.ask()
    session.tell(1.0, np.full(3, 1e200))


def test_a_trial_without_an_answer_counts_as_infinitely_high() -> None:
    """The line search of ``auto`` then tries a shorter step; the run ends as ever."""
    session, refused = begun(), 0
    while (query := session.ask()) is not None:
        outside = bool(query.needs & TRIAL) and query.phase < BEGIN and query.point.max() < 1.0
        if outside and refused < 5:
            refused += 1
            session.tell(nan, np.full(3, nan))
            assert session.value == inf
            assert not session.gradient.any()  # type: ignore[union-attr]
        else:
            session.tell(value(query.point), gradient(query.point))
    assert refused
    assert session.state.phase == CERTIFIED


# What a query says


def test_a_query_says_when_a_search_begins_and_when_the_descent_goes_on() -> None:
    session = begun("pgd+nc", (0.3, 0.2, 0.1), smoothness=2.0, hessian_lipschitz=1.0, tol=1e-2)
    asked = [*queries(session, value, gradient)]
    assert [query.descends for query in asked] == [query.phase < BEGIN for query in asked]
    began = [i for i, query in enumerate(asked) if query.searches]
    assert began == [next(i for i, query in enumerate(asked) if query.phase > BEGIN)]


def test_samples_are_numbered_through() -> None:
    """A new one begins where the last ended, the same one is the last again; so is a proof's."""
    line = STOCHASTIC["sgd+nc"]
    known = {"smoothness": 2.0, "stochastic_smoothness": 2.0, "hessian_lipschitz": 1.0}
    p = line.from_theory(n=3, variance=1e-4, tol=0.1, **known)
    p = p._replace(proof_sample=17)
    solver, drawn, last, kinds = line.solver, 0, (0, 0), set()
    start = solver.start(ops, p, np.array([0.3, 0.2, 0.1]), 0)
    session = Session(ops, solver, p, start)
    while (query := session.ask()) is not None:
        phase, proving = solver.phases[query.phase], query.phase >= PROVE and session.state.proving
        kinds.add(phase.sample)
        if phase.sample == NEW:
            assert query.first == drawn
            assert query.size == phase.size(p)
            last, drawn = (query.first, query.size), drawn + query.size
        else:
            assert phase.sample == SAME
            assert (query.first, query.size) == last
        assert not proving or query.size == 17
        session.tell(gradient=gradient(query.point))
        assert session.state.drawn == drawn
    assert kinds == {NEW, SAME}
    assert session.state.proving
    assert session.state.phase == CERTIFIED


def test_without_samples_every_query_is_of_the_whole_function() -> None:
    session = begun()
    query = session.ask()
    assert query is not None
    assert (query.first, query.size) == (0, 1)
    session.tell(value(query.point), gradient(query.point))
    assert session.state.drawn == 0
