"""The transcriptions agree with one another and with algebra."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.linalg import matrix_power, norm
from numpy.testing import assert_allclose, assert_array_equal

from .algorithm1 import nc_finding, nc_finding_renormalised
from .algorithm2 import ancgd
from .algorithm4 import anc_finding
from .algorithm5 import jump, pgd_nc
from .algorithm6 import nce
from .ask import Ask, Asking, Vector, f, f_and_grad, grad, points, run
from .functions import (
    HILL,
    LANDSCAPES,
    NEARBY,
    QUARTIC,
    SADDLE,
    Landscape,
    angle,
    momentum_polynomial,
    on_landscapes,
    on_places,
    quadratic,
    random_quadratic,
    starts_on,
    unit,
)

Settings = dict[str, Any]

# ------------------------------------------------------------------- Algorithms 2 and 4 at work

RADIUS = 0.1
SEARCH: Settings = {"radius": RADIUS, "step": 0.02, "friction": 0.2}
NO_NCE: Settings = {"nce_curvature": 1e9, "nce_length": 1e-9}
# Every gradient is small under this tolerance, and the jump has length 1.
AT_ONCE: Settings = NO_NCE | {"tol": 16.0, "hessian_lipschitz": 1.0}


def window(
    landscape: Landscape, x_tilde: Vector, start: Vector, steps: int = 20
) -> tuple[Vector, Vector]:
    """Run Algorithm 2's first window: its queries, and the direction it jumps, sign aside."""
    generator = ancgd(x_tilde, steps, window=steps, starts=iter([start]), **SEARCH, **AT_ONCE)
    queries = points(run(generator, *landscape)[0])
    return queries[: steps + 1], queries[steps + 1] - x_tilde


def algorithm4(
    landscape: Landscape, x_tilde: Vector, start: Vector, steps: int = 20
) -> tuple[Vector, Vector]:
    """Run Algorithm 4: its queries, and the direction it returns."""
    asks, e = run(anc_finding(x_tilde, steps=steps, start=start, **SEARCH), *landscape)
    assert e is not None
    return points(asks), e


# --------------------------------------------------------------------------------- the protocol


@on_landscapes
def test_gradients(landscape: Landscape) -> None:
    """The gradients above are those of the values above."""
    for x in np.random.default_rng(2).uniform(-1.2, 1.2, (5, 2)):
        differences = [landscape.value(x + h) - landscape.value(x - h) for h in 1e-6 * np.eye(2)]
        assert_allclose(landscape.gradient(x), np.array(differences) / 2e-6, atol=1e-8)


def test_run() -> None:
    """What is asked is answered, and nothing beyond the limit is queried."""

    def asker() -> Asking[list]:
        return [(yield Ask(np.ones(1), "f")), (yield Ask(np.zeros(1), "fg"))]

    asks, answers = run(asker(), lambda x: 7.0, lambda x: x - 1)
    assert [ask.needs for ask in asks] == ["f", "fg"]
    assert answers == [(7.0, None), (7.0, np.array([-1.0]))]
    queried: list[Vector] = []
    assert run(asker(), lambda x: queried.append(x) or 0.0, lambda x: x, limit=1)[1] is None
    assert_array_equal(queried, [[1.0]])
    assert run(asker(), lambda x: 7.0, lambda x: x - 1, limit=2)[1] == answers


def test_points() -> None:
    """A point asked again, at once or later, is listed once; every point asked is a copy."""
    a, b = np.array([0.0, 1.0]), np.array([-0.0, 2.0])
    asks = [next(f(a)), next(grad(a)), next(f_and_grad(b)), next(f(a)), next(grad(b + 0.0))]
    assert_array_equal(points(asks), [a, b])
    assert not any(np.shares_memory(ask.point, x) for ask in asks for x in (a, b))


# ---------------------------------------------------------------------------------- Algorithm 1


