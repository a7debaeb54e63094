"""Against the noise of its gradient a descent spends little, and what it has measured is kept."""

import numpy as np
import pytest

import unsaddle
from benchmarks.noise_floor import measured, table
from benchmarks.noisy_families import FAMILIES, noisy
from tests.untold import each_method


@each_method
@pytest.mark.parametrize("kind", ["hash", "random"])
@pytest.mark.parametrize("family", ["wells", "morse", "rosenbrock"])
def test_at_most_a_tenth_of_the_gradients_is_spent_against_the_floor(family, kind, method):
    spent = measured(family, kind, 1e-6, [0, 1], method)
    assert spent.share <= 0.1
    assert spent.gradients > 0


def test_the_table_is_written():
    *_, end = table(["morse"], seeds=[0])
    assert "of 8 lines" in end


def test_the_search_knows_the_noise_that_the_descent_has_measured():
    land = FAMILIES["quartic"](20, -0.02)
    grad = noisy(land.grad, 1e-6, "hash", 0)
    result = unsaddle.minimize(land.fun, land.x + 0.05, jac=grad, tol=1e-9)
    phases = list(result.history.phase)
    assert "noise_floor" in phases
    after = phases[phases.index("give_up") :]
    assert not {"half_radius", "whole_radius", "close_by"} & set(after)
    assert result.state.state.noise == pytest.approx(1e-6, rel=0.5)


def test_noise_in_proportion_to_the_gradient_ends_no_descent():
    rng, stiffness = np.random.default_rng(0), np.linspace(1, 1000, 30)

    def grad(x):
        g = stiffness * x
        return g + 1e-2 * np.linalg.norm(g) * rng.standard_normal(30) / np.sqrt(30)

    result = unsaddle.minimize(
        lambda x: float(x @ (stiffness * x)) / 2, np.ones(30), jac=grad, tol=1e-6
    )
    assert np.linalg.norm(stiffness * result.x) < 1e-5


@each_method
@pytest.mark.parametrize("family", ["wells", "morse", "quartic"])
def test_what_noise_has_done_to_a_descent_is_forgotten_where_it_jumps(family, method):
    """The noise is the same within 1e-12: none is seen close by, and the descent fails for long."""
    stiffest = FAMILIES[family](20, 0.0).smoothness
    land = FAMILIES[family](20, -0.02 * stiffest)
    s = 1e-7 * stiffest * land.length
    noise = noisy(lambda x: np.zeros_like(x), s, "hash", 0)

    def grad(x):
        return land.grad(x) + noise(np.round(x / land.length, 12) + 0.0)

    words = {"method": method, "max_gradients": 5000}
    result = unsaddle.minimize(land.fun, land.x, jac=grad, tol=s / 2, **words)
    assert land.fun(result.x) < land.fun(land.x)
    assert np.linalg.norm(land.grad(result.x)) < 10 * s


@each_method
def test_what_a_descent_took_for_curvature_does_not_hide_the_noise_from_the_next(method):
    """At zero no point is close by, so no noise is seen there; after the jump it is."""
    bends = np.append(-0.3, np.ones(9))
    grad = noisy(lambda x: bends * x + x**3, 1e-5, "hash", 0)
    result = unsaddle.minimize(
        lambda x: float(bends @ x**2 / 2 + np.sum(x**4) / 4),
        np.zeros(10),
        jac=grad,
        tol=1e-6,
        method=method,
        max_gradients=5000,
    )
    phases = [*result.history.phase]
    assert result.fun < -0.02
    assert "noise_floor" in phases[phases.index("jump") :]
    assert len(phases[phases.index("jump") :]) < 500
