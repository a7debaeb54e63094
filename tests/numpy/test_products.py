"""Exact products with the Hessian: what they save, what they show, and what they must not be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import unsaddle
from tests.noise.test_bending import WHERE, Bent, is_true
from unsaddle import Outcome, certify, find_negative_curvature, landscapes, minimize
from unsaddle.core.session import NotFiniteError
from unsaddle.methods.table import METHODS

SEEDS = 20
each_search = pytest.mark.parametrize("method", ["lanczos", "anc", "nc"])
F = landscapes.quartic()
KNOWN = {"smoothness": F.smoothness, "hessian_lipschitz": F.hessian_lipschitz}


def product(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return F.hessian(x) @ p


def solve(hessp: Any = product, **given: Any) -> Any:
    return minimize(F.value, F.saddles[0], jac=F.gradient, hessp=hessp, **given)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_products(method: str) -> None:
    """They are counted apart, and the certificate says that they are exact."""
    calls: list[np.ndarray] = []

    def counted(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        calls.append(p.copy())
        return product(x, p)

    known = KNOWN if METHODS[method].constants else {}
    more = {"decrease_available": 1.0} if "decrease_available" in METHODS[method].constants else {}
    result = solve(counted, method=method, tol=1e-2, **known, **more)
    assert result.success
    assert result.nhvp == len(calls) >= result.certificate.products > 0
    assert result.certificate.exact
    assert np.isnan(result.certificate.probe_radius)
    assert "from exact products" in result.certificate.note
    assert f"{result.certificate.products} products" in str(result.certificate)
    assert np.linalg.eigvalsh(F.hessian(result.x))[0] > -result.certificate.curvature_tol


def test_without_products_nothing_is_said_of_them() -> None:
    result = minimize(F.value, F.saddles[0], jac=F.gradient)
    assert result.nhvp == result.certificate.products == 0
    assert not result.certificate.exact
    assert "product" not in str(result.certificate)


@each_search
def test_no_product_is_wasted(method: str) -> None:
    """One per step: no radius is sought; one more for the symmetry, and one to check the claim."""
    n, rng = 40, np.random.default_rng(3)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    h = q @ np.diag(np.linspace(0.5, 3.0, n)) @ q.T
    exact = find_negative_curvature(
        lambda x: h @ x, np.zeros(n), method, 0.1, hessp=lambda x, p: h @ p
    )
    differences = find_negative_curvature(lambda x: h @ x, np.zeros(n), method, 0.1)
    assert exact.holds
    assert exact.gradients == 2
    assert exact.products <= differences.gradients


@pytest.mark.parametrize("gamma", [0.01, None])
@pytest.mark.parametrize("where", WHERE)
def test_bending_deceives_nobody(where: str, gamma: float | None) -> None:
    """The saddles of docs/design.md, Limits: found, and not only left undecided."""
    for seed in range(SEEDS):
        f = Bent(where, seed)
        claim = certify(f.gradient, f.x, gamma, seed=seed, hessp=bent_product(f))
        assert claim.holds is False, (seed, str(claim))
        assert is_true(f, f.x, claim)


def bent_product(f: Bent) -> Callable[..., np.ndarray]:
    def call(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        z = x - f.x
        return ((f.curvatures + z.dtype.type(0.96) * z * z) * p).astype(x.dtype)

    return call


@each_search
@pytest.mark.parametrize("width", [0.1, 0.03, 1e-3])
@pytest.mark.parametrize("n", [50, 500])
def test_a_well_narrower_than_any_probe_is_found(n: int, width: float, method: str) -> None:
    """In float32 at |x| = 1000, where a tenth of the probe deceives differences."""
    for seed in range(SEEDS if method == "lanczos" else 4):
        rng = np.random.default_rng([7, seed])
        x = rng.standard_normal(n)
        x = (1000 * x / np.linalg.norm(x)).astype(np.float32)
        down, here = int(rng.integers(n)), x.copy()

        def gradient(y: np.ndarray, down: int = down, here: np.ndarray = here) -> np.ndarray:
            z = y - here
            z[down] -= np.float32(1.08 * width) * np.sin(z[down] / np.float32(width))
            return z

        def hessp(
            y: np.ndarray, p: np.ndarray, down: int = down, here: np.ndarray = here
        ) -> np.ndarray:
            out = p.copy()
            out[down] *= np.float32(1 - 1.08 * np.cos((y[down] - here[down]) / np.float32(width)))
            return out

        given = {"curvature_tol": 0.01, "seed": seed, "hessp": hessp}
        claim = find_negative_curvature(gradient, x, method, **given)
        assert claim.holds is False, (seed, str(claim))
        assert claim.direction[down] ** 2 * 1.08 > 1.0


@pytest.mark.slow
@each_search
def test_false_certificates_are_no_more_frequent_than_delta(method: str) -> None:
    """At lambda_min = -gamma (1 + 1e-9), 400 seeds: within three deviations of delta."""
    n, gamma, delta, trials = 30, 0.05, 0.1, 400
    d = np.concatenate([[-gamma * (1 + 1e-9)], np.linspace(0.0, 1.0, n - 1)])
    false = 0
    for seed in range(trials):
        given = {"curvature_tol": gamma, "failure_probability": delta * np.pi**2 / 6}
        claim = find_negative_curvature(
            lambda x: d * x, np.zeros(n), method, seed=seed, hessp=lambda x, p: d * p, **given
        )
        false += claim.holds is True
    assert false <= trials * delta + 3 * np.sqrt(trials * delta * (1 - delta))


@pytest.mark.parametrize(("scale", "length"), [(1e-20, 1.0), (1e20, 1.0), (1.0, 1e8), (1.0, 1e-9)])
def test_units_do_not_matter(scale: float, length: float) -> None:
    """Of f and of x, also where the gradient is not small."""
    h = scale / length**2 * np.diag([-0.5, 1.0, 2.0, 3.0])
    for x in (np.zeros(4), np.array([1e6, 1.0, -1.0, 2.0])):
        claim = certify(lambda y: h @ y, length * x, hessp=lambda y, p: h @ p)
        assert claim.holds is False
        assert claim.curvature < -0.1 * scale / length**2


# What they must not be


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "shape": (lambda x, p: F.hessian(x), ValueError, "hessp must return an array of shape (2,)"),
    "none": (lambda x, p: None, ValueError, "hessp must return an array of shape (2,)"),
    "scalar": (lambda x, p: p @ p, ValueError, "hessp must return an array of shape (2,)"),
    "asymmetric": (lambda x, p: np.array([p[1], 0.0]), ValueError, "hessp is not symmetric"),
    "complex": (lambda x, p: 1j * p, TypeError, "hessp must return real numbers"),
    "coarse": (lambda x, p: p.astype(np.float32), TypeError, "hessp returned float32"),
    "in place": (lambda x, p: np.multiply(p, 2.0, out=p), ValueError, "hessp changed its argument"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_named_and_nothing_is_lost(wrong: str) -> None:
    hessp, kind, says = WRONG[wrong]
    with pytest.raises(kind) as caught:
        solve(hessp)
    assert says in str(caught.value)
    assert np.isfinite(caught.value.unsaddle.fun)  # type: ignore[attr-defined]
    with pytest.raises(kind) as caught:
        certify(F.gradient, F.saddles[0], hessp=hessp)
    assert says in str(caught.value)


def test_an_exception_passes_through_with_the_result_so_far() -> None:
    calls = []

    def fails(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        calls.append(p)
        if len(calls) > 3:
            raise RuntimeError("out of luck")
        return product(x, p)

    with pytest.raises(RuntimeError, match="out of luck") as caught:
        solve(fails)
    so_far = caught.value.unsaddle  # type: ignore[attr-defined]
    assert so_far.nhvp == 4
    assert so_far.certificate.holds is None


def test_nan_ends_the_run_at_the_best_point_and_is_named() -> None:
    result = solve(lambda x, p: np.full_like(p, np.nan))
    assert result.outcome is Outcome.NOT_FINITE
    assert "hessp" in result.message
    assert np.isfinite(result.fun)
    with pytest.raises(NotFiniteError, match="hessp returned NaN"):
        certify(F.gradient, F.saddles[0], hessp=lambda x, p: np.full_like(p, np.nan))


def test_a_product_of_differences_raises_gamma_and_deceives_nobody() -> None:
    """Its errors show as V'HV ceases to be tridiagonal: none of 20 is false."""
    n = 60
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        h = q @ np.diag([-1e-3, *np.linspace(0.1, 1.0, n - 1)]) @ q.T

        def noisy(x: np.ndarray, p: np.ndarray, h: Any = h, rng: Any = rng) -> np.ndarray:
            error = rng.standard_normal(n)
            return h @ p + 1e-6 * np.linalg.norm(p) * error / np.linalg.norm(error)

        claim = certify(lambda x, h=h: h @ x, np.zeros(n), 1e-3, seed=seed, hessp=noisy)
        assert not claim.holds or claim.curvature_tol > 1e-3


