"""What holds with a probability: searches, noise and trials; Figure 2 is in tests/paper.

Each test says what it could have missed: `sigmas` is how many standard errors away it looks.
"""

from math import inf, sqrt

import numpy as np
import pytest

from benchmarks import stochastic
from tests.batched import ops, run
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import BEGIN
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.escapes.never import never
from unsaddle.escapes.sample_test import TEST_CENTRE
from unsaddle.escapes.snc import snc
from unsaddle.methods import stochastic_theory as practical
from unsaddle.methods import theory

SEARCH, WALK = compose(sgd, snc), compose(psgd, never)


def settings(**own):
    return snc.settings(
        **{
            "search_step": 1.0,
            "radius": 0.01,
            "window": 30,
            "search_batch": 1,
            "start": 0.0,
            "noise": 0.01,
            "soon": inf,
            "probes": 1,
            "checks": 4,
            "check_batch": 1,
            "quantile": 2.0,
            "enough": 0.25,
            "length": 0.1,
            "stretch": 0.0,
            "decrease": 0.0,
            "curvature_tol": 0.1,
            "failure_probability": 0.1,
            "smoothness": 1.0,
            "hessian_lipschitz": 1.0,
            **own,
        }
    )


def directions(mean, trials, n, own, seed=0):
    """The unit vectors that so many searches at 0 end in."""
    p = Parameters(0.0, sgd.settings(1.0, 1), own)
    state = SEARCH.start(ops, p, np.zeros((trials, n)), seed)._replace(phase=BEGIN)
    steps = 10 * own.window
    return run(SEARCH, p, state, mean, steps, phase=TEST_CENTRE).escape.direction


def near(share, expected, trials, sigmas=4.0):
    return abs(share - expected) <= sigmas * sqrt(expected * (1 - expected) / trials)


# ------------------------------------------------------------------- searches on quadratics


def spectra(trials, n, gamma, rng):
    """Random symmetric matrices with lambda_min = -gamma and the rest anywhere in [-gamma, 1]."""
    values = rng.uniform(-gamma, 1, (trials, n))
    values[:, 0] = -gamma
    basis = np.linalg.qr(rng.standard_normal((trials, n, n)))[0]
    return np.einsum("mij,mj,mkj->mik", basis, values, basis)


def quotients(e, hessians):
    return np.einsum("mi,mij,mj->m", e, hessians, e)


@pytest.mark.parametrize("sigma", [0.0, 0.1, 10.0])
def test_the_printed_search_on_quadratics_with_gradient_noise(sigma):
    """RQ <= -gamma/4 with frequency at least 1 - 3 delta; the printed T_s, r_s, and m = 1.

    With 300 trials and delta = .1 a true frequency of .6 would be seen with certainty (3.5 sigmas).
    Additive noise cancels, so that the printed m (here 3.5 10^6) is not needed: see the next test.
    """
    n, gamma, delta, trials = 10, 0.2, 0.1, 300
    rng = np.random.default_rng(5)
    hessians = spectra(trials, n, gamma, rng)
    found = theory.snc_finding(
        smoothness=1.0, stochastic_smoothness=1.0, hessian_lipschitz=1.0, tol=gamma**2,
        failure_probability=delta, n=n,
    )  # fmt: skip
    radius = 1e-6  # printed: 1.2e-9, which rounding drowns where sigma = 10
    own = settings(window=found.window, radius=radius, noise=radius, hessian_lipschitz=1e-4)

    def mean(x, first, size):
        noise = np.random.default_rng(first).standard_normal(x.shape) / sqrt(n)
        return np.einsum("mij,mj->mi", hessians, x) + sigma * noise

    e = directions(mean, trials, n, own)
    assert np.mean(quotients(e, hessians) <= -gamma / 4) >= 1 - 3 * delta


