"""Success means what was asked: a claim for a larger gamma is an outcome of its own."""

from typing import Any

import numpy as np
import pytest

from benchmarks.noisy_families import FAMILIES, noisy
from tests.untold import each_method
from unsaddle import Outcome, certify, minimize

N, SEEDS = 12, 5


def run(family: str, s: float, gamma: float | None, seed: int, method: str = "auto") -> Any:
    """Run from a saddle of curvature -.1 l, with noise of this norm."""
    land = FAMILIES[family](N, -0.1 * FAMILIES[family](N, 0.0).smoothness)
    words = {"curvature_tol": gamma, "seed": seed, "max_gradients": 5000, "method": method}
    grad = noisy(land.grad, s, "random", seed)
    result = minimize(land.fun, land.x, jac=grad, tol=max(1e-5, 4 * s), **words)
    lowest = float(np.linalg.eigvalsh(land.hessian(result.x))[0])
    if result.certificate.holds:
        assert lowest > -result.certificate.curvature_tol, "what is claimed is true"
    assert not (result.success and lowest < -(gamma or 0.01 * land.smoothness))
    return result


@each_method
@pytest.mark.parametrize("family", ["wells", "quartic", "clustered"])
def test_a_gamma_that_noise_hides_is_no_success(family: str, method: str) -> None:
    """Asked for 1e-9 l: what was shown is more, and the message names both and the way on."""
    gamma = 1e-9 * FAMILIES[family](N, 0.0).smoothness
    for seed in range(SEEDS):
        result = run(family, 1e-6, gamma, seed, method)
        assert not result.success
        if not result.certificate.holds:
            continue
        shown = result.certificate.curvature_tol
        assert shown > gamma
        assert result.outcome in (Outcome.COARSER, Outcome.STALLED)
        if result.outcome is Outcome.COARSER:
            assert result.status != 0
            assert f"raised from {gamma:.3g} to" in result.message
            assert "the gradient's noise" in result.message
            assert "gradient_noise=" in result.message
            assert "probe_radius=" in result.message


@each_method
@pytest.mark.parametrize("family", ["wells", "quartic", "clustered"])
def test_the_same_gamma_is_a_success_where_it_can_be_shown(family: str, method: str) -> None:
    gamma = 1e-3 * FAMILIES[family](N, 0.0).smoothness
    clean = [run(family, 0.0, gamma, seed, method) for seed in range(SEEDS)]
    assert all(result.success for result in clean)
    assert {result.certificate.curvature_tol for result in clean} == {gamma}


@each_method
@pytest.mark.parametrize("family", ["wells", "morse", "rosenbrock", "clustered"])
@pytest.mark.parametrize("by_noise", [0.5, 1.0])
def test_a_tol_at_the_noise_is_no_success_on_a_saddle(family: str, by_noise: float, method: str):
    """Noise makes L double for ever; taken for l, it made any gamma at all a weak claim."""
    stiffest = FAMILIES[family](N, 0.0).smoothness
    land = FAMILIES[family](N, -0.02 * stiffest)
    s = 1e-7 * stiffest * land.length
    for seed in range(SEEDS):
        grad = noisy(land.grad, s, "random", seed)
        words = {"method": method, "seed": seed, "max_gradients": 10_000}
        result = minimize(land.fun, land.x, jac=grad, tol=by_noise * s, **words)
        assert land.fun(result.x) < land.fun(land.x), (seed, result.message)
        assert result.certificate.curvature_tol < stiffest


def test_a_gamma_of_its_own_choice_is_a_success_below_a_tenth_of_l() -> None:
    """Noise of 1e-6 leaves .004 l or so; noise of 1e-3 leaves more than the tenth."""
    little = [run("quartic", 1e-6, None, seed) for seed in range(SEEDS)]
    assert all(result.success for result in little)
    much = [run("quartic", 1e-3, None, seed) for seed in range(SEEDS)]
    assert not any(result.success for result in much)
    assert all(result.outcome is Outcome.COARSER for result in much)
    assert all("raised from" in result.message for result in much)


@pytest.mark.parametrize("gamma", [None, 1e-3, 0.02, 0.3])
def test_asking_for_more_never_gets_less(gamma: float | None) -> None:
    """A curvature of -.25, of l = 1, is left whichever gamma is asked for below it."""

    def fun(x: np.ndarray) -> float:
        return float(x[:-1] @ x[:-1] / 2 - x[-1] ** 2 / 8 + x[-1] ** 4 / 4)

    def jac(x: np.ndarray) -> np.ndarray:
        return np.append(x[:-1], x[-1] ** 3 - x[-1] / 4)

    for s, seed in ((0.0, 0), (1e-8, 1), (1e-5, 2), (1e-4, 3)):
        grad = noisy(jac, s, "random", seed)
        words = {"curvature_tol": gamma, "seed": seed, "tol": max(1e-5, 4 * s)}
        result = minimize(fun, np.zeros(6), jac=grad, **words)
        assert abs(abs(result.x[-1]) - 0.5) < 0.05, (s, result.message)


def test_certify_says_what_was_raised_and_that_it_holds() -> None:
    """``certify`` has no success: it holds for the gamma that it names."""
    land = FAMILIES["quartic"](N, 0.5)
    found = certify(noisy(land.grad, 1e-4, "random", 0), land.x, curvature_tol=1e-6)
    assert found.holds
    assert found.curvature_tol > 1e-6
    assert "curvature_tol was raised from 1e-06 to" in found.note
    assert "the gradient's noise" in found.note
