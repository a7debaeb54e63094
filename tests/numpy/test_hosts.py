"""Packages that take an optimiser: each is given ours as it stands, and fits as it always does."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from unsaddle import scipy_method

X = np.random.default_rng(0).normal(size=(40, 2))
NOISE = 0.1 * np.random.default_rng(1).normal(size=40)
LABELS = (X[:, 0] - X[:, 1] + 10 * NOISE > 0).astype(float)


def package(name: str) -> Any:
    """Import a package, or skip the test with what to type."""
    return pytest.importorskip(name, reason=f"no {name} here: pip install 'unsaddle[hosts]'")


@pytest.mark.slow
def test_scikit_learn_fits_a_gaussian_process_within_the_bounds_of_its_kernel() -> None:
    processes = package("sklearn.gaussian_process")
    kernels = package("sklearn.gaussian_process.kernels")
    kernel = kernels.ConstantKernel(1.0) * kernels.RBF([1.0, 1.0]) + kernels.WhiteKernel(0.1)
    wave = np.sin(3 * X[:, 0]) + NOISE  # X[:, 1] has no part in it: its length goes to its bound

    def ours(objective: Any, theta: np.ndarray, bounds: Any) -> tuple[np.ndarray, float]:
        found = minimize(objective, theta, jac=True, bounds=bounds, method=scipy_method())
        assert found.success
        assert found.certificate.free == 3
        return found.x, found.fun

    theirs = processes.GaussianProcessRegressor(kernel, n_restarts_optimizer=0)
    mine = processes.GaussianProcessRegressor(kernel, optimizer=ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a length that is at its bound
        theirs.fit(X, wave)
        mine.fit(X, wave)
    value = mine.log_marginal_likelihood_value_
    assert value >= theirs.log_marginal_likelihood_value_ - 1e-5


@pytest.mark.slow
def test_statsmodels_fits_a_logit() -> None:
    models = package("statsmodels.api")
    model = models.Logit(LABELS, models.add_constant(X))
    fitted = model.fit(method="minimize", min_method=scipy_method(), gtol=1e-7, disp=False)
    assert fitted.mle_retvals["converged"]
    assert np.allclose(fitted.params, model.fit(disp=False).params, atol=1e-5)


@pytest.mark.slow
def test_lmfit_fits_a_wave_with_its_own_bounds_and_budget() -> None:
    lmfit = package("lmfit")
    signal = 2 * np.sin(3 * X[:, 0]) + NOISE
    guess = lmfit.create_params(height=1.0, pitch={"value": 2.7, "min": 0, "max": 5})

    def misfit(given: Any) -> np.ndarray:
        return given["height"] * np.sin(given["pitch"] * X[:, 0]) - signal

    ours = lmfit.Minimizer(misfit, guess).scalar_minimize(method=scipy_method(), tol=1e-4)
    theirs = lmfit.minimize(misfit, guess)
    assert ours.success
    for name in ("height", "pitch"):
        assert ours.params[name].value == pytest.approx(theirs.params[name].value, rel=1e-4)


@pytest.mark.slow
def test_scikit_learns_logistic_loss_is_minimised() -> None:
    linear = package("sklearn.linear_model")
    loss = package("sklearn.linear_model._linear_loss").LinearModelLoss
    binomial = package("sklearn._loss").HalfBinomialLoss
    objective = loss(base_loss=binomial(), fit_intercept=True)
    given = {"X": X, "y": LABELS, "l2_reg_strength": 1.0 / len(X)}
    found = minimize(
        lambda w: objective.loss_gradient(w, **given),
        np.zeros(3),
        jac=True,
        method=scipy_method(),
        options={"gtol": 1e-8, "maxiter": 100},
    )
    theirs = linear.LogisticRegression(C=1.0, tol=1e-8).fit(X, LABELS)
    assert found.success
    assert np.allclose(found.x, [*theirs.coef_[0], *theirs.intercept_], atol=1e-6)