@pytest.mark.parametrize("bend", [0.5, 1.0])
@pytest.mark.slow
def test_the_practical_search_on_finite_sums(bend):
    """RQ <= -gamma/4 with frequency at least 3/4, as one search of the preset is meant to have.

    The Hessians of 50 functions differ from their mean by `bend` in norm; m of them are drawn with
    replacement. 200 trials: a true frequency of .6 would be seen (4 sigmas).
    """
    n, gamma, trials, rows = 20, 0.1, 200, 50
    rng = np.random.default_rng(6)
    hessians = spectra(trials, n, gamma, rng)
    apart = rng.standard_normal((rows, n, n))
    apart = apart + apart.transpose(0, 2, 1)
    apart -= apart.mean(0)
    apart *= bend / np.abs(np.linalg.eigvalsh(apart)).max()
    found = practical.snc_finding(
        smoothness=1.0, stochastic_smoothness=1.0 + bend, hessian_lipschitz=1.0,
        curvature_tol=gamma, failure_probability=1e-3, n=n,
    )  # fmt: skip
    own = settings(
        window=found.window,
        radius=found.radius,
        search_batch=found.batch,
        start=1.0,
        noise=found.noise,
    )

    def mean(x, first, size):
        drawn = np.random.default_rng(first).integers(rows, size=(trials, size))
        counts = np.stack([np.bincount(row, minlength=rows) for row in drawn]) / size
        own = hessians + np.einsum("mr,rij->mij", counts, apart)
        return np.einsum("mij,mj->mi", own, x)

    e = directions(mean, trials, n, own)
    share = np.mean(quotients(e, hessians) <= -gamma / 4)
    assert share >= 1 - practical.TUNING.luck


def test_the_same_sample_at_both_points_cancels_all_noise_of_a_common_hessian():
    """The search does not see sigma at all: the directions agree to rounding."""
    n, trials = 6, 3
    hessians = spectra(trials, n, 0.3, np.random.default_rng(2))
    found = []
    for sigma in (0.0, 1.0):

        def mean(x, first, size, sigma=sigma):
            noise = np.random.default_rng(first).standard_normal(x.shape)
            return np.einsum("mij,mj->mi", hessians, x) + sigma * noise

        found.append(directions(mean, trials, n, settings(radius=1.0, noise=0.1)))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)


def test_injected_noise_fades_as_the_scale_grows():
    """xi/L_t: on -gamma I, L_t grows by 1 + gamma a step and the noise is that much smaller."""
    gamma, steps = 0.5, 30
    p = Parameters(0.0, sgd.settings(1.0, 1), settings(start=1.0, window=steps, noise=1e-9))
    state = SEARCH.start(ops, p, np.zeros((4, 3)), 0)._replace(phase=BEGIN)
    state = run(SEARCH, p, state, lambda x, *_: -gamma * x, 10 * steps, phase=TEST_CENTRE)
    np.testing.assert_allclose(state.escape.scale, (1 + gamma) ** steps, rtol=1e-5)


def test_the_mean_direction_is_that_of_the_exact_search():
    """Noise in the Hessian turns e, but to no side: the mean over 2000 runs is that without noise.

    Four standard errors of the mean: a bias of 9% of the spread of the angle would be seen.
    """
    n, trials, bend = 2, 2000, 0.3
    h = np.diag([-0.3, 0.8])
    own = settings(start=1.0, noise=0.0, window=12, search_batch=4)

    def mean(x, first, size):
        off = np.random.default_rng(first).standard_normal((trials, size)).mean(1)
        return x @ h + bend * off[:, None] * x[:, ::-1]

    exact = directions(lambda x, *_: x @ h, trials, n, own)
    noisy = directions(mean, trials, n, own)
    turn = np.arcsin(exact[:, 0] * noisy[:, 1] - exact[:, 1] * noisy[:, 0])
    assert abs(turn.mean()) <= 4 * turn.std() / sqrt(trials)


