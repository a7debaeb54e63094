"""The kernels against the literal transcriptions of the paper: same noise, same queries."""

import dataclasses
from math import inf

import numpy as np
import pytest

from tests.drive import at_search, merged, run_while, starts, trace
from tests.paper import algorithm1, algorithm2, algorithm4, algorithm5, algorithm6
from tests.paper.ask import points, run
from unsaddle import landscapes
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import GO, START, UNCERTIFIED
from unsaddle.descents.agd import NCE, NCE_MINUS, NCE_PLUS, NCE_REST, agd
from unsaddle.descents.gd import gd
from unsaddle.escapes.anc import anc
from unsaddle.escapes.jump import JUMP_BEGIN
from unsaddle.escapes.nc import nc
from unsaddle.numpy.ops import ops


def tilted(f):
    """Break the mirror symmetry of f, so that rounding does not choose the side of a jump."""
    return dataclasses.replace(
        f,
        value=lambda x: f.value(x) + 0.02 * np.tanh(x[0]) ** 3,
        gradient=lambda x: np.add(f.gradient(x), (0.06 * (np.tanh(x[0]) / np.cosh(x[0])) ** 2, 0)),
    )


FUNCTIONS = [
    tilted(f())
    for f in (landscapes.quartic, landscapes.cubic, landscapes.triangle, landscapes.exponential)
]
OFFSETS = {"zero gradient": (0.0, 0.0), "non-zero gradient": (3e-4, -2e-4)}
TOL, RADIUS = 0.01, 1e-3
GUARD = 16 * 2.0**-53

each_function = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.name)
each_offset = pytest.mark.parametrize("offset", OFFSETS.values(), ids=OFFSETS.keys())


def search_settings(part, f, **own):
    """Settings under which a window is as printed: never certified, never good enough."""
    return part.settings(
        radius=RADIUS,
        enough=inf,
        length=np.sqrt(TOL / f.hessian_lipschitz) / 4,
        decrease=np.sqrt(TOL**3 / f.hessian_lipschitz) / 384,
        curvature_tol=np.sqrt(f.hessian_lipschitz * TOL),
        failure_probability=1e-250,
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
        **own,
    )


def accelerated(f):
    gamma = np.sqrt(f.hessian_lipschitz * TOL)
    step, friction = 1 / (4 * f.smoothness), np.sqrt(gamma / f.smoothness) / 4
    nce = friction**2 / step
    return agd.settings(step, friction, nce, nce / (4 * f.hessian_lipschitz))


def at(f, offset):
    return f.saddles[0] + np.array(offset)


def search_only(part, settings, x, f):
    """The points and the last state of one search, up to the jump."""
    solver = compose(gd, part)
    p = Parameters(0.0, None, settings)
    state = at_search(solver, p, solver.start(ops, p, x.copy(), 0), np.array(f.gradient(x)))
    phases = {k: v for k, v in solver.phases.items() if k < JUMP_BEGIN}
    stop = settings.window
    queries, states = trace(solver._replace(phases=phases), p, state, f, limit=stop)
    return queries, states[-1]


@each_function
@each_offset
def test_algorithm_1(f, offset):
    x, window = at(f, offset), 600
    settings = search_settings(nc, f, search_step=1 / f.smoothness, window=window)
    queries, last = search_only(nc, settings, x, f)
    start = next(starts(2, RADIUS))
    asks, e = run(
        algorithm1.nc_finding(x, RADIUS, window, f.smoothness, start),
        f.value,
        f.gradient,
    )
    assert len(queries) == window
    asked = np.array([ask.point for ask in asks if ask.needs == "g"][1:])
    np.testing.assert_allclose(queries, asked, rtol=0, atol=1e-12)
    np.testing.assert_allclose(last.escape.direction, e, rtol=0, atol=1e-12)


@each_function
@each_offset
@pytest.mark.parametrize("sphere", [True, False], ids=["on the sphere", "in the ball"])
def test_algorithm_4_and_the_window_of_algorithm_2(f, offset, sphere, monkeypatch):
    """Equal from the sphere, query by query; from inside the ball only on quadratics."""
    if sphere:
        monkeypatch.setattr(ops, "uniform", lambda *_: 1.0)
    x, window, d = at(f, offset), 600, accelerated(f)
    settings = search_settings(
        anc, f, search_step=d.step, search_friction=d.friction, window=window
    )
    queries, last = search_only(anc, settings, x, f)
    start = next(starts(2, RADIUS))
    asks, e = run(
        algorithm4.anc_finding(x, RADIUS, window, d.step, d.friction, start),
        f.value,
        f.gradient,
    )
    asked = np.array([ask.point for ask in asks][1:])
    assert len(queries) == len(asked) == window
    if sphere:
        np.testing.assert_allclose(queries, asked, rtol=0, atol=1e-12)
        found = last.escape.direction / np.linalg.norm(last.escape.direction)
        np.testing.assert_allclose(found, e, rtol=0, atol=1e-12)
    else:
        assert np.abs(queries - asked).max() > 1e-6


