"""Scaled variables: the run is that in x / x_scale, and what the user sees is in x."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.sparse import csr_array

from tests.watched import START, gradient, hessian, value
from unsaddle import certify, load, minimize, save

SCALE = np.array([1e-3, 1e2])


def fun(x: np.ndarray) -> Any:
    return value(x / SCALE)


def jac(x: np.ndarray) -> np.ndarray:
    return gradient(x / SCALE) / SCALE


def solve(**given: Any) -> Any:
    return minimize(fun, **{"x0": START * SCALE, "jac": jac, "x_scale": SCALE, **given})


def test_a_run_in_scaled_variables_is_the_run_of_the_scaled_function() -> None:
    ours, theirs = solve(), minimize(value, START, jac=gradient)
    assert ours.njev == theirs.njev
    assert np.allclose(ours.x, theirs.x * SCALE, rtol=1e-9, atol=1e-12)
    assert np.allclose(ours.jac, jac(ours.x), atol=1e-6)
    assert ours.certificate.curvature_tol == pytest.approx(theirs.certificate.curvature_tol)
    assert np.array_equal(ours.x_scale, SCALE)
    assert "In scaled variables" in ours.message
    assert "In scaled variables" in str(ours.certificate)


@pytest.mark.slow
def test_ill_scaled_variables_take_fewer_gradients() -> None:
    sizes = np.geomspace(1e-2, 1e2, 20)

    def root(x: np.ndarray) -> np.ndarray:
        return np.sqrt(1 + (x / sizes) ** 2)

    given: Any = {"x0": sizes, "jac": lambda x: x / sizes**2 / root(x), "tol": 1e-4}
    plain = minimize(lambda x: float(root(x).sum()), **given)
    scaled = minimize(lambda x: float(root(x).sum()), **given, x_scale=sizes)
    assert scaled.success
    assert 2 * scaled.njev < plain.njev


@pytest.mark.parametrize("form", ["apart", "together", "numerical"])
def test_every_form_of_the_gradient(form: str) -> None:
    given: dict[str, Any] = {"jac": {"apart": jac, "together": True, "numerical": None}[form]}
    both = (lambda x: (fun(x), jac(x))) if form == "together" else fun
    result = minimize(both, START * SCALE, x_scale=SCALE, **given)
    assert result.success
    assert abs(result.x[1]) == pytest.approx(SCALE[1], rel=1e-4)


def test_the_callback_and_the_descent_see_x() -> None:
    seen: list[np.ndarray] = []
    solve(callback=lambda xk: seen.append(xk.copy()))
    assert np.allclose(seen[0], START * SCALE)
    result = solve(descent=lambda x: x * [0, 1] if x[1] == 0 else np.sign(x) * [0, 1] * SCALE)
    assert result.success


LOWER, UPPER = np.array([-1 / 3, -70.1]), np.array([1 / 7, 60.3])
WITHIN: Any = Bounds(LOWER, UPPER)  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["jac", "2-point", "3-point"])
@pytest.mark.parametrize("unit", [1.0, 0.7, 1 / 3])
def test_bounds_stay_those_of_x_to_the_last_bit(by: str, unit: float) -> None:
    def inside(function: Any) -> Any:
        def call(x: np.ndarray) -> Any:
            assert (x >= LOWER).all()
            assert (x <= UPPER).all()
            return function(x)

        return call

    given: Any = {"jac": inside(jac) if by == "jac" else by, "x_scale": SCALE * unit}
    result = minimize(inside(fun), START * SCALE, bounds=WITHIN, tol=1e-4, **given)
    assert result.success or by == "2-point"
    assert result.x[1] in (LOWER[1], UPPER[1])


@pytest.mark.parametrize("budget", [2, 5, 9])
def test_a_run_within_bounds_is_resumed(budget: int, tmp_path: Any) -> None:
    save(solve(bounds=WITHIN, max_gradients=budget).state, tmp_path / "run.npz")
    again = solve(bounds=WITHIN, state=load(tmp_path / "run.npz"))
    assert again.success
    assert again.x[1] in (LOWER[1], UPPER[1])


def test_a_state_goes_with_its_scale(tmp_path: Any) -> None:
    cut = solve(max_gradients=5)
    save(cut.state, tmp_path / "run.npz")
    kept = load(tmp_path / "run.npz")
    assert np.array_equal(solve(state=kept).x, solve().x)
    for wrong in (None, 2 * SCALE):
        with pytest.raises(ValueError, match="state is of a run with"):
            solve(state=kept, x_scale=wrong)


def test_starts_are_scaled_too() -> None:
    result = solve(starts=[START * SCALE, np.array([0.0, 2.0]) * SCALE])
    assert result.success
    assert all(np.array_equal(run.x_scale, SCALE) for run in result.runs)


def test_starts_are_drawn_by_the_scales_and_workers_run_them() -> None:
    alone, several = (solve(starts=3, workers=workers) for workers in (1, 2))
    assert [run.x.tolist() for run in several.runs] == [run.x.tolist() for run in alone.runs]
    begun: list[np.ndarray] = []
    solve(starts=20, callback=lambda xk: begun.append(xk.copy()), max_gradients=20)
    assert (np.ptp(begun, axis=0) / SCALE).min() > 0.3
    with pytest.raises(TypeError, match="workers=2 sends fun and jac to other processes"):
        minimize(lambda x: 0.0, START, jac=jac, x_scale=SCALE, starts=3, workers=2)


def test_what_fails_gives_the_result_so_far_in_x() -> None:
    calls = iter(range(99))

    def failing(x: np.ndarray) -> np.ndarray:
        if next(calls) == 2:
            raise RuntimeError("failed")
        return jac(x)

    with pytest.raises(RuntimeError, match="failed") as error:
        solve(jac=failing, x0=[1e-3, 50.0])
    so_far: Any = error.value
    assert so_far.unsaddle.fun == pytest.approx(fun(so_far.unsaddle.x))


def test_certify_in_scaled_variables() -> None:
    shown = certify(jac, [0.0, 0.0], x_scale=SCALE)
    assert shown.holds is False
    assert shown.curvature == pytest.approx(-1, rel=1e-4)
    assert np.allclose(abs(shown.direction), [0, 1], atol=1e-4)
    assert certify(jac, np.array([0.0, 1.0]) * SCALE, x_scale=SCALE).holds


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_hessian_is_used_as_its_products(form: Any) -> None:
    computed: list[np.ndarray] = []

    def hess(x: np.ndarray) -> Any:
        computed.append(x.copy())
        return form(hessian(x))

    result = minimize(value, START, jac=gradient, hess=hess)
    assert result.success
    assert len(computed) <= 3  # once for each point that was searched, and the check of symmetry
    assert result.njev < minimize(value, START, jac=gradient).njev
    scaled = solve(hess=lambda x: hessian(x / SCALE) / np.outer(SCALE, SCALE))
    assert scaled.success


def test_a_hessian_that_is_no_function_asks_for_nothing() -> None:
    assert minimize(value, START, jac=gradient, hess="2-point").success  # type: ignore[arg-type]
