"""The skeleton of a descent: as its source says, alone and with an escape that exists already.

Copy it for a descent of your own: a transcription of the source, what is proven of the descent, and
a saddle that it leaves with an escape behind it.
"""

import numpy as np

from examples.skeleton_descent import Settings, heavy_ball
from tests.drive import finish, queries
from unsaddle import landscapes
from unsaddle.core.kernel import NoSettings, Parameters, State, compose
from unsaddle.core.phases import CERTIFIED, UNCERTIFIED
from unsaddle.core.session import Session
from unsaddle.escapes.nc import Settings as Search
from unsaddle.escapes.nc import nc
from unsaddle.escapes.never import never
from unsaddle.numpy.ops import ops


def descend(
    settings: Settings, curvatures: np.ndarray, x: np.ndarray, tol: float, **own: float
) -> list[np.ndarray]:
    """Run the descent alone on a quadratic with these curvatures; it reports to the end."""
    solver, p = compose(heavy_ball, never), Parameters(tol, settings, NoSettings())
    start: State = solver.start(ops, p, x.copy(), 0)._replace(report=UNCERTIFIED, **own)
    value, gradient = lambda x: curvatures @ x**2 / 2, lambda x: curvatures * x
    session = Session(ops, solver, p, start)
    return [query.point.copy() for query in queries(session, value, gradient)]


def test_it_asks_where_a_transcription_of_its_source_asks():
    curvatures, x = np.array([0.1, 1.0, 4.0]), np.array([1.0, -2.0, 3.0])
    p = Settings(step=0.2, momentum=0.7)
    points = descend(p, curvatures, x, 1e-6)
    expected, before = [x], x
    while np.linalg.norm(curvatures * expected[-1]) > 1e-6:
        x = expected[-1]
        expected.append(x - p.step * curvatures * x + p.momentum * (x - before))
        before = x
    np.testing.assert_allclose(points, expected, rtol=0, atol=1e-12)


def test_it_is_faster_than_gradient_descent_by_the_root_of_the_condition_number():
    """Rate (sqrt(k) - 1)/(sqrt(k) + 1) with Polyak's settings, and (k - 1)/(k + 1) without."""
    curvatures, x = np.geomspace(1e-3, 1.0, 50), np.ones(50)
    small, large = np.sqrt(curvatures[[0, -1]])
    best = Settings(4 / (small + large) ** 2, ((large - small) / (large + small)) ** 2)
    counts = [
        len(descend(p, curvatures, x, 1e-8))
        for p in (best, Settings(2 / (curvatures[0] + curvatures[-1]), 0.0))
    ]
    assert counts[1] > 8 * counts[0]


def test_it_leaves_a_saddle_with_an_escape_behind_it():
    f = landscapes.quartic()
    tol, gamma = 1e-2, (f.hessian_lipschitz * 1e-2) ** 0.5
    escape = Search(
        search_step=1 / f.smoothness,
        radius=1e-4,
        window=500,
        enough=0.5,
        length=(tol / f.hessian_lipschitz) ** 0.5 / 4,
        decrease=(tol**3 / f.hessian_lipschitz) ** 0.5 / 384,
        curvature_tol=gamma,
        failure_probability=1e-3,
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
    )
    p = Parameters(tol, Settings(step=0.1 / f.smoothness, momentum=0.9), escape)
    solver = compose(heavy_ball, nc)
    session = Session(ops, solver, p, solver.start(ops, p, f.saddles[0].copy(), 0))
    state = finish(session, f.value, f.gradient)
    assert state.phase == CERTIFIED
    assert np.linalg.norm(f.gradient(state.x)) <= tol
    assert np.linalg.eigvalsh(f.hessian(state.x))[0] > -gamma
    assert f.value(state.x) < f.value(f.saddles[0])


def test_an_escape_that_asks_for_steps_gets_as_many():
    settings = Settings(step=0.1, momentum=0.5)
    assert len(descend(settings, np.ones(3), np.ones(3), tol=-1.0, left=7)) == 7
