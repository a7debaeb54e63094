"""NEON and NEON+: what they return is sound, and on quadratics they are what their formulas say."""

from itertools import pairwise

import numpy as np
import pytest

from tests.drive import at_search, run_while
from unsaddle import METHODS, Outcome, landscapes, minimize
from unsaddle.core.phases import PROVE
from unsaddle.escapes.jump import JUMP_BEGIN
from unsaddle.escapes.neon_plus import CONVEXITY_CHECK, CONVEXITY_TEST, NEON_STEP, SEARCH
from unsaddle.numpy.ops import ops

WITHIN = (SEARCH, CONVEXITY_TEST, CONVEXITY_CHECK, NEON_STEP)
EITHER = pytest.mark.parametrize("method", ["neon", "neon+"])


class Quadratic:
    """x^T diag(spectrum) x/2."""

    def __init__(self, *spectrum):
        self.spectrum = np.array(spectrum)

    def value(self, x):
        return self.spectrum @ x**2 / 2

    def gradient(self, x):
        return self.spectrum * x


def searched(method, f, n, seed=0, **changes):
    """Run one search at the origin; give the points it queried and the state after it."""
    line = METHODS[method]
    p = line.from_theory(smoothness=1.0, hessian_lipschitz=1.0, tol=0.01, n=n)
    p = p._replace(escape=p.escape._replace(**changes))
    state = at_search(line.solver, p, line.solver.start(ops, p, np.zeros(n), seed), np.zeros(n))
    points, state = run_while(line.solver, p, state, f, WITHIN)
    return np.array(points[SEARCH]), state, p


def test_neon_on_a_quadratic_is_the_power_method():
    f = Quadratic(-0.1, 0.0, 0.3, 1.0)
    points, _, p = searched("neon", f, 4, window=40)
    factor = 1 - p.escape.search_step * f.spectrum
    for k, u in enumerate(points):
        np.testing.assert_allclose(u, factor**k * points[0], rtol=1e-12, atol=0)
    assert np.linalg.norm(points[0]) == pytest.approx(p.escape.radius, rel=1e-12)


def test_neon_plus_on_a_quadratic_is_nesterovs_recursion():
    f = Quadratic(-0.1, 0.0, 0.3, 1.0)
    points, _, p = searched("neon+", f, 4, window=40, curvature_tol=1e50)
    eta, zeta = p.escape.search_step, p.escape.search_momentum
    y, u = points[0], points[0]
    for seen in points:
        np.testing.assert_allclose(seen, u, rtol=1e-10, atol=1e-25)
        ahead = u - eta * f.gradient(u)
        y, u = ahead, ahead + zeta * (ahead - y)


@pytest.mark.slow
@EITHER
def test_a_direction_is_sound_whenever_there_is_one(method):
    """Random spectra, half of them with curvature below -gamma: 60 searches, no false direction."""
    rng = np.random.default_rng(0)
    found = 0
    for seed in range(60):
        spectrum = rng.uniform(-0.02, 1.0, 8)
        spectrum[0] = -0.2 if seed % 2 else spectrum[0]
        _, state, p = searched(method, Quadratic(*spectrum), 8, seed)
        if state.phase == JUMP_BEGIN:
            e = state.escape.direction
            assert e @ (spectrum * e) < 0
            found += 1
        else:
            assert state.phase == PROVE
        if spectrum.min() <= -p.escape.curvature_tol:
            assert state.phase == JUMP_BEGIN
    assert found >= 30


@EITHER
def test_no_direction_on_a_convex_function(method):
    _, state, _ = searched(method, Quadratic(0.0, 0.2, 1.0), 3)
    assert state.phase == PROVE


def test_the_falls_of_neon_are_monotone():
    f = Quadratic(-0.1, 0.2, 1.0)
    points, _, _ = searched("neon", f, 3, window=100)
    falls = [f.value(u) for u in points]
    assert all(a >= b for a, b in pairwise(falls))


@EITHER
def test_what_their_own_test_says_is_not_believed_without_a_certificate(method):
    """A window that is too short ends their search with nothing; the proof finds the curvature."""
    f = landscapes.quartic()
    result = minimize(
        f.value, np.zeros(2), jac=f.gradient, method=method, tol=1e-2, window=2,
        smoothness=f.smoothness, hessian_lipschitz=f.hessian_lipschitz,
    )  # fmt: skip
    assert result.outcome is Outcome.NEGATIVE_CURVATURE
    assert not result.success


def test_they_are_labelled_as_reconstructions():
    for method in ("neon", "neon+"):
        assert "our reconstruction" in METHODS[method].source
