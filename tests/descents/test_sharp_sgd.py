"""SGD in balls: beside its transcription, and how often it stays or leaves when it should not."""

from math import log, sqrt

import numpy as np
import pytest

from tests.batched import ops as together
from tests.batched import run as run_together
from tests.noisy import DATA, N, solve
from tests.paper.ask import run
from tests.paper.sharp_sgd import sharp_sgd as literal
from tests.sampled import noisy, thetas, trace
from unsaddle import FiniteSum, Outcome, landscapes
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import UNCERTIFIED
from unsaddle.descents.sharp_sgd import TUNING, sharp_sgd
from unsaddle.escapes.at_once import at_once
from unsaddle.methods import table1_stochastic_theory as theory
from unsaddle.numpy.ops import ops

SOLVER = compose(sharp_sgd, at_once)
KNOWN = {"hessian_lipschitz": 1.0, "curvature_tol": 0.2, "variance": 0.3, "n": 8}


@pytest.mark.parametrize("f", [landscapes.quartic(), landscapes.cubic()], ids=lambda f: f.name)
def test_as_transcribed(f):
    """From a saddle through many balls to the mean of the last one, query by query."""
    mean, x = noisy(f.gradient, 0.3, 0.2), f.saddles[0] + 1e-3
    own = sharp_sgd.settings(step=0.5 / f.smoothness, batch=20, noise=0.2, ball=0.3, window=60.0)
    p = Parameters(0.05, own, at_once.settings())
    queries, states = trace(SOLVER, p, SOLVER.start(ops, p, x.copy(), 3), mean, limit=3000)
    drawn = (thetas(2, 20, 20 * k) for k in range(10**6))
    noise = (0.2 / sqrt(2) * ops.normal(x, 3, TUNING.first + t) for t in range(1, 10**6))
    asks, result = run(literal(x, own.step, 0.3, 60, drawn, noise), None, mean, 3000)
    assert len(asks) == len(queries) > 70
    points = [point for point, _, _ in queries]
    np.testing.assert_allclose(points, [ask.point for ask in asks], rtol=0, atol=1e-11)
    np.testing.assert_allclose(states[-1].x, result, rtol=0, atol=1e-11)
    assert states[-1].phase == UNCERTIFIED
    assert np.linalg.norm(result - x) > 0.6


def test_as_printed():
    """By hand, the fixed point of the three formulas; C_1 from B."""
    n, risk, d = 10, 1e-3, 0.05
    found = theory.sharp_sgd(
        hessian_lipschitz=1.5, curvature_tol=d, variance=3.0, failure_probability=risk, n=n
    )
    c = d / (1.5 * found.ball)
    assert c == pytest.approx(2 * 23 * log(24 * sqrt(n) / found.step))
    assert found.window == pytest.approx(c / (16 * found.step * d))
    assert found.step == pytest.approx(
        found.ball**2 * d / (512 * 3 * c * log(48 * found.window / risk))
    )
    assert found.step < 1e-18
    assert found.window > 1e20


def test_what_is_derived_in_its_place():
    """By hand: the ball, the noise and the time, for p = .01."""
    risk = 0.01
    found = theory.sharp_sgd_practical(smoothness=2.0, tol=0.04, failure_probability=risk, **KNOWN)
    assert (found.step, found.ball) == (0.25, 0.05)
    allowed = found.ball**2 / (8 * log(2 / risk) * found.step**2 * found.window)
    assert found.noise**2 == pytest.approx(allowed / 2)
    assert found.batch == np.ceil(2 * KNOWN["variance"] / allowed)
    a = found.step * 0.2 / 2
    spread = found.step * found.noise / sqrt(8)
    for window, enough in ((found.window, True), (found.window - 2, False)):
        grown = spread * sqrt(((1 + a) ** (2 * window) - 1) / (2 * a + a * a))
        assert (grown >= found.ball * sqrt(2 / np.pi) / risk) == enough
    fine = theory.sharp_sgd_practical(smoothness=2.0, tol=1e-4, failure_probability=risk, **KNOWN)
    length = 1.5 * fine.ball / (fine.step * fine.window) + fine.ball**2 / 2
    assert length <= 1e-4


def leaves(curvatures, trials, risk):
    """The share of runs from 0 that leave their first ball within K_0 steps."""
    n = len(curvatures)
    given = {**KNOWN, "n": n, "failure_probability": risk}
    found = theory.sharp_sgd_practical(smoothness=1.0, tol=0.04, **given)
    p = Parameters(0.0, sharp_sgd.settings(*found), at_once.settings())
    state = SOLVER.start(together, p, np.zeros((trials, n)), 0)
    spread = sqrt(KNOWN["variance"] / (n * found.batch))

    def mean(x, first, size):
        noise = np.random.default_rng(first).standard_normal(x.shape)
        return curvatures * x + spread * noise

    left = np.zeros(trials, bool)
    for _ in range(int(found.window)):
        state = run_together(SOLVER, p, state, mean, 1)
        left |= np.asarray(state.descent.centre).any(-1)
    return left.mean()


def test_a_saddle_is_left_and_a_minimum_is_not():
    """At -d/2 everywhere, the worst that a ball may have, it stays with probability p at most.

    And at a minimum, or where all is flat, it leaves with as much at most. 400 runs and p = .1: a
    rate of .16 would be seen (4 sigmas).
    """
    n, risk, trials = 8, 0.1, 400
    most = risk + 4 * sqrt(risk * (1 - risk) / trials)
    d = KNOWN["curvature_tol"]
    bent = np.append(-d / 2, np.linspace(0.0, 1.0, n - 1))
    assert 1 - leaves(bent, trials, risk) <= most
    for convex in (np.linspace(0.0, 1.0, n), np.zeros(n)):
        assert leaves(convex, trials, risk) <= most


@pytest.mark.slow
def test_false_certificates_are_rare():
    """At a saddle of curvature -1.05 gamma that it does not leave, at most delta of the runs.

    100 runs over the data and delta = .1: a true rate of .3 would be seen (3 sigmas); 300 others
    gave .05, and .017 over samples, where half of delta and gamma is kept back.
    """
    gamma, risk, trials = 0.4, 0.1, 100
    bent = np.append(-1.05 * gamma, np.full(N - 1, 1.0))
    own = {"ball": 1e9, "window": 5.0, "noise": 1e-6, "batch": 100, "curvature_tol": gamma}
    form = FiniteSum(lambda x, batch: bent * x + batch.mean(0), DATA), None
    false = 0
    for seed in range(trials):
        given = {**own, "failure_probability": risk, "seed": seed}
        result = solve(form, method="sharp-sgd", **given)
        assert result.outcome in (Outcome.NEGATIVE_CURVATURE, Outcome.CERTIFIED)
        false += result.success
    assert false <= trials * risk + 3 * sqrt(trials * risk * (1 - risk))
