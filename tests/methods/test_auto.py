"""``auto`` from end to end: its promise and its invariances."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import untold
from tests.often import most_at_night
from tests.untold import LOOSE, TIGHT, each_start, few, landscape, leave, near
from unsaddle import Outcome, minimize
from unsaddle.numpy.ops import NumpyOps

solve = partial(untold.solve, "auto")


# The promise


@pytest.mark.slow
@pytest.mark.parametrize(("n", "delta"), most_at_night([(50, 0.3)], product([50, 500], [0.3, 0.1])))
def test_false_certificates_are_no_more_frequent_than_promised(n: int, delta: float) -> None:
    """At a saddle with lambda_min = -gamma (1 + 1e-9), 2000 seeds, quadratic plus quartic.

    There is one search, which spends 6/pi^2 of delta; the rest is for searches to come. A correct
    run exceeds that plus 4 standard errors with probability below 1e-4; one that spends all of
    delta, or whose bar is too low by a quarter, is caught at delta = .3.
    """
    gamma, trials = 0.02, 2000
    spectrum = np.append(-gamma * (1 + 1e-9), np.linspace(0.5, 1, n - 1))

    def value(x: np.ndarray) -> float:
        return float(0.5 * x @ (spectrum * x) + 1e-3 * np.sum(x**4) / 4)

    def gradient(x: np.ndarray) -> np.ndarray:
        return spectrum * x + 1e-3 * x**3

    false = 0
    for seed in range(trials):
        known = {"curvature_tol": gamma, "failure_probability": delta, "seed": seed}
        result = minimize(value, np.zeros(n), jac=gradient, callback=leave, **known)
        assert result.outcome in (Outcome.CERTIFIED, Outcome.STOPPED)
        false += result.success and not result.x.any()
    share = delta * 6 / pi**2
    assert false / trials <= share + 4 * sqrt(share * (1 - share) / trials) <= delta


# Invariance


def alike(one: Any, other: Any, back: Callable[[np.ndarray], np.ndarray]) -> None:
    """Check that two runs are the same but for rounding."""
    assert one.success
    assert other.success
    assert abs(one.njev - other.njev) <= 2
    np.testing.assert_allclose(back(other.x), one.x, rtol=0, atol=1e-6)


@pytest.mark.slow
@few
@given(each_start, near, st.floats(-3, 3), st.floats(-3, 3))
def test_units_of_the_function_do_not_matter(start, near, decades, offset) -> None:
    """f -> a f + b, with the tolerances in the new units."""
    (value, gradient), a = landscape(4, 1), 10.0**decades
    start, asked = (1e-4 * start, LOOSE) if near else (start, TIGHT)
    plain = solve(value, gradient, start, **asked)
    scaled = {name: a * tol for name, tol in asked.items()}
    other = solve(lambda x: a * (value(x) + offset), lambda x: a * gradient(x), start, **scaled)
    alike(plain, other, lambda x: x)


@pytest.mark.slow
@few
@given(each_start, near, st.integers(0, 100), st.floats(-3, 3))
def test_neither_rotation_nor_shift_matters(start, near, seed, shift) -> None:
    """x -> Q x + t, with the noise, which is drawn along the axes, turned as well.

    From near the saddle there is no shift: a jump of which nothing is known begins at max(|x|, 1).
    """
    value, gradient = landscape(4, 1)
    start, asked, shift = (1e-4 * start, LOOSE, 0.0) if near else (start, TIGHT, shift)
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))
    plain = solve(value, gradient, start, **asked)
    drawn = NumpyOps.normal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NumpyOps, "normal", lambda self, like, s, j: q @ drawn(self, like, s, j))
        turned = solve(
            lambda y: value(q.T @ (y - shift)),
            lambda y: q @ gradient(q.T @ (y - shift)),
            q @ start + shift,
            **asked,
        )
    alike(plain, turned, lambda y: q.T @ (y - shift))


@pytest.mark.slow
@few
@given(each_start, st.floats(-2, 2))
def test_units_of_x_matter_by_the_guards_only(start, decades) -> None:
    """x -> c x: the first step has length one and probes scale with max(|x|, 1), no more.

    So another way may be taken down, and another minimum found, but it is one, and the price is
    that of finding the scale: at most a few dozen gradients over two decades.
    """
    (value, gradient), c = landscape(4, 1), 10.0**decades
    plain = solve(value, gradient, start, **TIGHT)
    other = solve(
        lambda y: value(y / c),
        lambda y: gradient(y / c) / c,
        c * start,
        tol=TIGHT["tol"] / c,
        curvature_tol=TIGHT["curvature_tol"] / c**2,
    )
    assert other.success
    assert other.njev <= plain.njev + 30


# Less room than the basis takes


@pytest.mark.parametrize("vectors", [3, 5])
def test_where_the_basis_does_not_fit_the_run_ends_certified_all_the_same(vectors) -> None:
    """It leaves the saddle, by a direction that it finds without a basis."""
    n = 30
    value, gradient = landscape(n, 3)
    for seed in range(3):
        asked = {"seed": seed, "curvature_tol": 0.05, "vectors": vectors}
        result = solve(value, gradient, np.zeros(n), **asked)
        assert result.success
        assert "Lanczos certificate" in result.certificate.note
        assert result.fun < -0.01
        columns = [gradient(result.x + h) - gradient(result.x - h) for h in 1e-5 * np.eye(n)]
        assert np.linalg.eigvalsh(np.array(columns) / 2e-5)[0] > -0.05
