"""The searches of ``certify`` and of every proof: they show what there is, and do not move x."""

from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

from tests.drive import queries
from tests.often import most_at_night
from unsaddle.core.kernel import Parameters, compose, then
from unsaddle.core.phases import (
    BEGIN,
    CERTIFIED,
    EXACT,
    GRADIENT,
    NEW,
    PROBE,
    PROOF,
    PROVE,
    SAME,
    PhaseName,
)
from unsaddle.core.session import Session
from unsaddle.descents.gd import gd
from unsaddle.escapes.adaptive_anc import adaptive_anc
from unsaddle.escapes.nc import nc
from unsaddle.escapes.proof import SEARCHES, proof, without_dips, without_jump
from unsaddle.escapes.snc import snc
from unsaddle.methods.parameters import Problem
from unsaddle.numpy.ops import ops

FOUND = PhaseName.NEGATIVE_CURVATURE
GAMMA = 0.1
each_search = pytest.mark.parametrize("search", SEARCHES)


def searched(
    part: Any, gradient: Any, x: Any, gamma: float = GAMMA, seed: int = 0, delta: float = 1e-3
) -> Session:
    """Run a search at x to its end; the session lists the phases that asked, and the points."""
    x = np.array(x, float)
    known = {"n": x.size, "tol": 0.0, "failure_probability": delta, "curvature_tol": gamma}
    p = Parameters(0.0, None, Problem(**known).measured(), None, gamma, delta)
    solver = compose(gd, part)
    state = solver.start(ops, p, x.copy(), seed)._replace(phase=BEGIN)
    session = Session(ops, solver, p, state, gradient=gradient(x))
    session.asked = []  # type: ignore[attr-defined]
    for query in queries(session, None, gradient):
        session.asked.append((query.phase, query.point.copy()))  # type: ignore[attr-defined]
        assert query.needs == GRADIENT
    assert np.array_equal(session.state.x, x)
    return session


@each_search
@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_minimum_is_certified(search: str, n: int) -> None:
    """Also where it is flat; 20 seeds, of which a correct search fails none."""
    for seed in range(20):
        for spectrum in (np.linspace(1.0, 2.0, n), np.linspace(0.0, 1.0, n)):
            x = np.full(n, 0.5)
            end = searched(SEARCHES[search], lambda y, d=spectrum, x=x: d * (y - x), x, seed=seed)
            assert end.state.phase == CERTIFIED


@each_search
@pytest.mark.parametrize("n", [1, 2, 30])
def test_the_direction_of_a_saddle_is_found(search: str, n: int) -> None:
    """-5 gamma among [0, 1]: a direction of half of gamma or more, every one of 20 seeds."""
    spectrum = np.append(-5 * GAMMA, np.linspace(0.0, 1.0, n - 1))
    for seed in range(20):
        end = searched(SEARCHES[search], lambda y: spectrum * y, np.zeros(n), seed=seed)
        e = end.state.escape
        assert end.state.phase == FOUND
        assert np.linalg.norm(e.direction) == pytest.approx(1.0)
        assert spectrum @ e.direction**2 == pytest.approx(e.curvature)
        assert e.curvature < -GAMMA / 2
        assert [phase for phase, _ in end.asked[-2:]] == [  # type: ignore[attr-defined]
            PhaseName.CENTRAL_AHEAD,
            PhaseName.CENTRAL_BEHIND,
        ]


@pytest.mark.slow
@each_search
@pytest.mark.parametrize("delta", most_at_night([0.3], [0.3, 0.1]))
def test_false_certificates_are_no_more_frequent_than_promised(search: str, delta: float) -> None:
    """At a saddle with lambda_min = -gamma (1 + 1e-9), 2000 seeds, quadratic plus quartic.

    A first search spends 6/pi^2 of delta. A correct one exceeds that plus 4 standard errors with
    probability below 1e-4; one that spends all of delta is caught at delta = .3.
    """
    n, trials = 20, 2000
    spectrum = np.append(-GAMMA * (1 + 1e-9), np.linspace(0.5, 1, n - 1))

    def gradient(y: np.ndarray) -> np.ndarray:
        return spectrum * y + 1e-3 * y**3

    ends = [
        searched(SEARCHES[search], gradient, np.zeros(n), seed=seed, delta=delta).state.phase
        for seed in range(trials)
    ]
    share = delta * 6 / pi**2
    assert {*ends} == {CERTIFIED, FOUND}
    assert ends.count(CERTIFIED) / trials <= share + 4 * sqrt(share * (1 - share) / trials) <= delta
    assert ends.count(CERTIFIED) / trials >= 0.3 * share  # and the test has something to see