def algorithm_5(f, x, window, draws):
    step = 1 / f.smoothness
    settings = search_settings(nc, f, search_step=step, window=window)
    p = Parameters(TOL, gd.settings(step), settings)
    literal = algorithm5.pgd_nc(
        x, 10**5, f.smoothness, f.hessian_lipschitz, TOL, RADIUS, window, draws
    )
    return compose(gd, nc), p, literal


def algorithm_2(f, x, window, draws):
    d = accelerated(f)
    settings = search_settings(
        anc, f, search_step=d.step, search_friction=d.friction, window=window
    )
    literal = algorithm2.ancgd(x, 10**5, *d, window, RADIUS, TOL, f.hessian_lipschitz, draws, GUARD)
    return compose(agd, anc), Parameters(TOL, d, settings), literal


@pytest.mark.slow
@each_function
@each_offset
@pytest.mark.parametrize("algorithm", [algorithm_2, algorithm_5])
def test_whole_runs(algorithm, f, offset):
    """From the saddle to the end: searches, jumps, descent, NCE and termination, query by query.

    With l as it is, and with ten times that, whose shorter steps make a run of 500 queries or more.

    The window is short enough that a search does not settle on one point to the last bit: asking
    there again would count as a new query in one transcript and not in the other.
    """
    longest = 0
    for seed, finer in ((0, 1), (1, 1), (2, 10)):
        g, window = dataclasses.replace(f, smoothness=finer * f.smoothness), 50
        x = at(g, offset)
        solver, p, literal = algorithm(g, x, window, starts(2, RADIUS, seed))
        queries, states = trace(solver, p, solver.start(ops, p, x.copy(), seed), g, limit=1500)
        asks, result = run(literal, g.value, g.gradient, limit=4000)
        mine, paper = merged(queries), points(asks)
        n = min(len(mine), len(paper))
        np.testing.assert_allclose(mine[:n], paper[:n], rtol=0, atol=1e-12)
        longest = max(longest, n)
        last = states[-1]
        if last.phase < 0:
            assert last.phase == UNCERTIFIED
            assert len(mine) == len(paper)
            np.testing.assert_allclose(last.x, result, rtol=0, atol=1e-12)
    assert longest >= 500


@each_function
@pytest.mark.slow
def test_algorithm_6(f):
    """NCE, called as Algorithm 2 does: at least 500 queries aside, and 100 times a stop without."""
    values, vectors = np.linalg.eigh(f.hessian(f.saddles[0]))
    length, rng, queries, stops = 0.01, np.random.default_rng(7), 0, 0
    p = Parameters(1e-9, agd.settings(1e-2, 0.1, -values[0] / 4, length), None)
    solver = compose(agd, anc)
    for speed in 10.0 ** rng.uniform(-3.5, -1.0, 600):
        x = f.saddles[0] + 1e-3 * rng.standard_normal(2)
        v = speed * (vectors[:, 0] + 0.1 * rng.standard_normal(2))
        state = solver.start(ops, p, x.copy(), 0)
        state = state._replace(phase=GO, descent=state.descent._replace(velocity=v.copy()))
        _, states = trace(solver, p, state, f, limit=2)
        if states[-1].phase != NCE:
            continue  # f does not bend so much along this v
        seen, after = run_while(solver, p, states[-1], f, (NCE, NCE_PLUS, NCE_MINUS))
        aside = [*seen.get(NCE_PLUS, ()), *seen.get(NCE_MINUS, ())]
        asks, (expected, rest) = run(algorithm6.nce(x, v, length), f.value, f.gradient)
        assert len(aside) == len(asks)
        for mine, paper in zip(aside, asks, strict=True):
            np.testing.assert_allclose(mine, paper.point, rtol=0, atol=1e-12)
        np.testing.assert_allclose(after.x, expected, rtol=0, atol=1e-12)
        assert not rest.any()
        assert after.phase == (START if aside else NCE_REST)
        queries, stops = queries + len(aside), stops + (not aside)
    assert queries >= 500
    assert stops >= 100