# Around them


def test_products_count_towards_the_budget() -> None:
    result = solve(max_gradients=4)
    assert result.outcome is Outcome.BUDGET
    assert result.njev + result.nhvp <= 5  # the first is checked by one more


def test_args_reach_the_product() -> None:
    def value(x: np.ndarray, a: float) -> float:
        return float(a * F.value(x))

    result = minimize(
        value,
        F.saddles[0],
        (2.0,),
        jac=lambda x, a: a * F.gradient(x),
        hessp=lambda x, p, a: a * product(x, p),
    )
    assert result.success
    assert result.nhvp


def test_a_state_is_of_a_run_with_or_without(tmp_path: Any) -> None:
    """A probe of one kind is no probe of the other."""
    state = solve(max_gradients=3).state
    unsaddle.save(state, tmp_path / "run.npz")
    state = unsaddle.load(tmp_path / "run.npz")
    with pytest.raises(ValueError, match="state is of a run with hessp="):
        minimize(F.value, F.saddles[0], jac=F.gradient, state=state)
    assert solve(state=state).success
    without = minimize(F.value, F.saddles[0], jac=F.gradient, max_gradients=3).state
    with pytest.raises(ValueError, match="state is of a run without hessp="):
        solve(state=without)


def test_scipy_hands_them_on() -> None:
    result = scipy.optimize.minimize(
        F.value, F.saddles[0], jac=F.gradient, hessp=product, method=unsaddle.scipy_method()
    )
    assert result.success
    assert result.nhvp


def test_a_numerical_gradient_with_exact_products_certifies_what_they_show() -> None:
    result = minimize(F.value, [0.3, 0.4], hessp=product, tol=1e-4)
    assert result.success
    assert result.certificate.exact


def test_several_starts_add_their_products() -> None:
    result = solve(starts=3)
    assert result.nhvp == sum(run.nhvp for run in result.runs) > 0


def test_within_bounds_products_are_of_the_free_variables() -> None:
    """The saddle is left along the bound, and the claim is of what is free."""
    result = minimize(
        F.value, [0.0, 0.3], jac=F.gradient, hessp=product, bounds=[(None, None), (0.3, None)]
    )
    assert result.success
    assert result.certificate.exact
    assert result.certificate.free == 1
    np.testing.assert_allclose(abs(result.x), [2.0, 0.3], atol=1e-5)
