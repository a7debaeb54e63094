"""The rows of Table 1 with products: their formulas, and what they promise of a step."""

import itertools
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from unsaddle import Outcome, landscapes, minimize
from unsaddle.methods import table1_theory
from unsaddle.methods.table import METHODS

KNOWN = {"smoothness": 2.0, "hessian_lipschitz": 8.0}
ROWS = ("neon2", "cdhs", "adancg", "fastcubic")
each_row = pytest.mark.parametrize("method", ROWS)


def test_alpha_of_carmon_et_al() -> None:
    """alpha = min{l, max{eps^2/Delta, sqrt(rho eps)}}."""
    alpha = table1_theory.cdhs_curvature
    assert alpha(**KNOWN, tol=0.02) == sqrt(8 * 0.02)
    assert alpha(**KNOWN, tol=0.02, decrease_available=1e-3) == pytest.approx(0.4)
    assert alpha(**KNOWN, tol=0.1, decrease_available=1e-3) == 2.0


def test_the_descent_of_carmon_et_al() -> None:
    """Almost-Convex-AGD(f_k, x^, eps/2, 3 alpha, 5 l) on AGD(., ., e', 5 l + 6 alpha, 3 alpha)."""
    found = table1_theory.almost_convex(**KNOWN, tol=0.02, curvature_tol=0.4)
    assert_allclose(1 / found.step, 5 * 2 + 6 * 0.4)
    kappa = 12.4 / 1.2
    assert_allclose(found.momentum, (sqrt(kappa) - 1) / (sqrt(kappa) + 1))
    assert_allclose(found.accuracy, 0.01 * sqrt(1.2 / (50 * 12.4)))
    assert_allclose(found[4:], (0.01, 0.05, 2.0))


def test_the_step_along_curvature_keeps_its_promise() -> None:
    """Of d/rho along v'Hv = -d/2, where f bends against it as much as rho lets it."""
    step = table1_theory.curvature_step(hessian_lipschitz=8.0, curvature_tol=0.4)
    s, d, rho = step.length, 0.4, 8.0
    assert_allclose(d / 2 * s**2 / 2 - rho * s**3 / 6, step.decrease)


def curves(method: str, seed: int) -> tuple[Any, Any, list[float]]:
    f = landscapes.wells(n=20)
    result = minimize(
        f.value,
        f.saddles[0],
        jac=f.gradient,
        hessp=lambda x, p: f.hessian(x) @ p,
        method=method,
        tol=2e-2,
        seed=seed,
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
    )
    values = [v for v, p in zip(result.history.value, result.history.phase, strict=True) if v == v]
    return f, result, values


@each_row
@pytest.mark.slow
def test_with_products_too_it_leaves_the_saddle(method: str) -> None:
    for seed in range(3):
        f, result, _ = curves(method, seed)
        assert result.outcome is Outcome.CERTIFIED
        assert result.certificate.exact
        assert f.value(result.x) < f.value(f.saddles[0])
        assert np.linalg.eigvalsh(f.hessian(result.x))[0] > -result.certificate.curvature_tol


def test_adancg_takes_products_the_more_the_closer_it_comes() -> None:
    """sqrt(rho |g|) is what it resolves: at a slope a search is over sooner."""
    f = landscapes.wells(n=20)
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    counts = {}
    for far in (3.0, 0.0):
        x0 = f.minima[0] + far * np.ones(f.n) / sqrt(f.n)
        result = minimize(
            f.value, x0, jac=f.gradient, method="adancg", tol=1e-3, max_gradients=2000,
            hessp=lambda x, p: f.hessian(x) @ p, **known,
        )  # fmt: skip
        phases = [str(p) for p in result.history.phase]
        second = phases.index("start", 1) if phases.count("start") > 1 else len(phases)
        counts[far] = sum(p in ("search", "whole_radius") for p in phases[:second])
    assert 0 < counts[3.0] < counts[0.0]


def test_adancg_falls_by_what_it_promises() -> None:
    """max{|g|^2/(2 l), (2/3) |q|^3/rho^2}, in every iteration."""
    f = landscapes.quartic()
    xs: list[np.ndarray] = []
    minimize(
        f.value,
        [0.05, 0.3],
        jac=lambda x: xs.append(x.copy()) or f.gradient(x),
        hessp=lambda x, p: f.hessian(x) @ p,
        method="adancg",
        tol=1e-3,
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
    )
    assert len(xs) > 3
    for x, after in itertools.pairwise(xs[:-1]):  # the last one checks the products
        slope = np.linalg.norm(f.gradient(x)) ** 2 / (2 * f.smoothness)
        assert f.value(x) - f.value(after) >= 0.99 * slope


def test_the_descent_of_carmon_et_al_stays_in_its_ball() -> None:
    """Or f falls: |x_{k+1} - x^| > alpha/rho is paid for by the penalty."""
    f = landscapes.wells(n=20)
    line = METHODS["cdhs"]
    p = line.from_theory(
        n=20, tol=1e-2, smoothness=f.smoothness, hessian_lipschitz=f.hessian_lipschitz
    )
    assert p.descent.ball == p.curvature_tol / f.hessian_lipschitz
    assert p.descent.penalty == f.smoothness
