"""What the paper's misprints do: each erratum that the transcriptions correct, shown at work."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.linalg import matrix_power, norm, solve
from numpy.testing import assert_allclose, assert_array_equal

from unsaddle.landscapes import h
from unsaddle.methods import theory

from .algorithm1 import nc_finding
from .algorithm2 import ancgd
from .algorithm5 import pgd_nc
from .algorithm6 import nce
from .ask import Asking, Vector, f, f_and_grad, grad, points, run
from .functions import (
    LANDSCAPES,
    QUARTIC,
    SADDLE,
    Landscape,
    angle,
    momentum_polynomial,
    random_quadratic,
    starts_on,
    unit,
)
from .test_transcriptions import (
    AT_ONCE,
    NO_NCE,
    RADIUS,
    SEARCH,
    Settings,
    accelerate,
    algorithm4,
    descend,
    window,
)


def printed_ancgd(
    x0: Vector,
    steps: int,
    step: float,
    friction: float,
    nce_curvature: float,
    nce_length: float,
    window: int,
    radius: float,
    tol: float,
    hessian_lipschitz: float,
    starts: Iterator[Vector],
    gd_window: int,  # the T of Algorithm 1
) -> Asking[Vector]:
    """Algorithm 2 as printed."""
    x = x0
    t_perturb, z, x_tilde, zeta = 0, x0, x0, np.zeros_like(x0)  # line 1
    for t in range(steps + 1):  # line 2
        if t - t_perturb > gd_window and norm((yield from grad(x))) <= tol:  # line 3
            x_tilde = x  # line 4
            x = z = x_tilde + next(starts)  # line 5
            zeta, t_perturb = (yield from grad(x_tilde)), t  # line 5
        if t - t_perturb == window:  # line 6
            e = (x - x_tilde) / norm(x - x_tilde)  # line 7
            slope = (yield from grad(x_tilde)) @ e
            x = x_tilde - slope / (4 * abs(slope)) * np.sqrt(tol / hessian_lipschitz) * e  # line 8
            z, zeta = x, np.zeros_like(x)  # line 8
        x_old = x
        x = z - step * ((yield from grad(z)) - zeta)  # line 9
        v = x - x_old  # line 10
        z = x + (1 - friction) * v  # line 11
        if t_perturb != 0 and t - t_perturb < window:  # line 12
            z = x_tilde + radius * (z - x_tilde) / norm(z - x_tilde)  # line 13
            x = x_tilde + radius * (x - x_tilde) / norm(z - x_tilde)  # line 13
        else:  # line 14
            f_z, grad_z = yield from f_and_grad(z)  # line 15
            bend = nce_curvature * norm(z - x) ** 2
            if (yield from f(x)) <= f_z + grad_z @ (x - z) - bend / 2:  # line 15
                x, v = yield from nce(x, v, nce_length)  # line 16
                z = x + (1 - friction) * v  # line 17
    return x


def test_erratum_1() -> None:
    """With t_perturb <- 0 the jump fires at t = T' though nothing was perturbed, back to x_0."""
    settings: Settings = {"step": 0.1, "friction": 0.3, "window": 30, "radius": RADIUS}
    settings |= NO_NCE | {"tol": 1e-6, "hessian_lipschitz": 1e-6, "starts": iter([])}
    x0 = np.array([0.8, 0.9])  # on a slope: no gradient is as small as 1e-6 for 40 steps
    queries = points(run(ancgd(x0, 40, **settings), *QUARTIC)[0])
    printed = points(run(printed_ancgd(x0, 40, gd_window=99, **settings), *QUARTIC)[0])
    same = 1 + 2 * 30  # x_0, then x and z of each step before T'
    assert_array_equal(printed[:same], queries[:same])
    before, after = QUARTIC.value(printed[same - 1]), QUARTIC.value(printed[same])
    assert before < -0.999
    assert after > 0.1
    assert_allclose(norm(printed[same] - x0), np.sqrt(1e-6 / 1e-6) / 4)
    assert max(QUARTIC.value(x) for x in queries[same:]) < -0.999


