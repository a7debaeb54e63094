"""Noise that the first probes do not show is recognised before anything is claimed."""

import numpy as np
import pytest

import unsaddle
from benchmarks.noisy_families import noisy
from unsaddle import Outcome


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hash", "random"])
@pytest.mark.parametrize("size", [1e-7, 1e-5])
def test_one_variable_has_no_other_to_show_the_noise(size, kind):
    """A Morse bond: Lanczos ends after one step, and only its recheck meets the noise.

    One number may be small by luck, and then noise is taken for bending: measured in 6, 15, 23 and
    28 of 240 runs. Three of four are to be certified, of 96: a run that fails as often as measured
    exceeds that with probability below 1e-4, one that fails in two of five passes with .0015.
    """

    def clean(x):
        return 100 * np.exp(-x) * (1 - np.exp(-x))

    outcomes = [
        unsaddle.minimize(
            lambda x: 50 * float((1 - np.exp(-x[0])) ** 2),
            np.array([0.1 + 0.01 * (seed % 12)]),
            jac=noisy(clean, size, kind, seed),
            tol=1e-3,
            curvature_tol=1.0,
            max_step=1.0,
            seed=seed,
        ).outcome
        for seed in range(96)
    ]
    assert outcomes.count(Outcome.CERTIFIED) >= 72


@pytest.mark.parametrize("seed", [0, 9, 16])
def test_rounding_of_float32_is_no_bending(seed):
    """Stiff Morse bonds and a soft well, rotated: shorter probes would show rounding alone."""
    n = 40
    q = np.linalg.qr(np.random.default_rng(3).standard_normal((n, n)))[0].astype(np.float32)

    def fun(x):
        z = q.T @ x
        return float(25 * np.sum((1 - np.exp(-z[1:])) ** 2) + z[0] ** 4 / 4 - 0.15 * z[0] ** 2)

    def grad(x):
        z = q.T @ x
        e = np.exp(-z[1:])
        return q @ np.append(z[0] ** 3 - np.float32(0.3) * z[0], 50 * (1 - e) * e)

    start = 0.2 * np.random.default_rng(seed).standard_normal(n)
    result = unsaddle.minimize(fun, start.astype(np.float32), jac=grad, seed=seed, tol=1e-3)
    assert result.outcome is Outcome.CERTIFIED
