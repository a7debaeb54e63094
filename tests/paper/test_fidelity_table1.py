"""The stochastic rows of Table 1 against their transcriptions: same samples, noise and queries."""

import numpy as np
import pytest

from tests.paper.algorithm8 import Believe
from tests.paper.ask import run
from tests.paper.neon2_online import neon2_online as literal_search
from tests.paper.neon2_online import neon2_weak, sgd_neon2
from tests.paper.spider_sfo_plus import spider_sfo_plus
from tests.paper.test_fidelity_sampled import pairs, pairs_of, samples
from tests.sampled import noisy, thetas, trace
from unsaddle import landscapes
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import BEGIN, UNCERTIFIED, PhaseName
from unsaddle.descents.sgd import sgd
from unsaddle.descents.spider import spider
from unsaddle.escapes.every_epoch import every_epoch
from unsaddle.escapes.neon2_online import neon2_online
from unsaddle.escapes.sample_test import QUADRATURE, TEST_CENTRE
from unsaddle.numpy.ops import ops

FUNCTIONS = [landscapes.quartic(), landscapes.cubic(), landscapes.triangle()]
each_function = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.name)
TOL, RADIUS, WINDOW, REACH, BATCH, CHECKS = 0.05, 1e-3, 60, 8.0, 3, 4
SIZES = {"M": 30, "m": BATCH, "K": 50, "S1": 40, "S2": 10}
EPOCH, PERIOD = 15, 4


def settings(f, **own):
    gamma = np.sqrt(f.hessian_lipschitz * TOL)
    return neon2_online.settings(
        **{
            "search_step": 1 / f.smoothness,
            "radius": RADIUS,
            "window": WINDOW,
            "reach": REACH,
            "search_batch": BATCH,
            "probes": 2,
            "checks": CHECKS,
            "check_batch": SIZES["K"],
            "quantile": 1.6,
            "enough": 0.25,
            "length": gamma / (4 * f.hessian_lipschitz),
            "stretch": 0.0,
            "decrease": gamma**3 / f.hessian_lipschitz**2 / 384,
            "curvature_tol": gamma,
            "failure_probability": 1e-3,
            "smoothness": f.smoothness,
            "hessian_lipschitz": f.hessian_lipschitz,
            **own,
        }
    )


def starts(n, seed):
    """The xi of one search after another, as the kernel numbers them."""
    episode = 0
    while True:
        episode += 1
        xi = ops.normal(np.zeros(n), seed, episode)
        yield xi / np.linalg.norm(xi)


def believing(f, own, error):
    """How the transcription is to try directions and jumps."""
    bar = -own.enough * own.curvature_tol
    rule = QUADRATURE * f.hessian_lipschitz
    jump = own.length, own.decrease, rule, own.probes
    return Believe(CHECKS, own.quantile, RADIUS, error, bar, *jump)


def literal_parts(f, own, error, seed):
    """The samples and the search of a transcription."""
    numbers, xis, believe = [0], starts(2, seed), believing(f, own, error)

    def drawn(which):
        return samples(2, SIZES[which], numbers)

    def search(x, slope=False):
        given = own.search_step, WINDOW, REACH, xis, drawn, believe, RADIUS
        return literal_search(x, *given, searches=1 if slope else None)

    return drawn, search


def compare(solver, p, x, mean, seed, literal, limit=1500):
    """Whole runs, up to a limit: the same samples at the same points, and the same end."""
    queries, states = trace(solver, p, solver.start(ops, p, x.copy(), seed), mean, limit=limit)
    asks, result = run(literal(states[-1].escape.resolution.error), None, mean, limit=len(queries))
    assert len(asks) == len(queries)
    mine, paper = (sorted(map(list, points)) for points in (pairs(queries), pairs_of(asks)))
    np.testing.assert_allclose(mine, paper, rtol=0, atol=1e-11)
    if result is not None:
        np.testing.assert_allclose(states[-1].x, result, rtol=0, atol=1e-11)
    assert (result is not None) == (states[-1].phase == UNCERTIFIED)
    return states


NOISE = {"quiet": (0.02, 0.0), "noisy": (0.02, 0.05)}  # of the gradient, and of its slope
each_noise = pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE.keys())


@each_function
@each_noise
def test_neon2_online(f, noise):
    """SGD, weak searches, tests, jumps and the end."""
    own, mean, seed = settings(f), noisy(f.gradient, *noise), 3
    p = Parameters(0.75 * TOL, sgd.settings(1 / f.smoothness, SIZES["M"]), own)

    def literal(error):
        drawn, search = literal_parts(f, own, error, seed)
        return sgd_neon2(f.saddles[0] + 1e-3, 1 / f.smoothness, 0.75 * TOL, drawn, search)

    states = compare(compose(sgd, neon2_online), p, f.saddles[0] + 1e-3, mean, seed, literal)
    assert states[-1].phase == UNCERTIFIED
    if f.name == "quartic":
        assert any(state.phase == PhaseName.LANDED for state in states)


@each_function
@each_noise
@pytest.mark.slow
def test_spider_plus(f, noise):
    """Estimates drawn anew and corrected, searches after every epoch and at the end, and jumps."""
    own, mean, seed = settings(f), noisy(f.gradient, *noise), 4
    step, stop = TOL / f.smoothness, 0.75 * TOL
    descent = spider.settings(step, SIZES["S1"], SIZES["S2"], float(PERIOD), float(EPOCH))
    p = Parameters(stop, descent, own)

    def literal(error):
        drawn, search = literal_parts(f, own, error, seed)
        return spider_sfo_plus(f.saddles[0] + 1e-3, step, PERIOD, EPOCH, stop, drawn, search)

    solver = compose(spider, every_epoch(neon2_online))
    states = compare(solver, p, f.saddles[0] + 1e-3, mean, seed, literal, 2500)
    if f.name == "quartic":  # which is left, and whose minimum is reached
        assert states[-1].phase == UNCERTIFIED
        assert any(state.phase == PhaseName.LANDED for state in states)
        assert sum(state.phase == BEGIN and state.stalled for state in states) > 3


@pytest.mark.parametrize("lowest", [-1.0, -0.6, 0.0])
def test_the_weak_search_without_renormalisation(lowest):
    """Where products are linear, in each sample: the same end, after as many steps."""
    n, length = 6, 1e-7
    curvatures = np.append(lowest, np.linspace(0.0, 1.0, n - 1))

    def mean(x, theta):
        return (curvatures + 0.3 * np.tanh(theta).mean(0)) * x + theta.mean(0)

    f = landscapes.quartic()
    own = settings(f, search_step=0.2, radius=1.0, hessian_lipschitz=1e-9, curvature_tol=0.5)
    solver = compose(sgd, neon2_online)
    p = Parameters(0.0, sgd.settings(1.0, 1), own)
    begun = solver.start(ops, p, np.zeros(n), 1)._replace(phase=BEGIN)
    over = (TEST_CENTRE, PhaseName.SEARCH_ANEW, PhaseName.PROVE)
    first = lambda s: s.phase in over or s.escape.probes > 1  # noqa: E731
    queries, states = trace(solver, p, begun, mean, until=first)
    drawn = (thetas(n, BATCH, BATCH * k) for k in range(10**6))
    xi = length * next(starts(n, 1))
    asks, v = run(neon2_weak(np.zeros(n), 0.2, WINDOW, REACH, xi, drawn), None, mean)
    assert len(asks) == len(queries)
    assert (v is None) == (lowest == 0.0) == (len(asks) == 2 * WINDOW)
    if v is not None:
        np.testing.assert_allclose(states[-1].escape.direction, v, rtol=0, atol=1e-6)
