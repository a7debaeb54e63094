"""How far is probed under noise: measured once, the same wherever the origin is, and kept."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.noisy_families import FAMILIES, noisy
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