def test_erratum_2() -> None:
    """With the norm of the overwritten z, which is r', x is not rescaled at all."""

    def printed_direction(landscape: Landscape, start: Vector) -> Vector:
        x = z = start
        for _ in range(20):
            x_old = x
            x = z - SEARCH["step"] * landscape.gradient(z)  # line 9
            z = x + (1 - SEARCH["friction"]) * (x - x_old)  # lines 10 and 11
            z = RADIUS * z / norm(z)  # line 13
            x = RADIUS * x / norm(z)  # line 13
        return x

    for start in starts_on(RADIUS):
        landscape = LANDSCAPES["triangle"]
        _, e = algorithm4(landscape, SADDLE, start)
        assert angle(window(landscape, SADDLE, start)[1], e) < 1e-12
        assert angle(printed_direction(landscape, start), e) > 1e-4


def test_erratum_3() -> None:
    """With a T shorter than T' the window is perturbed anew before it ends, and never jumps."""
    settings: Settings = {"step": 0.1, "friction": 0.3, "window": 20, "radius": 0.01}
    settings |= NO_NCE | {"tol": 0.1, "hessian_lipschitz": 0.1}
    x0, offsets = np.full(2, 1e-3), starts_on(0.01, 50)
    starts = iter(offsets)
    printed, _ = run(printed_ancgd(x0, 40, gd_window=5, starts=starts, **settings), *QUARTIC)
    assert len(offsets) - len(list(starts)) == 40 // 6
    assert abs(points(printed)).max() < 0.1  # still at the saddle
    queries = points(run(ancgd(x0, 40, starts=iter(offsets), **settings), *QUARTIC)[0])
    assert abs(queries).max() > 1.9


def test_erratum_4_parenthesis() -> None:
    """With grad f(x~) outside the scaling Algorithm 4 is right only where that gradient is 0."""

    def printed_direction(landscape: Landscape, x_tilde: Vector, start: Vector) -> Vector:
        x = z = start
        for _ in range(20):
            x_old = x
            ahead = landscape.gradient(x_tilde + RADIUS * unit(z))
            scaled = norm(z) / RADIUS * ahead - landscape.gradient(x_tilde)  # line 4
            x = z - SEARCH["step"] * scaled  # line 4
            z = x + (1 - SEARCH["friction"]) * (x - x_old)  # lines 5 and 6
        return x

    hessian, slope, landscape = random_quadratic()
    p, start = momentum_polynomial(hessian, 20, 0.02, 0.2), starts_on(RADIUS, n=6)[0]
    saddle = solve(hessian, -slope)
    for x_tilde, agrees in (saddle, True), (saddle + 1, False):
        assert angle(algorithm4(landscape, x_tilde, start)[1], p @ start) < 1e-12
        assert (angle(printed_direction(landscape, x_tilde, start), p @ start) < 1e-12) == agrees
    assert angle(printed_direction(landscape, saddle + 1, start), p @ start) > 0.1


def test_erratum_4_index() -> None:
    """Counting t = 1, ..., T' from x_1 = x_0, x_T' is one step short of Algorithm 2's."""
    start = starts_on(RADIUS)[0]
    _, e = window(LANDSCAPES["triangle"], SADDLE, start)
    assert angle(algorithm4(LANDSCAPES["triangle"], SADDLE, start, steps=20)[1], e) < 1e-12
    assert angle(algorithm4(LANDSCAPES["triangle"], SADDLE, start, steps=19)[1], e) > 1e-5


def test_erratum_5() -> None:
    """y_T / r is not a unit vector; and if y_0 is a point, the direction found is that of x~."""
    hessian, _, landscape = random_quadratic()
    x_tilde, start = np.full(6, 100.0), starts_on(0.05, n=6)[0]
    power = matrix_power(np.eye(6) - hessian / 1.5, 10)
    assert norm(power @ start) / RADIUS > 1.5
    for y_0 in start, x_tilde + start:
        _, e = run(nc_finding(x_tilde, RADIUS, 10, 1.5, y_0), *landscape)
        assert angle(np.array(e), power @ y_0) < 1e-10
    assert angle(power @ (x_tilde + start), power @ x_tilde) < 1e-2


def test_erratum_6() -> None:
    """The slope at x_0 can send the jump uphill: here it changes sign on the way to x_t."""
    x0, landscape = np.array([0.3, -0.4]), LANDSCAPES["triangle"]
    generator = pgd_nc(x0, 20, 40.0, 100.0, 0.3, 0.01, 100, iter(starts_on(0.01)))
    asks, _ = run(generator, *landscape, limit=150)
    x, jumped = [ask.point for ask in asks if ask.needs == "f"][:2]
    e = jumped - x
    assert (landscape.gradient(x) @ e) * (landscape.gradient(x0) @ e) < 0
    assert landscape.value(x + e) < landscape.value(x) - 0.003
    assert landscape.value(x - e) > landscape.value(x) + 0.003  # the jump as printed


