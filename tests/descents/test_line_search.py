"""The descent of ``auto``: walls, falls that steepen, noise in the value, no crash on the way."""

import numpy as np
import pytest

import unsaddle
from unsaddle.core.outcome import Outcome
from unsaddle.descents.line_search import End, along, cubic, narrow, tried
from unsaddle.landscapes import matrix_factorisation
from unsaddle.numpy.ops import ops


def test_an_infinite_trial_is_never_taken() -> None:
    """The first step, of length one, leaves the domain |x_i| < 1."""
    pull = np.linspace(1.0, 3.0, 5)

    def value(x: np.ndarray) -> float:
        return float(-np.log(1 - x * x).sum() + pull @ x) if (abs(x) < 1).all() else np.inf

    def gradient(x: np.ndarray) -> np.ndarray:
        return 2 * x / (1 - x * x) + pull if (abs(x) < 1).all() else np.full_like(x, np.nan)

    result = unsaddle.minimize(value, np.full(5, -0.6), jac=gradient)
    assert result.success
    assert np.linalg.norm(result.jac) <= 1e-5


def test_a_fall_that_steepens_is_not_taken_for_endless() -> None:
    f = matrix_factorisation(rows=20, rank=3)
    for seed in range(10):
        kick = np.random.default_rng(seed).standard_normal(f.n)
        start = f.saddles[1] + 1e-2 * kick / np.linalg.norm(kick)
        result = unsaddle.minimize(f.value, start, jac=f.gradient)
        assert result.outcome is Outcome.CERTIFIED


@pytest.mark.parametrize("noise", [1e-15, 1e-13, 1e-12])
def test_noise_in_the_value_does_not_stop_the_descent(noise: float) -> None:
    """Near the minimum the value, 7, is all noise long before the gradient is within tol."""
    stiff = np.logspace(-3, 3, 12)

    def value(x: np.ndarray) -> float:
        return float(7 + stiff @ (x * x) / 2 + 7 * noise * np.sin(1e9 * x.sum()))

    result = unsaddle.minimize(value, np.ones(12), jac=lambda x: stiff * x, tol=1e-8)
    assert result.success
    assert np.linalg.norm(result.jac) <= 1e-8


def test_without_noise_the_value_counts_and_within_it_the_slopes() -> None:
    line = along(ops, 1.0, -2.0, 0.5, np.inf, 1e-3)
    assert tried(ops, line, 0.3, -1.0).here.value == 0.3
    assert tried(ops, line, 1.0 + 1e-4, -1.0).here.value == 1.0 + 0.5 * (-2.0 - 1.0) / 2


def test_a_bracket_without_width_gives_a_number() -> None:
    assert np.isnan(cubic(ops, End(1.0, 0.0, -1.0), End(1.0, 0.0, 1.0)))
    line = along(ops, 1.0, -2.0, 0.5, np.inf)
    line = line._replace(low=line.low._replace(t=0.5), high=End(0.5, 1.0, 0.0))
    assert narrow(ops, tried(ops, line, 1.0, -2.0)).t == 0.5


def test_steeper_and_lower_means_four_times_as_far() -> None:
    """phi = 1 - 2t - t^2 - t^3, seen at 0 and 0.5."""
    line = tried(ops, along(ops, 1.0, -2.0, 0.5, np.inf), -0.375, -3.75)
    assert narrow(ops, line).t == 0.5 + 4 * 0.5