@each_search
def test_a_central_difference_cancels_a_third_derivative(search: str) -> None:
    """-x^2/2 + 1000 x^3 along one variable: a forward difference over r is off by 3000 r."""
    hessian = np.array([-1.0, 1.0, 2.0])

    def gradient(y: np.ndarray) -> np.ndarray:
        return hessian * y + np.array([3e3 * y[0] ** 2, 0.0, 0.0])

    for seed in range(10):
        end = searched(SEARCHES[search], gradient, np.zeros(3), seed=seed)
        e = end.state.escape
        u, r = e.direction, e.resolution.radius
        truth, forward = hessian @ u**2, u @ (gradient(r * u) - gradient(0 * u)) / r
        assert end.state.phase == FOUND
        assert abs(e.curvature - truth) < 1e-9
        assert abs(forward - truth) > 1e-6
        (_, ahead), (_, behind) = end.asked[-2:]  # type: ignore[attr-defined]
        np.testing.assert_array_equal(ahead, r * u)
        np.testing.assert_array_equal(behind, -r * u)


@each_search
def test_what_only_seems_to_bend_down_is_not_reported(search: str) -> None:
    """The Hessian is positive; over r the third derivative makes a forward difference negative."""
    x = np.eye(1, 20)[0] * 1e3

    def gradient(y: np.ndarray) -> np.ndarray:
        d = y - x
        return np.append(d[:-1], 1e-4 * d[-1] + 100 * d[-1] ** 2 + 2e4 * d[-1] ** 3)

    for seed in range(5):
        end = searched(SEARCHES[search], gradient, x, gamma=1e-2, seed=seed)
        assert end.state.phase != FOUND


@pytest.mark.parametrize("search", ["lanczos", "anc"])  # nc would take 100,000 steps
def test_a_dip_is_no_reason_to_withhold_the_claim(search: str) -> None:
    """Where gamma is the search's own, curvature of -gamma/10 is certified, without a jump."""
    spectrum = np.array([-1e-5, 1.0])
    end = searched(SEARCHES[search], lambda y: spectrum * y, np.zeros(2), gamma=0.0)
    e = end.state.escape
    assert end.state.phase == CERTIFIED
    assert e.resolution.curvature_tol > 5e-5


def test_without_dips_only_what_was_sought_is_a_reason_to_jump() -> None:
    quiet = without_dips(adaptive_anc)
    assert {*quiet.phases} == {*adaptive_anc.phases}
    assert {c for c in quiet.phases if quiet.phases[c] != adaptive_anc.phases[c]} == {PhaseName.DIP}


@each_search
def test_no_phase_of_a_jump_is_left(search: str) -> None:
    phases = SEARCHES[search].phases
    assert PhaseName.JUMP not in phases
    assert not any(phase.needs & ~PROBE not in (0, GRADIENT) for phase in phases.values())


def test_the_proof_is_adaptive_anc_without_its_jump() -> None:
    assert proof is SEARCHES["anc"]
    assert {*proof.phases} == {*without_jump(adaptive_anc).phases}


def test_behind_a_sampled_escape_a_proof_draws_once() -> None:
    """And behind one that queries the whole function it draws nothing."""
    p = Parameters(0.0, None, None, proof_sample=23)
    for escape, first, again in ((snc, NEW, SAME), (nc, EXACT, EXACT)):
        phases = then(escape, proof).phases
        lifted = [each for code, each in phases.items() if code >= BEGIN + PROOF and each.needs]
        assert (phases[PROVE].sample, phases[PROVE].size(p)) == (first, 23)
        assert lifted
        assert all((phase.sample, phase.size(p)) == (again, 23) for phase in lifted)
        assert all(phases[code] is escape.phases[code] for code in escape.phases)
