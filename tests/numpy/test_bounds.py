"""Bounds: saddles on faces, edges and corners are left, and no query is ever outside."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeWarning
from scipy.optimize import minimize as scipy_minimize

from benchmarks.faces import Boxed, faces
from unsaddle import Outcome, certify, find_negative_curvature, load, minimize, save, scipy_method

FACES = {problem.name: problem for problem in faces()}
FACE, INNER = FACES["face below"], FACES["narrow"]


def guarded(problem: Boxed, name: str = "value", dtype: Any = float) -> Any:
    """Give the function or its gradient, which refuses every point outside the bounds."""
    function = getattr(problem, name)

    def call(x: np.ndarray) -> Any:
        x = np.real(x).astype(float)
        assert (x >= problem.lower).all(), "below the bounds"
        assert (x <= problem.upper).all(), "above the bounds"
        answer = function(x)
        return dtype(answer) if name == "value" else np.asarray(answer, dtype)

    return call


def solve(problem: Boxed, **given: Any) -> Any:
    fun, jac = guarded(problem), guarded(problem, "gradient")
    bounds = Bounds(problem.lower, problem.upper)  # type: ignore[arg-type]
    return minimize(fun, **{"x0": problem.start, "jac": jac, "bounds": bounds, **given})


def fits(result: Any, problem: Boxed) -> None:
    """Check what a certificate within bounds claims by the exact Hessian and gradient."""
    x, claimed = result.x.astype(float), result.certificate
    away = np.clip(x - problem.gradient(x), problem.lower, problem.upper) - x
    assert result.success
    assert np.linalg.norm(away) <= 10 * result.parameters.tolerance
    inside = (x > problem.lower) & (x < problem.upper)
    inside[[*claimed.unclear]] = False
    hessian = problem.hessian(x)[np.ix_(inside, inside)]
    assert np.linalg.eigvalsh(hessian).min(initial=np.inf) > -claimed.curvature_tol
    assert claimed.free == inside.sum()
    assert f"the {claimed.free} of {x.size} variables that are free" in str(claimed)


@pytest.mark.parametrize("jac", ["exact", "2-point", "3-point"])
@pytest.mark.parametrize("name", FACES)
def test_every_saddle_is_left_within_the_bounds(name: str, jac: str) -> None:
    problem = FACES[name]
    own = {} if jac == "exact" else {"jac": jac, "tol": 1e-4}
    result = solve(problem, **own)
    if jac == "2-point" and not result.success:  # such gradients cannot show as much
        assert result.outcome in (Outcome.COARSER, Outcome.UNRESOLVED)
    else:
        fits(result, problem)
    assert result.fun < problem.value(problem.start) - 1e-3


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", FACES)
def test_in_single_precision_too(name: str, seed: int) -> None:
    problem, single = FACES[name], np.float32
    x0, grad = problem.start.astype(single), guarded(problem, "gradient", single)
    result = solve(problem, x0=x0, jac=grad, tol=1e-2, seed=seed)
    assert result.x.dtype == single
    assert result.fun < problem.value(problem.start) - 1e-4
    fits(result, problem)


def test_bounds_are_never_widened_by_rounding() -> None:
    upper = 0.1  # is more in single precision
    result = minimize(
        lambda x: -float(x[0]),
        np.zeros(1, "f"),
        jac=lambda x: -np.ones(1, "f"),
        bounds=[(0, upper)],
    )
    assert result.success
    assert float(result.x[0]) <= upper


def test_a_variable_that_is_fixed_between_two_numbers_is_at_the_nearest() -> None:
    result = minimize(
        lambda x: float(x @ x),
        np.array([0.7, 1.0], "f"),
        jac=lambda x: 2 * x,
        bounds=[(0.7, 0.7), (-1, 1)],
        tol=1e-3,
    )
    assert result.success
    assert result.x[0] == np.float32(0.7)


def test_where_no_variable_is_free_the_certificate_says_so() -> None:
    result = minimize(
        lambda x: -x.sum(), [0.0, 0.0], jac=lambda x: -np.ones(2), bounds=[(0, 1)] * 2
    )
    assert result.success
    assert str(result.certificate).startswith("certified: no variable is free.")


def test_the_gradient_is_whole_and_the_certificate_names_what_it_is_about() -> None:
    result = solve(FACE)
    assert np.array_equal(result.jac, FACE.gradient(result.x))
    assert result.certificate.free == 1
    assert result.certificate.gradient_norm <= 1e-5
    assert not result.certificate.unclear


def test_variables_that_nothing_holds_are_named() -> None:
    result = minimize(lambda x: x @ x, [1.0, 1.0], jac=lambda x: 2 * x, bounds=[(0, 2), (-1, 1)])
    assert result.success
    assert result.certificate.unclear == (0,)
    assert (
        "x[0], at a bound or next to one, may not be held there by the gradient" in result.message
    )


def test_a_variable_next_to_its_bound_is_named_and_no_probe_crosses() -> None:
    bounds = [(0.0, 1.0), (-1.0, 1.0)]
    shown = certify(lambda x: np.array([1.0, -x[1]]), [1e-9, 0.0], bounds=bounds)
    assert shown.holds is False
    assert shown.unclear == (0,)
    assert shown.free == 1
    assert np.allclose(abs(shown.direction), [0, 1])


@pytest.mark.parametrize(("x", "holds"), [([0.0, 0.0], False), ([0.0, 1.0], True)])
def test_certify_searches_the_free_variables(x: list[float], holds: bool) -> None:
    bounds = [*zip(FACE.lower, FACE.upper, strict=True)]
    assert certify(guarded(FACE, "gradient"), x, bounds=bounds).holds is holds


@pytest.mark.parametrize("method", ["lanczos", "anc", "nc"])
def test_every_search_takes_bounds(method: str) -> None:
    bounds = [*zip(FACE.lower, FACE.upper, strict=True)]
    grad = guarded(FACE, "gradient")
    assert find_negative_curvature(grad, [0.0, 0.0], method, bounds=bounds).holds is False


def test_certify_without_a_free_variable_takes_one_gradient_at_most() -> None:
    shown = certify(lambda x: -2 * x, [1.0, 1.0], bounds=[(0, 1), (0, 1)])
    assert shown.holds
    assert shown.gradients == shown.free == 0


def test_probes_that_meet_a_bound_hold_the_variable_and_begin_anew() -> None:
    """Noise makes the probe long; the variable it would take out of its bounds is then held."""
    rng, bounds = np.random.default_rng(0), [(-1e-3, 1e-3), (-9, 9), (-9, 9)]

    def noisy(x: np.ndarray) -> np.ndarray:
        assert abs(x[0]) <= 1e-3
        return np.array([1.0, 2.0, -1.0]) * x + 1e-3 * rng.standard_normal(3)

    shown = certify(noisy, np.zeros(3), bounds=bounds, gradient_noise=2e-3)
    assert shown.holds is False
    assert abs(shown.direction[2]) > 0.9


@pytest.mark.parametrize("budget", range(1, 12))
def test_a_run_within_bounds_is_resumed_wherever_it_stopped(budget: int, tmp_path: Any) -> None:
    cut = solve(FACE, max_gradients=budget)
    save(cut.state, tmp_path / "run.npz")
    again = solve(FACE, state=load(tmp_path / "run.npz"))
    fits(again, FACE)
    assert again.certificate.gradients <= solve(FACE).certificate.gradients


def test_a_search_within_bounds_is_resumed_bit_for_bit() -> None:
    problem = FACES["twenty"]
    whole = solve(problem)
    cut = solve(problem, max_gradients=whole.njev - 3)
    again = solve(problem, state=cut.state)
    assert np.array_equal(again.x, whole.x)
    assert again.certificate.curvature == whole.certificate.curvature
    assert cut.njev + again.njev == whole.njev


def test_several_starts_stay_within_the_bounds() -> None:
    result = solve(FACE, starts=4)
    assert len(result.runs) == 4
    fits(result, FACE)


def test_products_are_of_the_free_variables() -> None:
    problem, asked = FACES["twenty"], []

    def hessp(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        asked.append(p.copy())
        return problem.hessian(x) @ p

    result = solve(problem, hessp=hessp)
    fits(result, problem)
    assert asked
    assert sum(p[:10].any() for p in asked) <= 1  # but for the one that sees to the symmetry


def test_scipy_hands_its_bounds_on() -> None:
    sides, jac = [*zip(FACE.lower, FACE.upper, strict=True)], guarded(FACE, "gradient")
    given: Any = {"jac": jac, "bounds": sides, "method": scipy_method()}
    fits(scipy_minimize(guarded(FACE), FACE.start, **given), FACE)


def test_a_callback_sees_iterates_within_the_bounds_and_can_stop() -> None:
    seen: list[np.ndarray] = []

    def callback(xk: np.ndarray) -> None:
        seen.append(xk.copy())
        if len(seen) == 4:
            raise StopIteration

    result = solve(FACE, callback=callback)
    assert result.outcome is Outcome.STOPPED
    assert all((x >= FACE.lower).all() and (x <= FACE.upper).all() for x in seen)


@pytest.mark.parametrize("trouble", [np.nan, np.inf])
def test_a_wall_inside_the_bounds_is_turned_away_from(trouble: float) -> None:
    def fun(x: np.ndarray) -> float:
        return trouble if x[0] > 1 else float((x[0] - 0.5) ** 2 - x[0])

    def jac(x: np.ndarray) -> np.ndarray:
        return np.full(1, trouble) if x[0] > 1 else 2 * (x - 0.5) - 1

    result = minimize(fun, [-7.0], jac=jac, bounds=[(-8, 8)], tol=1e-3)
    assert result.fun == pytest.approx(-0.75, abs=1e-4)


def test_x0_outside_is_moved_in_with_a_warning() -> None:
    with pytest.warns(OptimizeWarning, match=r"x0 is outside the bounds in x\[0\], and was moved"):
        result = solve(FACE, x0=[-4.0, 0.0])
    fits(result, FACE)
    with pytest.warns(OptimizeWarning, match="a row of starts is outside the bounds") as seen:
        solve(FACE, starts=[[-4.0, 0.0]], x_scale=2.0)
    assert [warning.filename for warning in seen] == [__file__]


EYE = {"fun": lambda x: x @ x, "jac": lambda x: 2 * x, "x0": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bounds": [(0, 1), (1, 0)]}, "bounds of variable 1 are crossed: lb 1, ub 0"),
        ({"bounds": [(0, 1), (np.nan, 0)]}, "bounds of variable 1 are NaN"),
        ({"bounds": [(np.inf, np.inf), (0, 1)]}, "bounds of variable 0 are infinite on the wrong"),
        ({"bounds": [(0, 1)] * 3}, "bounds are for 3 variables, expected 2 like x0"),
        ({"bounds": 7}, "bounds must be scipy.optimize.Bounds"),
        ({"bounds": [(0, 1, 2)] * 2}, "bounds must be scipy.optimize.Bounds"),
        ({"bounds": [("a", 1)] * 2}, "bounds must be scipy.optimize.Bounds"),
        ({"bounds": [(1, 1)] * 2}, "bounds fix every variable"),
        ({"bounds": Bounds(0, 1), "method": "agd-auto"}, "bounds go with method 'auto'"),  # type: ignore[arg-type]
        ({"bounds": Bounds(0, 1), "descent": lambda x: x}, "bounds and descent do not go"),  # type: ignore[arg-type]
        ({"constraints": {"type": "eq"}}, "constraints are not supported: bounds are"),
    ],
)
def test_bad_bounds_are_named_at_once(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match="^" + words.replace("(", r"\(").replace("[", r"\[")):
        minimize(**{**EYE, **given})


def test_a_state_goes_with_its_bounds() -> None:
    within = solve(FACE, max_gradients=4).state
    without = minimize(**EYE, max_gradients=1).state
    with pytest.raises(ValueError, match="state is of a run with descent="):
        minimize(**EYE, state=within)
    with pytest.raises(ValueError, match="state is of a run without"):
        solve(FACE, state=without)
    other: Any = {"bounds": [(5, 6), (5, 6)], "x0": [5, 5]}
    with pytest.raises(ValueError, match="other bounds"):
        minimize(**{**EYE, **other}, state=within)


def test_bounds_that_are_infinite_or_none_are_no_bounds() -> None:
    for bounds in ([(None, None)] * 2, Bounds(), [(-np.inf, np.inf)] * 2, [], None):
        assert minimize(**EYE, bounds=bounds).certificate.free is None


@pytest.mark.parametrize("call", range(1, 7))
def test_an_infinite_gradient_of_a_variable_that_is_held_ends_the_run(call: int) -> None:
    calls = iter(range(1, 10**9))

    def jac(x: np.ndarray) -> np.ndarray:
        return np.array([np.inf if next(calls) >= call else x[0], x[1] ** 3 - x[1]])

    def fun(x: np.ndarray) -> float:
        return float(x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4)

    result = minimize(fun, [1.0, 0.0], jac=jac, bounds=[(0.5, 2.0), (-0.5, 2.0)])
    assert result.outcome is Outcome.NOT_FINITE