@on_landscapes
@on_places
def test_algorithm1_needs_no_renormalisation(landscape: Landscape, x_tilde: Vector) -> None:
    """Remark 4: bringing y back to norm r changes neither the queries nor the direction."""
    for start in starts_on(0.3 * RADIUS):
        arguments = (x_tilde, RADIUS, 60, 20.0, start)
        asks, e = run(nc_finding(*arguments), *landscape)
        asks_renormalised, e_renormalised = run(nc_finding_renormalised(*arguments), *landscape)
        assert_allclose(np.array(e), np.array(e_renormalised), atol=1e-10)
        assert_allclose(points(asks), points(asks_renormalised), atol=1e-10)


def test_algorithm1_looks_around() -> None:
    """The first query is at the point, all others are at distance r from it."""
    asks, _ = run(nc_finding(NEARBY, RADIUS, 7, 3.0, starts_on(0.01)[0]), *QUARTIC)
    assert [ask.needs for ask in asks] == ["g"] * 8
    assert_array_equal(asks[0].point, NEARBY)
    assert_allclose([norm(ask.point - NEARBY) for ask in asks[1:]], RADIUS, rtol=1e-14)


def test_algorithm1_is_the_power_method() -> None:
    """On a quadratic y_T is (I - H/l)^T y_0."""
    hessian, _, landscape = random_quadratic()
    start = starts_on(0.05, n=6)[0]
    _, e = run(nc_finding(np.ones(6), RADIUS, 40, 1.5, start), *landscape)
    assert_allclose(np.array(e), unit(matrix_power(np.eye(6) - hessian / 1.5, 40) @ start), 1e-11)


# --------------------------------------------------------------------------- Algorithms 2 and 4


@on_landscapes
@on_places
def test_window_is_algorithm4_from_the_sphere(landscape: Landscape, x_tilde: Vector) -> None:
    """Algorithm 2's window and Algorithm 4 agree if the start has norm r'."""
    for start in starts_on(RADIUS):
        queries, e = window(landscape, x_tilde, start)
        queries_4, e_4 = algorithm4(landscape, x_tilde, start)
        assert_allclose(queries, queries_4, atol=1e-12)
        assert angle(e, e_4) < 1e-12


@on_landscapes
def test_window_is_not_algorithm4_from_inside_the_ball(landscape: Landscape) -> None:
    """Their first queries differ if the start is shorter, and so do the directions, slightly."""
    for start in starts_on(0.5 * RADIUS):
        e, e_4 = window(landscape, NEARBY, start)[1], algorithm4(landscape, NEARBY, start)[1]
        assert 1e-8 < angle(e, e_4) < 0.1


@pytest.mark.parametrize("fraction", [1.0, 0.4])
def test_window_and_algorithm4_are_one_polynomial(fraction: float) -> None:
    """On a quadratic both give p(H) x_0, wherever in the ball the start lies."""
    hessian, _, landscape = random_quadratic()
    p, x_tilde = momentum_polynomial(hessian, 20, 0.02, 0.2), np.full(6, 0.3)
    for start in starts_on(fraction * RADIUS, n=6):
        for search in window, algorithm4:
            assert angle(search(landscape, x_tilde, start)[1], p @ start) < 1e-12


def test_window_keeps_offsets_that_rounding_would_erase() -> None:
    """Where every query rounds to x~ nothing is learnt, but nothing is lost either, nor is 0/0."""
    x_tilde, start = np.full(6, 0.3), starts_on(1e-30, n=6)[0]
    settings = SEARCH | AT_ONCE | {"radius": 1e-30, "window": 20, "starts": iter([start])}
    queries = points(run(ancgd(x_tilde, 20, **settings), *random_quadratic()[2])[0])
    assert angle(queries[1] - x_tilde, start) < 1e-14


def test_window_asks_in_order() -> None:
    """Point, window, jump both ways (a tie: the first is kept), step, then the NCE test."""
    settings = SEARCH | AT_ONCE | {"starts": iter([np.array([RADIUS, 0.0])]), "window": 3}
    asks, _ = run(ancgd(SADDLE, 3, **settings), *QUARTIC)
    assert [ask.needs for ask in asks] == [*"gfg", *"ggg", *"ff", "g", "fg", "f"]
    assert_allclose([ask.point[0] for ask in asks[6:9]], [-1, 1, -1], atol=1e-12)


