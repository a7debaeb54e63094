"""Cubic steps on Krylov spaces: the minimiser of the model, and what a step promises."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from unsaddle import METHODS, Outcome, landscapes, minimize
from unsaddle.core.session import Session
from unsaddle.descents import cubic_model, krylov_space
from unsaddle.descents.cubic_model import Tridiagonal
from unsaddle.numpy.ops import ops

RHO = 3.0


def dense(t: Tridiagonal) -> np.ndarray:
    k = t.count
    off = np.diag(t.offdiagonal[: k - 1], 1)
    return (np.diag(t.diagonal[:k]) + off + off.T).astype(float)


def model(h: np.ndarray, g: np.ndarray, y: np.ndarray, rho: float = RHO) -> float:
    return float(g @ y + y @ h @ y / 2 + rho / 6 * np.linalg.norm(y) ** 3)


def is_minimiser(t: Tridiagonal, slope: float, rho: float, dtype: type = np.float64) -> None:
    """Check the conditions that hold for the minimiser and for nothing else."""
    like = np.zeros(1, dtype)
    found = cubic_model.minimise(ops, t, slope, rho, like)
    h, y = dense(t), found.weights[: t.count].astype(float)
    g, lam = slope * np.eye(t.count)[0], found.shift
    close = 200 * ops.roundoff(like) * (np.abs(h).max() + lam)
    assert np.linalg.eigvalsh(h)[0] + lam >= -close
    size = np.linalg.norm(y)
    assert abs(size - 2 * lam / rho) <= 1e-3 * size if dtype == np.float32 else 1e-8 * size
    assert np.linalg.norm(h @ y + lam * y + g) <= close * size + 1e-5 * slope
    assert_allclose(found.value, model(h, g, y, rho), rtol=1e-4 if dtype == np.float32 else 1e-9)
    assert not found.weights[t.count :].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_the_minimiser_of_the_model(k: int, dtype: type) -> None:
    """Of 20 matrices each, definite or not, and slopes from 1e-6 to 100."""
    for seed in range(20):
        rng = np.random.default_rng([k, seed])
        rows = rng.standard_normal(k + 2) + seed % 3, abs(rng.standard_normal(k + 2))
        t = Tridiagonal(*(row.astype(dtype) for row in rows), k)
        is_minimiser(
            t, float(10.0 ** rng.uniform(-6 if dtype == np.float64 else -2, 2)), RHO, dtype
        )


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_units_do_not_matter(scale: float) -> None:
    t = Tridiagonal(scale * np.array([1.0, -2.0, 0.5]), scale * np.array([0.5, 0.3, 0.0]), 3)
    is_minimiser(t, 0.1 * scale, RHO * scale)


@pytest.mark.parametrize("slope", [0.0, 1e-12, 0.5])
def test_the_hard_case(slope: float) -> None:
    """g has nothing along the lowest eigenvector: what is missing is added along it."""
    diagonal, tiny = np.array([1.0, -2.0]), 1e-300
    t = Tridiagonal(diagonal, np.array([tiny, 0.0]), 2)
    found = cubic_model.minimise(ops, t, slope, RHO, diagonal)
    assert_allclose(found.shift, 2.0, rtol=1e-10)
    y = found.weights
    assert_allclose(np.linalg.norm(y), 4 / RHO, rtol=1e-10)
    assert_allclose(y[0], -slope / 3, rtol=1e-9, atol=1e-15)
    assert_allclose(found.value, model(np.diag(diagonal), np.array([slope, 0.0]), y), rtol=1e-12)


def krylov(h: np.ndarray, g: np.ndarray, k: int) -> krylov_space.Space:
    space = krylov_space.begun(ops, krylov_space.blank(ops, g, 1001), g)
    for _ in range(k):
        space = krylov_space.extended(ops, space, h @ space.direction)
    return space


def test_on_the_whole_space_it_is_the_minimiser_of_all() -> None:
    """(H + lambda I) h = -g, lambda = rho |h|/2, H + lambda I >= 0; and T is V'HV."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, g = rng.standard_normal((12, 12)), rng.standard_normal(12)
        h = a + a.T
        space = krylov(h, g, 12)
        v = space.vectors[:12]
        assert_allclose(v @ h @ v.T, dense(space.hessian), atol=1e-10)
        assert krylov_space.complete(ops, space)
        y, lam, _ = cubic_model.minimise(ops, space.hessian, np.linalg.norm(g), RHO, g)
        step = v.T @ y[:12]
        assert_allclose(h @ step + lam * step, -g, atol=1e-8)
        assert_allclose(lam, RHO * np.linalg.norm(step) / 2, rtol=1e-9)
        assert np.linalg.eigvalsh(h)[0] + lam >= -1e-9


def test_a_smaller_space_promises_no_less_than_cauchy_and_nearly_all() -> None:
    """m(h) is at most that of the best step along -g; with the dimensions of theory, within 1 %."""
    n, rng = 300, np.random.default_rng(0)
    h, g = np.diag(np.linspace(0.0, 10.0, n)), rng.standard_normal(n)
    settings = (
        METHODS["fastcubic"]
        .from_theory(n=n, smoothness=10.0, hessian_lipschitz=RHO, tol=1e-3)
        .descent
    )
    g *= 0.1 / np.linalg.norm(g)
    k = int(np.ceil(krylov_space.dimensions(ops, settings, g)))
    assert k < n / 5
    least = [
        cubic_model.minimise(ops, krylov(h, g, j).hessian, np.linalg.norm(g), RHO, g).value
        for j in (1, k, n)
    ]
    steps = np.linspace(0.0, 1.0, 2000)
    cauchy = min(model(h, g, -s * g) for s in steps)
    assert least[2] <= least[1] <= least[0] <= cauchy + 1e-12
    assert least[1] <= 0.99 * least[2]


@pytest.mark.parametrize("products", [False, True])
def test_a_step_lowers_f_by_what_the_model_promises(products: bool) -> None:
    """f(x + h) <= f(x) + m(h), where rho holds: in every step of ten runs."""
    f, line = landscapes.quartic(), METHODS["fastcubic"]
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    p = line.from_theory(n=2, tol=1e-3, **known)._replace(products=products)
    taken = 0
    for seed in range(10):
        x = np.random.default_rng(seed).uniform(-1.0, 1.0, 2)
        session: Any = Session(ops, line.solver, p, line.solver.start(ops, p, x, seed))
        while (query := session.ask()) is not None:
            m = session.state.descent
            if query.along is not None:
                session.tell(None, f.hessian(query.point) @ query.along)
                continue
            value = float(f.value(query.point))
            if query.phase == 24:
                taken += 1
                assert value <= m.value - 0.99 * m.promised + 1e-15
            session.tell(value, np.array(f.gradient(query.point)))
        assert session.state.phase == -1
    assert taken > 20


def test_a_rho_that_is_too_small_is_raised_at_one_value_each() -> None:
    f = landscapes.quartic()
    result = minimize(
        f.value, [0.05, 0.9], jac=f.gradient, method="fastcubic",
        smoothness=f.smoothness, hessian_lipschitz=1e-3, tol=1e-3, curvature_tol=0.1,
    )  # fmt: skip
    assert result.outcome is Outcome.CERTIFIED
    assert [*result.history.phase].count("cubic_step") > [*result.history.phase].count("go")
