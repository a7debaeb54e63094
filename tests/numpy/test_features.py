"""What `auto` adds around the kernels: numerical gradients, one's own descent, several starts."""

import numpy as np
import pytest
import scipy.optimize

from unsaddle import Outcome, landscapes, minimize

F = landscapes.wells()
SADDLE = F.saddles[0]


@pytest.mark.parametrize("jac", [None, "2-point", "3-point", "cs"])
def test_a_numerical_gradient_certifies_less_and_says_so(jac):
    """No more at any rate: rho, which gamma is made of, is measured over another r, to 1 %."""
    exact = minimize(F.value, SADDLE, jac=F.gradient, tol=1e-4)
    calls = []

    def fun(x):
        calls.append(x)
        return F.value(x)

    result = minimize(fun, SADDLE, jac=jac, tol=1e-4)
    assert result.success
    assert result.nfev == len(calls)
    assert "numerical" in result.certificate.note
    assert result.certificate.curvature_tol >= 0.99 * exact.certificate.curvature_tol
    assert np.linalg.eigvalsh(F.hessian(result.x))[0] > -result.certificate.curvature_tol


def test_a_numerical_gradient_is_for_auto_only():
    with pytest.raises(TypeError, match="jac is missing"):
        minimize(F.value, SADDLE, method="ancgd", smoothness=20.0, hessian_lipschitz=12.0)


@pytest.mark.parametrize("peer", ["BFGS", "CG", "L-BFGS-B"])
def test_ones_own_minimiser_is_led_off_the_saddle(peer):
    """Alone it stops on the saddle with success; as the descent it ends at a certified minimum."""

    def descend(x):
        options = {"gtol": 1e-7}
        return scipy.optimize.minimize(F.value, x, jac=F.gradient, method=peer, options=options).x

    np.testing.assert_array_equal(descend(SADDLE), SADDLE)
    result = minimize(F.value, SADDLE, jac=F.gradient, tol=1e-4, descent=descend)
    assert result.success
    assert F.value(result.x) < 1e-6


def test_a_descent_that_gives_up_ends_the_run():
    result = minimize(F.value, SADDLE + 0.3, jac=F.gradient, tol=1e-4, descent=lambda x: x)
    assert result.outcome is Outcome.STALLED
    assert not result.success


@pytest.mark.parametrize(
    ("descent", "words"),
    [
        ("BFGS", "descent must be callable"),
        (lambda x: x[:-1], "descent returned 9 numbers"),
        (lambda x: x * np.nan, "what descent returned must be finite"),
    ],
)
def test_a_wrong_descent_is_named(descent, words):
    with pytest.raises((TypeError, ValueError), match=words):
        minimize(F.value, SADDLE, jac=F.gradient, descent=descent)


@pytest.mark.parametrize(
    "starts",
    [3, np.outer([0.0, 0.5, -0.5], np.ones(10)), lambda rng: rng.standard_normal(10)],
    ids=["a number", "points", "a function"],
)
def test_several_starts(starts):
    result = minimize(F.value, SADDLE, jac=F.gradient, tol=1e-4, starts=starts)
    assert len(result.runs) == (10 if callable(starts) else 3)
    assert result.success
    assert result.fun == min(run.fun for run in result.runs if run.success)
    assert result.njev == sum(run.njev for run in result.runs)
    shares = sum(run.certificate.failure_probability for run in result.runs)
    assert shares == pytest.approx(result.certificate.failure_probability)


def test_several_starts_share_one_budget():
    result = minimize(F.value, SADDLE, jac=F.gradient, tol=1e-4, starts=5, max_gradients=60)
    assert result.njev <= 60
    assert {run.outcome for run in result.runs} >= {Outcome.CERTIFIED, Outcome.BUDGET}


@pytest.mark.parametrize("starts", [0, []])
def test_no_starts_at_all(starts):
    with pytest.raises(ValueError, match="starts"):
        minimize(F.value, SADDLE, jac=F.gradient, starts=starts)


def test_a_fault_in_one_start_keeps_what_the_others_find():
    calls = iter(range(10**9))

    def faulty(x):
        if next(calls) == 60:
            raise ZeroDivisionError
        return F.gradient(x)

    with pytest.raises(ZeroDivisionError) as fault:
        minimize(F.value, SADDLE, jac=faulty, tol=1e-4, starts=9)
    so_far = fault.value.unsaddle
    assert so_far.success
    assert len(so_far.runs) == 9
    assert [run.outcome for run in so_far.runs].count(Outcome.INTERRUPTED) == 1
    assert "Of 9 starts, 8 came to their end." in so_far.message


def test_the_lowest_value_of_all_starts_counts_whatever_becomes_of_its_run():
    """x^4/4 - 2x^2 - x/2: one start sees -5 where the gradient is not finite, one ends at -3."""
    result = minimize(
        lambda x: float(x[0] ** 4 / 4 - 2 * x[0] ** 2 - x[0] / 2),
        [0.0],
        jac=lambda x: x**3 - 4 * x - 0.5 if x[0] < 0 else x * np.inf,
        starts=[[-1.0], [2.0]],
    )
    assert [run.outcome for run in result.runs] == [Outcome.CERTIFIED, Outcome.NOT_FINITE]
    assert result.success
    assert result.fun > -3.1
    assert (result.best.x, result.best.fun) == ([2.0], -5.0)