@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.slow
def test_half_of_psgd_where_noise_is_additive_and_known_to_be(n):
    """Zhang & Li's claim, in samples until a saddle is left: medians of 3, ratio .09 to .16."""
    quiet = stochastic.MODELS[0]
    ours, theirs = (
        np.median([stochastic.samples(quiet, method, n, k, 5000, **given) for k in range(3)])
        for method, given in (("sgd+nc", {"search_batch": 1, "check_batch": 1}), ("psgd", {}))
    )
    assert ours <= theirs / 2 < inf


# ----------------------------------------------------------------------------------- psgd


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_the_noise_of_psgd_has_length_radius(n):
    """Mean square radius^2 at every n; at n = 1000 each is within 12% (five sigmas) of it."""
    trials, radius = 400, 0.3
    p = Parameters(0.0, psgd.settings(0.1, radius, 1), never.settings())
    state = WALK.start(ops, p, np.zeros((trials, n)), 0)
    x = run(WALK, p, state, lambda x, *_: 0 * x, 1).x
    lengths = ops.norm(x) / radius
    assert abs(np.mean(lengths**2) - 1) <= 4 * sqrt(2 / (n * trials))
    if n == 1000:
        assert np.abs(lengths - 1).max() < 0.12


@pytest.mark.parametrize("lam", [0.2, 1.0, 5.0])
def test_the_stationary_variance_of_psgd_on_a_bowl(lam):
    """AR(1): eta r^2/n / (lam (2 - eta lam)) a coordinate, from noise alone.

    2000 runs x 4 coordinates: four standard errors of the variance are 6%.
    """
    n, trials, step, r = 4, 2000, 0.1, 0.5
    p = Parameters(0.0, psgd.settings(step, step * r, 1), never.settings())
    state = WALK.start(ops, p, np.zeros((trials, n)), 1)
    x = run(WALK, p, state, lambda x, *_: lam * x, int(8 / (step * lam))).x
    expected = step * r**2 / n / (lam * (2 - step * lam))
    assert abs(x.var() / expected - 1) <= 4 * sqrt(2 / (n * trials))


def test_the_growth_of_psgd_at_a_saddle():
    """Log growth along u_1 of log(1 + eta gamma) a step."""
    step, gamma = 0.1, 0.4
    p = Parameters(0.0, psgd.settings(step, 1e-9, 1), never.settings())
    state = WALK.start(ops, p, np.full((2, 3), 1.0), 1)
    x = run(WALK, p, state, lambda x, *_: -gamma * x, 100).x
    np.testing.assert_allclose(np.log(x) / 100, np.log1p(step * gamma), rtol=1e-6)


# --------------------------------------------------------------------------------- trials


def test_a_trial_seldom_believes_in_curvature_that_is_not_there():
    """A direction of curvature exactly at the bar is believed with frequency delta at most.

    20000 trials of delta = .05: four standard errors are .6 points. The quotients are normal.
    """
    trials, delta, checks, bar = 20000, 0.05, 8, 0.25
    own = settings(
        checks=checks,
        quantile=practical.quantile(checks, delta),
        enough=bar,
        curvature_tol=1.0,
        hessian_lipschitz=1e-6,
    )
    p = Parameters(0.0, sgd.settings(1.0, 1), own)
    state = SEARCH.start(ops, p, np.zeros((trials, 1)), 0)._replace(phase=BEGIN)
    begun = SEARCH.phases[BEGIN].update(ops, p, state, 0.0, np.zeros((trials, 1)))
    search = begun.escape._replace(direction=np.ones((trials, 1)))

    def mean(x, first, size):
        return (-bar + np.random.default_rng(first).standard_normal((trials, 1))) * x

    state = begun._replace(escape=search, phase=TEST_CENTRE)
    for _ in range(checks):
        state = run(SEARCH, p, state, mean, 2)
    believed = np.mean(state.phase > TEST_CENTRE)
    assert near(believed, delta, trials)
