import math

import numpy as np
import pytest

from benchmarks.noisy_families import (
    FAMILIES,
    Bending,
    bending,
    difference_table_noise,
    noisy,
    oracle,
    oracle_gamma,
)

N = 24


@pytest.mark.parametrize("lowest", [-0.3, -1e-3, 1e-3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_point_is_stationary_and_its_spectrum_is_what_it_says(family, lowest):
    land = FAMILIES[family](N, lowest)
    spectrum = np.linalg.eigvalsh(land.hessian(land.x))
    assert land.x.size == N
    assert np.linalg.norm(land.grad(land.x)) < 1e-12
    assert land.lowest == lowest
    assert spectrum[0] == pytest.approx(lowest, abs=1e-7)
    assert np.abs(spectrum).max() == pytest.approx(land.smoothness, rel=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_gradient_is_that_of_the_function(family):
    land = FAMILIES[family](N, -0.1)
    for here, along in np.random.default_rng(0).standard_normal((5, 2, N)) / math.sqrt(N):
        x, h = land.x + 0.3 * here, 1e-4
        slope = (land.fun(x + h * along) - land.fun(x - h * along)) / (2 * h)
        assert slope == pytest.approx(land.grad(x) @ along, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_falls_without_end(family):
    land = FAMILIES[family](N, -0.1)
    far = [land.x + 30 * u for u in np.random.default_rng(1).standard_normal((50, N))]
    lowest = np.linalg.eigh(land.hessian(land.x))[1][:, 0]
    assert all(land.fun(x) > land.fun(land.x) for x in (*far, land.x + 30 * lowest))
    assert min(land.fun(land.x + t * lowest) for t in (-0.03, 0.03)) < land.fun(land.x)


@pytest.mark.parametrize(
    ("family", "known"),
    [
        ("dense", Bending(0.0, 0.0)),
        ("wells", Bending(0.0, 6.0)),
        ("morse", Bending(300.0, 1400.0)),
        ("factorisation", Bending(0.0, 3.0)),
        ("skewed", Bending(10.0, 100.0)),
        ("quartic", Bending(0.0, 1.92)),
        ("far", Bending(1.0, 3.0)),
    ],
)
def test_the_bending_is_the_one_known(family, known):
    assert bending(family, N) == pytest.approx(known, rel=1e-3)


def test_the_oracle_is_the_formula_where_one_bending_matters():
    s = 1e-9
    forward, central = oracle("morse", N, s)
    assert forward == pytest.approx(4 * 2 * math.sqrt(300 * s), rel=0.05)
    r = (3 * s / 1400) ** (1 / 3)
    assert central == pytest.approx(4 * (1400 * r**2 / 6 + s / r), rel=0.05)
    assert oracle_gamma("morse", N, s) == central


@pytest.mark.parametrize("kind", ["hash", "random"])
def test_noise_has_the_norm_asked_for_and_the_kind(kind):
    grad = noisy(np.zeros_like, 1e-3, kind, seed=3)
    x = np.linspace(0.0, 1.0, 400)
    first, again, elsewhere = grad(x), grad(x), grad(x + 1e-9)
    assert np.linalg.norm(first) == pytest.approx(1e-3, rel=0.2)
    assert np.array_equal(first, again) == (kind == "hash")
    assert abs(first @ elsewhere) < 0.3 * 1e-6


@pytest.mark.parametrize("s", [1e-10, 1e-6, 1e-3])
def test_a_difference_table_measures_the_noise(s):
    land = FAMILIES["rosenbrock"](N, 0.1)
    grad = noisy(land.grad, s, "hash", seed=0)
    along = np.full(N, 1 / math.sqrt(N))
    samples = np.array([grad(land.x + 1e-3 * k * along) for k in range(9)])
    assert 0.5 * s < difference_table_noise(samples) < 2 * s


def test_a_difference_table_without_noise_is_undecided_or_below_rounding():
    t = np.arange(9)[:, None]
    assert math.isnan(difference_table_noise(np.exp(0.3 * t) * np.ones(3)))
