"""The sampled kernels against the literal transcriptions: same samples, noise and queries."""

from math import inf

import numpy as np
import pytest

from tests.often import in_turn
from tests.paper import algorithm1, algorithm3, algorithm7, algorithm8
from tests.paper.ask import run
from tests.sampled import noisy, thetas, trace
from unsaddle import landscapes
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import BEGIN, UNCERTIFIED, PhaseName
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.escapes.never import never
from unsaddle.escapes.sample_test import QUADRATURE, TEST_CENTRE
from unsaddle.escapes.snc import snc
from unsaddle.numpy.ops import ops

FUNCTIONS = [landscapes.quartic(), landscapes.cubic(), landscapes.triangle()]
TOL, RADIUS, WINDOW, BATCH, CHECKS = 0.05, 1e-3, 40, 3, 4
each_function = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.name)
each_start = pytest.mark.parametrize("start", [0.0, 1.0], ids=["at zero", "on the sphere"])


def settings(f, **own):
    return snc.settings(
        **{
            "search_step": 1 / f.smoothness,
            "radius": RADIUS,
            "window": WINDOW,
            "search_batch": BATCH,
            "start": 0.0,
            "noise": RADIUS,
            "soon": inf,
            "probes": 2,
            "checks": CHECKS,
            "check_batch": 50,
            "quantile": 1.6,
            "enough": 0.25,
            "length": np.sqrt(TOL / f.hessian_lipschitz) / 4,
            "stretch": 0.0,
            "decrease": np.sqrt(TOL**3 / f.hessian_lipschitz) / 384,
            "curvature_tol": np.sqrt(f.hessian_lipschitz * TOL),
            "failure_probability": 1e-3,
            "smoothness": f.smoothness,
            "hessian_lipschitz": f.hessian_lipschitz,
            **own,
        }
    )


def draws(n, radius, seed=0):
    """The xi of one search after another, as the kernel numbers them."""
    episode = 0
    while True:
        episode += 1
        for t in range(1, WINDOW + 1):
            xi = ops.normal(np.zeros(n), seed, episode * (WINDOW + 1) + t)
            yield radius / np.sqrt(n) * xi


def samples(n, size, numbers):
    """Fresh samples of one size; `numbers` counts over all sizes."""
    while True:
        numbers[0] += size
        yield thetas(n, size, numbers[0] - size)


def search_only(f, mean, **own):
    """The queries and the last state of one search, up to its test."""
    solver, x = compose(sgd, snc), f.saddles[0].copy()
    p = Parameters(TOL, sgd.settings(1 / f.smoothness, 1), settings(f, **own))
    begun = solver.start(ops, p, x, 0)._replace(phase=BEGIN)
    queries, states = trace(solver, p, begun, mean, until=lambda s: s.phase == TEST_CENTRE)
    return queries, states[-1].escape


def first_draw(start):
    w = ops.normal(np.zeros(2), 0, WINDOW + 1)
    return RADIUS * w / np.linalg.norm(w) if start else None


@each_function
@each_start
@pytest.mark.parametrize(
    "literal", [algorithm3.snc_finding, algorithm7.snc_finding_unnormalised], ids=["3", "7"]
)
def test_algorithms_3_and_7(literal, f, start):
    mean = noisy(f.gradient, 0.1, 0.3)
    queries, search = search_only(f, mean, start=start)
    drawn = samples(2, BATCH, [0])
    x = f.saddles[0]
    generator = literal(x, RADIUS, WINDOW, f.smoothness, drawn, draws(2, RADIUS), first_draw(start))
    asks, e = run(generator, None, mean)
    assert len(queries) == len(asks) == 2 * WINDOW
    np.testing.assert_allclose(search.direction, e, rtol=0, atol=1e-12)
    for k in range(WINDOW):  # print asks ahead first, the kernel at x~
        assert queries[2 * k][1:] == queries[2 * k + 1][1:] == (BATCH * k, BATCH)
        np.testing.assert_allclose(queries[2 * k][0], asks[2 * k + 1].point, rtol=0, atol=1e-12)
        np.testing.assert_allclose(queries[2 * k + 1][0], asks[2 * k].point, rtol=0, atol=1e-12)
        assert asks[2 * k].sample is asks[2 * k + 1].sample