def test_window_cut_short() -> None:
    """The last x of an unfinished window is a point like any other, not an offset."""
    settings = SEARCH | AT_ONCE | {"starts": iter(starts_on(RADIUS)), "window": 9}
    _, x = run(ancgd(np.array([3.0, 4.0]), 2, **settings), *random_quadratic(2)[2])
    assert 0 < norm(np.array(x) - [3.0, 4.0]) < 2 * RADIUS


def test_descent_is_a_polynomial() -> None:
    """On a convex quadratic, far from its minimum, Algorithms 2 and 5 are plain descents."""
    hessian, x0 = np.diag([0.01, 0.3, 1.0]), np.array([1.0, -2.0, 3.0])
    landscape = quadratic(hessian, np.zeros(3))
    settings: Settings = {"step": 0.25, "friction": 0.1, "radius": 1.0, "window": 9}
    settings |= {"nce_curvature": 0.04, "nce_length": 0.01, "tol": 1e-9, "hessian_lipschitz": 1.0}
    _, x = run(ancgd(x0, 29, starts=iter([]), **settings), *landscape)
    assert_allclose(np.array(x), momentum_polynomial(hessian, 30, 0.25, 0.1) @ x0, atol=1e-14)
    _, x = run(pgd_nc(x0, 29, 2.0, 1.0, 1e-9, 1.0, 9, iter([])), *landscape)
    assert_allclose(np.array(x), matrix_power(np.eye(3) - hessian / 2, 30) @ x0, atol=1e-14)


@pytest.mark.parametrize(
    ("curvature", "length", "z"),
    [(1.1, 0.5, 1.12), (0.9, 0.05, 1.1), (0.9, 0.5, 1.6)],
    ids=["go on", "stop", "step"],
)
def test_momentum_is_exploited_on_a_hill(curvature: float, length: float, z: float) -> None:
    """From 1 on -x^2/2: x_1 = 1.1, v_1 = 0.1, and the last gradient asked alone is at z_1."""
    settings: Settings = {"step": 0.1, "friction": 0.8, "radius": 1.0, "window": 9, "tol": 1e-9}
    settings |= {"nce_curvature": curvature, "nce_length": length, "hessian_lipschitz": 1.0}
    asks, _ = run(ancgd(np.ones(1), 1, starts=iter([]), **settings), *HILL)
    assert_allclose([ask.point for ask in asks if ask.needs == "g"][-1], z)


@pytest.mark.parametrize(("guard", "fires"), [(0.0, True), (8 * 2.2e-16, False)])
def test_guard_sees_rounding_error(guard: float, fires: bool) -> None:
    """On 1e6 + x^2/2 near 0 the inequality of line 15 is noise: only the guard keeps NCE out."""
    landscape = Landscape(lambda x: float(1e6 + x @ x / 2), lambda x: x)
    settings: Settings = {"step": 0.1, "friction": 0.2, "radius": 1.0, "window": 9, "guard": guard}
    settings |= {"nce_curvature": 0.4, "nce_length": 0.01, "tol": 1e-99, "hessian_lipschitz": 1.0}
    asks, _ = run(ancgd(np.full(1, 1e-6), 5, starts=iter([]), **settings), *landscape)
    assert (max(abs(points(asks))) > 1e-6) == fires


# ---------------------------------------------------------------------------------- Algorithm 6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_nce_takes_the_lower_side(sign: float) -> None:
    """Short momentum, up or down the hill: the first query follows it, the step goes down."""
    asks, result = run(nce(np.ones(1), np.full(1, 0.1 * sign), 0.5), *HILL)
    assert [ask.needs for ask in asks] == ["f", "f"]
    assert_allclose(asks[0].point, 1 + 0.5 * sign)
    assert_allclose(np.array(result), [[1.5], [0.0]])


def test_nce_follows_the_momentum_on_a_tie() -> None:
    """On the hilltop both sides are as low."""
    _, result = run(nce(np.zeros(1), np.full(1, -0.1), 0.5), *HILL)
    assert_array_equal(np.array(result), [[-0.5], [0.0]])