def test_erratum_7() -> None:
    """With v = 0 the test of line 15 is always true, and NCE divides 0 by 0."""
    settings = SEARCH | AT_ONCE | {"window": 3, "nce_curvature": 1.0, "nce_length": 0.1}
    with np.errstate(invalid="ignore"):
        generator = printed_ancgd(SADDLE, 3, gd_window=9, starts=iter([]), **settings)
        assert np.isnan(points(run(generator, *QUARTIC)[0])).any()
    # The jump lands on the minimum (-2, 0) itself, so that the next v is exactly 0.
    starts = iter([np.array([RADIUS, 0.0])] * 2)
    settings |= {"tol": 1.0, "hessian_lipschitz": 1 / 64}
    asks, x = run(ancgd(SADDLE, 30, starts=starts, **settings), *QUARTIC)
    assert_array_equal(np.array(x), [-2.0, 0.0])
    search = [*"gfg", *"ggg", *"ff"]
    assert [ask.needs for ask in asks] == [*search, "g", *search]  # and no test in between


@pytest.mark.parametrize("method", [descend, accelerate])
def test_erratum_11(method: Callable[..., Asking[Vector]]) -> None:
    """At a minimum every jump raises f: the printed one is kept, ours is undone."""
    minimum = np.array([2.0, 0.0])
    asks, x = run(method(minimum, 2.5, 3.0), *QUARTIC)
    assert_array_equal(np.array(x), minimum)
    at_minimum, *jumps = [ask.point for ask in asks if ask.needs == "f"]
    assert_array_equal(at_minimum, minimum)
    assert len(jumps) == 2
    assert all(QUARTIC.value(jump) > QUARTIC.value(minimum) + 1e-4 for jump in jumps)


def test_erratum_13(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a minimum of h (n = 10) y underflows to 0/0 within the theorem's T, but for the guard."""
    f = h(10, 0.1)
    tol = (0.05) ** 2 / f.hessian_lipschitz
    search = theory.nc_finding(
        smoothness=f.smoothness, hessian_lipschitz=f.hessian_lipschitz, tol=tol, n=10,
        failure_probability=1e-3,
    )  # fmt: skip
    start = search.radius * unit(np.arange(1.0, 11.0))
    asked = f.minima[0], search.radius, search.window, f.smoothness, start
    _, e = run(nc_finding(*asked), f.value, f.gradient)
    assert_allclose(norm(np.array(e)), 1)
    monkeypatch.setattr("tests.paper.algorithm1.SMALLEST", 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        _, e = run(nc_finding(*asked), f.value, f.gradient)
    assert np.isnan(np.array(e)).all()


def test_erratum_14() -> None:
    """SGD outside a search costs eps^-4 by itself: Table 1's 3.5 is not to be had with it."""
    words = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "n": 10, "failure_probability": 0.1,
             "decrease_available": 1.0, "stochastic_smoothness": 1.0, "variance": 1.0}  # fmt: skip
    few, many = (theory.sgd_nc(tol=tol, **words) for tol in (1e-6, 1e-7))
    descent = [each.descent_batch * each.iterations for each in (few, many)]
    assert_allclose(np.log10(descent[1] / descent[0]), 4, atol=0.01)


@pytest.mark.parametrize("ell", [0.1, 1.0, 10.0])
def test_erratum_15(ell: float) -> None:
    """The end of the proofs of Propositions 3, 5 and 24: rho eps/(64 l) is meant, and enough."""
    for gamma in ell * np.array([1e-6, 1e-3, 0.5, 1.0]):
        aside = gamma / (8 * ell)  # the norm of the part of e in the other eigenspaces
        assert_allclose(ell * aside**2, gamma**2 / (64 * ell))
        assert np.isclose(ell * aside**2, gamma**2 / (64 * ell**2), atol=0) == (
            ell == 1.0
        )  # as printed
        assert -gamma / 2 * (1 - aside**2) + ell * aside**2 <= -gamma / 4