@each_function
def test_without_noise_algorithm_3_is_algorithm_1(f):
    def exact(x, theta):
        return f.gradient(x)

    _, search = search_only(f, exact, start=1.0, noise=0.0, search_batch=1)
    literal = algorithm1.nc_finding(f.saddles[0], RADIUS, WINDOW, f.smoothness, first_draw(1.0))
    _, e = run(literal, f.value, f.gradient)
    np.testing.assert_allclose(search.direction, e, rtol=0, atol=1e-12)


NOISE = {  # of the gradient and of its slope, samples of a step and of a check; how it may end
    "quiet": (0.02, 0.0, 30, 50, {UNCERTIFIED}),
    "noisy": (0.02, 0.05, 30, 50, {UNCERTIFIED}),
    "hopeless": (0.02, 3.0, 30, 50, {UNCERTIFIED}),
    "unsure of the jump": (0.3, 0.0, 600, 2, {UNCERTIFIED, PhaseName.JUMP_FAILED}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "noise"), in_turn(FUNCTIONS, (), [pytest.param(NOISE[name], id=name) for name in NOISE])
)
def test_algorithm_8(f, noise):
    """Whole runs: descent, searches, tests, jumps and the end, query by query."""
    sigma, bend, descent_batch, check_batch, ends = noise
    for seed in range(4):
        mean, own = noisy(f.gradient, sigma, bend), settings(f, check_batch=check_batch)
        p = Parameters(0.75 * TOL, sgd.settings(1 / f.smoothness, descent_batch), own)
        solver, x = compose(sgd, snc), f.saddles[0] + 1e-3
        queries, states = trace(solver, p, solver.start(ops, p, x.copy(), seed), mean, limit=900)
        seen = states[-1].escape.resolution
        numbers = [0]
        sizes = {"M": descent_batch, "m": BATCH, "K": check_batch}
        believe = algorithm8.Believe(
            CHECKS,
            own.quantile,
            RADIUS,
            seen.error,
            -own.enough * own.curvature_tol,
            own.length,
            own.decrease,
            QUADRATURE * f.hessian_lipschitz,
            own.probes,
        )
        literal = algorithm8.sgd_nc(
            x,
            10**5,
            f.smoothness,
            TOL,
            RADIUS,
            WINDOW,
            lambda which, sizes=sizes, numbers=numbers: samples(2, sizes[which], numbers),
            draws(2, RADIUS, seed),
            believe,
        )
        asks, result = run(literal, None, mean, limit=len(queries))
        assert len(asks) == len(queries)
        mine, paper = (sorted(map(list, points)) for points in (pairs(queries), pairs_of(asks)))
        np.testing.assert_allclose(mine, paper, rtol=0, atol=1e-12)
        np.testing.assert_allclose(states[-1].x, result, rtol=0, atol=1e-12)
        assert states[-1].phase in ends


def pairs(queries):
    """Each query as a number of its sample and a point, whichever of a pair comes first."""
    return [(number, *point) for point, number, _ in queries]


def pairs_of(asks):
    known, first = {}, 0
    for ask in asks:
        if id(ask.sample) not in known:
            known[id(ask.sample)] = first
            first += len(ask.sample)
    return [(known[id(ask.sample)], *ask.point) for ask in asks]


def test_psgd_is_its_formula():
    f = landscapes.cubic()
    mean = noisy(f.gradient, 0.1, 0.3)
    p = Parameters(TOL, psgd.settings(step=0.02, radius=0.01, batch=5), never.settings())
    solver = compose(psgd, never)
    queries, states = trace(solver, p, solver.start(ops, p, np.zeros(2), 3), mean, limit=50)
    x = np.zeros(2)
    for t, (point, number, size) in enumerate(queries):
        np.testing.assert_allclose(point, x, rtol=0, atol=1e-12)
        assert (number, size) == (5 * t, 5)
        xi = 0.01 / 0.02 / np.sqrt(2) * ops.normal(x, 3, t + 1)  # N(0, r^2/n), eta r = radius
        x = x - 0.02 * (mean(x, thetas(2, 5, number)) + xi)
    np.testing.assert_allclose(states[-1].x, x, rtol=0, atol=1e-12)
    assert inf > states[-1].phase >= 0
