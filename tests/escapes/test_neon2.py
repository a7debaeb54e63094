"""Neon2: beside its transcription, what it misses, and that nothing unsound comes of it."""

from math import acosh, cosh, pi, sqrt
from typing import Any

import numpy as np
import pytest

from tests.drive import queries
from tests.paper.neon2_det import neon2_det
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import CERTIFIED, PROVE, UNCERTIFIED, PhaseName
from unsaddle.core.session import Session
from unsaddle.descents.gd import gd
from unsaddle.escapes.neon2 import neon2
from unsaddle.methods import table1_theory
from unsaddle.numpy.ops import ops

L, D, RHO, RISK = 1.0, 0.1, 1.0, 0.1


def settings(n: int, **own: Any) -> Any:
    known = {"smoothness": L, "hessian_lipschitz": RHO, "curvature_tol": D}
    found = table1_theory.neon2(**known, failure_probability=RISK, n=n)
    plain = {"enough": 0.5, "length": 1.0, "decrease": 0.0, "failure_probability": RISK}
    return neon2.settings(**{**known, **plain, **found._asdict(), **own})


def run(d: np.ndarray, seed: int, **own: Any) -> tuple[Any, list[np.ndarray]]:
    """Search at the stationary point of a quadratic; give the last state and all probes."""
    p = Parameters(0.0, None, settings(d.size, **own))
    solver = compose(gd, neon2)
    state = solver.start(ops, p, np.zeros(d.size), seed)._replace(phase=PhaseName.BEGIN)
    session, asked = Session(ops, solver, p, state, gradient=np.zeros(d.size)), []
    for query in queries(session, None, lambda x: d * x, until=(PhaseName.JUMP_BEGIN,)):
        asked.append(query.point.copy())
    return session.state, asked


def spectrum(n: int, lowest: float) -> np.ndarray:
    return np.concatenate([[lowest], np.linspace(0.0, L, n - 1)])


@pytest.mark.parametrize("lowest", [-2 * D, -D, -0.3 * D, 0.0])
def test_as_transcribed(lowest: float) -> None:
    """Without early ends the y_t have the transcription's directions, and so has the result."""
    n = 12
    d = spectrum(n, lowest)
    given = {"enough": np.inf, "failure_probability": 1e-300, "window": 40.0}
    state, asked = run(d, 5, **given)
    xi = asked[0] / np.linalg.norm(asked[0])
    reach = settings(n).reach
    direction, points = neon2_det(
        lambda x: d * x, np.zeros(n), xi, smoothness=L, curvature=D, steps=40, far=reach
    )
    probes = asked[:-1] if direction is not None else asked
    assert len(probes) == len(points)
    before, y = np.zeros(n), xi
    for probe in probes:
        np.testing.assert_allclose(probe / np.linalg.norm(probe), y / np.linalg.norm(y), atol=1e-6)
        before, y = y, 2 * ((1 - 0.75 * D / L) * y - d * y / L) - before
    if direction is None:
        assert state.phase == UNCERTIFIED
    else:
        np.testing.assert_allclose(state.escape.direction, direction, atol=1e-6)
        assert direction @ (d * direction) <= -D / 2


def test_the_points_are_chebyshev_s() -> None:
    """x_{t+1} - x_0 = T_t(M) xi."""
    d = spectrum(8, -D)
    xi = np.full(8, 1 / sqrt(8))
    _, points = neon2_det(
        lambda x: d * x, np.zeros(8), xi, smoothness=L, curvature=D, steps=30, far=np.inf
    )
    m = 1 - 0.75 * D / L - d / L
    for t, point in enumerate(points, 1):
        inside = np.cos(t * np.arccos(np.clip(m, -1, 1)))
        outside = np.cosh(t * np.arccosh(np.maximum(m, 1)))
        np.testing.assert_allclose(point, np.where(m > 1, outside, inside) * xi, atol=1e-9)


def test_what_suffices() -> None:
    """cosh(T arccosh(1 + d/(4 l))) sqrt(pi/(2n)) p >= G, and a step less does not."""
    for n, d, risk in ((10, 0.1, 0.1), (1000, 1e-3, 1e-3)):
        found = table1_theory.neon2(
            smoothness=1.0, hessian_lipschitz=2.0, curvature_tol=d, failure_probability=risk, n=n
        )
        assert found.reach == 2 * sqrt((1 + d) / d)
        grown = [cosh(t * acosh(1 + d / 4)) * risk * sqrt(pi / (2 * n)) for t in (-1, 0)]
        steps = [
            cosh((found.window + t) * acosh(1 + d / 4)) * risk * sqrt(pi / (2 * n)) for t in (-1, 0)
        ]
        assert steps[0] < found.reach <= steps[1]
        assert grown[1] < 1


@pytest.mark.slow
def test_it_misses_no_more_than_its_share_and_is_never_unsound() -> None:
    """At lambda_min = -d: missed or certified with probability p at most, 1,000 seeds."""
    n, trials = 20, 1000
    d = spectrum(n, -D * (1 + 1e-9))
    missed = 0
    for seed in range(trials):
        state, _ = run(d, seed)
        if state.phase == PhaseName.JUMP_BEGIN:
            v = state.escape.direction
            assert v @ (d * v) <= -D / 2
        else:
            assert state.phase in (CERTIFIED, UNCERTIFIED, PROVE)
            missed += 1
    assert missed <= trials * RISK + 3 * sqrt(trials * RISK * (1 - RISK))


def test_positive_curvature_that_grows_is_not_taken_for_negative() -> None:
    """An l that is too small lets the largest eigenvalue grow: it is measured, and not followed."""
    d = np.array([3.0 * L, 0.5, 0.2, 0.0])
    for seed in range(20):
        state, _ = run(d, seed, enough=np.inf)
        assert state.phase != PhaseName.JUMP_BEGIN


@pytest.mark.parametrize("lowest", [-0.4 * D, 0.0])
def test_where_there_is_none_it_certifies_before_its_window_is_over(lowest: float) -> None:
    for seed in range(20):
        state, asked = run(spectrum(30, lowest), seed)
        assert state.phase == CERTIFIED
        assert len(asked) < settings(30).window