def test_nce_stops_long_momentum() -> None:
    """Momentum of length s or more is dropped without a query."""
    asks, result = run(nce(np.ones(1), np.full(1, 0.5), 0.5), *HILL)
    assert asks == []
    assert_array_equal(np.array(result), [[1.0], [0.0]])


# ---------------------------------------------------------------------------------- Algorithm 5


def test_jump_follows_a_slope_that_decides() -> None:
    """At (1, 0) of the quartic the slope is -0.75: one query, downhill."""
    x, e = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    asks, lower = run(jump(x, QUARTIC.value(x), QUARTIC.gradient(x), e, 0.16, 1.0), *QUARTIC)
    assert_allclose(points(asks), [[1.1, 0.0]])
    assert_array_equal(np.array(lower), asks[0].point)


def test_jump_tries_both_ways() -> None:
    """A slope of -1e-4 only says which way is tried first; a slope of 0 counts as uphill."""
    x, e = np.array([1e-4, 0.0]), np.array([1.0, 0.0])
    for gradient, order in (QUARTIC.gradient(x), [0.1, -0.1]), (np.zeros(2), [-0.1, 0.1]):
        asks, lower = run(jump(x, QUARTIC.value(x), gradient, e, 0.16, 1.0), *QUARTIC)
        assert_allclose(points(asks)[:, 0] - x[0], order)
        assert_allclose(np.array(lower), [0.1001, 0.0])


def test_jump_must_fall_as_lemma_6_says() -> None:
    """A decrease of 0.999 times sqrt(epsilon^3 / rho) / 384 is none."""
    decrease, length = np.sqrt(0.16**3) / 384, 0.1
    for factor, found in (1.001, True), (0.999, False):
        hill = quadratic(-factor * 2 * decrease / length**2 * np.eye(1), np.zeros(1))
        _, lower = run(jump(np.zeros(1), 0.0, np.zeros(1), np.ones(1), 0.16, 1.0), *hill)
        assert (lower is not None) == found


TOL = 0.05


def descend(x0: Vector, smoothness: float, hessian_lipschitz: float) -> Asking[Vector]:
    """Set up Algorithm 5."""
    starts = iter(starts_on(0.01, 50))
    return pgd_nc(x0, 3000, smoothness, hessian_lipschitz, TOL, 0.01, 200, starts)


def accelerate(x0: Vector, smoothness: float, hessian_lipschitz: float) -> Asking[Vector]:
    """Set up Algorithm 2, with eta, theta, gamma and s from Proposition 5."""
    step = 1 / (4 * smoothness)
    friction = (hessian_lipschitz * TOL) ** 0.25 / (4 * smoothness**0.5)
    gamma = friction**2 / step
    descent = 5000, step, friction, gamma, gamma / (4 * hessian_lipschitz)
    return ancgd(x0, *descent, 100, 0.01, TOL, hessian_lipschitz, iter(starts_on(0.01, 50)))


@pytest.mark.parametrize("method", [descend, accelerate])
@pytest.mark.parametrize(
    ("name", "smoothness", "hessian_lipschitz", "minimum"),
    [("quartic", 2.5, 3.0, -1.0), ("cubic", 20.0, 12.0, -1.3641), ("triangle", 40.0, 100.0, -1.0)],
)
def test_whole_runs(
    method: Callable[..., Asking[Vector]],
    name: str,
    smoothness: float,
    hessian_lipschitz: float,
    minimum: float,
) -> None:
    """From the saddle to a minimum, returned after a jump from it that did not go down."""
    landscape = LANDSCAPES[name]
    asks, x = run(method(SADDLE, smoothness, hessian_lipschitz), *landscape)
    assert x is not None
    assert norm(landscape.gradient(x)) <= TOL
    assert_allclose(landscape.value(x), minimum, atol=2e-4)
    assert_allclose(norm(asks[-1].point - x), np.sqrt(TOL / hessian_lipschitz) / 4)
