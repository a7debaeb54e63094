"""How far is probed under noise: measured once, the same wherever the origin is, and kept."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.noisy_families import FAMILIES, noisy, oracle_gamma
from tests.untold import each_method
from unsaddle import certify, minimize

N = 16


BENDING = ("wells", "morse", "factorisation", "skewed", "quartic", "clustered")


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("s", [1e-6, 1e-4])
@pytest.mark.parametrize("family", BENDING)
@pytest.mark.slow
def test_a_translation_hardly_changes_the_radius(family: str, s: float, told: bool) -> None:
    """|x| from 0 to 1e3: r, which is found in steps of four, is that of the function's bending.

    Medians of five. A radius that is tied to |x| would be a thousand times as long. What can be
    shown is the same within four.
    """
    smoothness = FAMILIES[family](N, 0.0).smoothness
    land, s = FAMILIES[family](N, 0.2 * smoothness), s * smoothness
    radii, gammas = [], []
    for size in (0.0, 1.0, 30.0, 1e3):
        shift, found = np.full(N, size / np.sqrt(N)), []
        for seed in range(5):
            grad = noisy(lambda x, shift=shift: land.grad(x - shift), s, "random", seed)
            words = {"gradient_noise": s if told else None, "seed": seed}
            found.append(certify(grad, land.x + shift, **words))
        radii.append(np.median([each.probe_radius for each in found]))
        gammas.append(np.median([each.curvature_tol for each in found]))
    assert max(radii) <= 16 * min(radii), radii
    assert max(gammas) <= 4 * min(gammas), gammas


@each_method
@pytest.mark.parametrize("family", ["wells", "quartic", "clustered"])
@pytest.mark.slow
def test_noise_is_measured_once_in_a_run_and_kept(family: str, method: str) -> None:
    """However many searches there are: from a saddle there are at least two."""
    smoothness = FAMILIES[family](N, 0.0).smoothness
    land = FAMILIES[family](N, -0.3 * smoothness)
    searches = 0
    for seed in range(5):
        grad = noisy(land.grad, 1e-5 * smoothness, "random", seed)
        words = {"seed": seed, "tol": 1e-4 * smoothness, "max_gradients": 5000, "method": method}
        result = minimize(land.fun, land.x, jac=grad, **words)
        seen = Counter(result.history.phase)
        assert seen["close_by"] <= 1
        assert result.certificate.gradient_noise == pytest.approx(1e-5 * smoothness, rel=2)
        searches += seen["close_by"]
    assert searches == 5


@pytest.mark.parametrize("family", FAMILIES)
def test_where_there_is_no_noise_none_is_sought(family: str) -> None:
    land = FAMILIES[family](N, 0.1 * FAMILIES[family](N, 0.0).smoothness)
    for seed in range(5):
        result = minimize(land.fun, land.x, jac=land.grad, seed=seed)
        assert not any("noisy" in phase or phase == "close_by" for phase in result.history.phase)
        assert result.certificate.gradient_noise == 0
        assert not result.certificate.central


@pytest.mark.parametrize("s", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("family", ["dense", "logarithmic"])
def test_a_quadratic_is_probed_as_far_as_may_be(family: str, s: float) -> None:
    """Nothing bends: gamma is 4.0 times what an oracle resolves that probes over one."""
    best = oracle_gamma(family, 40, s)
    land, gammas = FAMILIES[family](40, 0.01 * best), []
    for seed in range(5):
        found = certify(noisy(land.grad, s, "random", seed), land.x, best, seed=seed)
        assert found.holds
        assert found.central
        assert 0.25 <= found.probe_radius <= 0.85
        gammas.append(found.curvature_tol)
    assert np.median(gammas) <= 4.2 * best


@pytest.mark.parametrize("period", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("s", [1e-3, 1e-1, 1.0])
def test_no_radius_is_a_period(period: float, s: float) -> None:
    """At the tops of -cos(2 pi x/period), whose slope is zero half a period away, too."""
    k = 2 * np.pi / period

    def grad(x: np.ndarray) -> np.ndarray:
        return k * np.sin(k * x)

    top = np.array([period / 2, 0.0, 0.0])
    for seed in range(5):
        found = certify(noisy(grad, s, "random", seed), top, 0.1 * k**2, seed=seed)
        assert found.holds is not True or found.curvature_tol > k**2


@pytest.mark.parametrize("s", [1e-8, 1e-3])
def test_a_radius_that_is_given_is_kept(s: float) -> None:
    land = FAMILIES["dense"](N, 0.5)
    for seed in range(5):
        grad = noisy(land.grad, s, "random", seed)
        words = {"gradient_noise": s, "probe_radius": 0.03, "seed": seed}
        assert certify(grad, land.x, 1e-6, **words).probe_radius == 0.03
