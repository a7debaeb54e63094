"""The loop around the methods: counts, budgets, interruptions and what a user reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.optimize import minimize as scipy_minimize

from tests.watched import (
    CONSTANTS,
    MEASURED,
    OPTIONS,
    START,
    Calls,
    at_call,
    each_method,
    each_method_and_form,
    gradient,
    of,
    owes,
    positions,
    problem,
    same,
    solve,
    some_calls,
    value,
)
from unsaddle import Outcome, minimize, scipy_method

NEVER = {"decrease": 10.0}  # no kick and no jump lowers the function by so much


def test_the_runs_pass_every_phase() -> None:
    seen = {name for method in OPTIONS for name in solve(method, "apart", []).history.phase}
    assert seen >= {
        *("start", "go", "nce_test", "nce_plus", "nce_minus", "line_search", "begin"),
        *("energy_test",),
        *("search", "jump_begin", "jump", "prove", "proof search", "report"),
    }


# SciPy's conventions


def front(name: str, fun: Any, x0: Any, method: str, **given: Any) -> OptimizeResult:
    """Call minimize directly or through SciPy."""
    own = {k: v for k, v in {**CONSTANTS, **OPTIONS[method]}.items() if k not in given}
    if name == "unsaddle":
        return minimize(fun, x0, method=method, **own, **given)
    return scipy_minimize(fun, x0, method=scipy_method(method, **own), **given)


each_front = pytest.mark.parametrize("name", ["unsaddle", "scipy"])


@each_front
@each_method
def test_arguments_and_forms(name: str, method: str) -> None:
    """The args reach both functions, jac=True and a jac apart agree, and SciPy's tol counts."""

    def fun(x: np.ndarray, shift: np.ndarray, factor: float) -> float:
        return factor * value(x - shift)

    def jac(x: np.ndarray, shift: np.ndarray, factor: float) -> np.ndarray:
        return factor * gradient(x - shift)

    def both(x: np.ndarray, *args: Any) -> Any:
        return fun(x, *args), jac(x, *args)

    x0, args, tol = [3.0, 3.0], (np.array([2.0, 3.0]), 0.5), 3e-3
    apart = front(name, fun, x0, method, args=args, jac=jac, tol=tol)
    together = front(name, both, x0, method, args=args, jac=True, tol=tol)
    for result in (apart, together):
        assert result.success
        assert np.linalg.norm(jac(result.x, *args)) <= tol
        assert result.parameters.tolerance <= tol
        assert result.fun == fun(result.x, *args)
    assert np.array_equal(apart.x, together.x)


@each_front
def test_one_argument_need_not_be_a_tuple(name: str) -> None:
    given = {"args": 0.5, "jac": lambda x, a: a * gradient(x)}
    assert front(name, lambda x, a: a * value(x), START, "ancgd", **given).success


@each_method
def test_fields_and_types(method: str) -> None:
    calls: Calls = []
    result = solve(method, "apart", calls)
    scipy = front("scipy", **problem("apart", []), x0=START, method=method)
    kinds = {"x": np.ndarray, "fun": float, "jac": np.ndarray, "success": bool, "status": int}
    kinds |= {"message": str, "nfev": int, "njev": int, "nit": int}
    for each in (result, scipy):
        assert isinstance(each, OptimizeResult)
        assert {field: type(each[field]) for field in kinds} == kinds
        assert each.success
    assert np.array_equal(result.x, scipy.x)
    assert (result.nfev, result.njev) == (scipy.nfev, scipy.njev)
    assert "certified" in str(result.certificate)


@each_method_and_form
def test_the_history_is_every_look(method: str, form: str) -> None:
    calls: Calls = []
    result = solve(method, form, calls)
    history = result.history
    assert len(history.phase) == len(history.value) == len(history.gradient_norm)
    assert all(history.phase)
    values, norms = (each[np.isfinite(each)] for each in (history.value, history.gradient_norm))
    assert np.array_equal(values, [value(x) for x in of("value", calls)])
    expected = [np.linalg.norm(gradient(x)) for x in of("gradient", calls)]
    np.testing.assert_allclose(norms, expected, rtol=1e-14, atol=1e-300)


@each_front
@each_method
def test_callbacks(name: str, method: str) -> None:
    """Both signatures are called once an iteration; what they do to x is their own affair."""
    olds, news, stopped = [], [], []

    def new(intermediate_result: OptimizeResult) -> None:
        news.append(intermediate_result)
        intermediate_result.x[:] = np.nan

    def old(xk: np.ndarray) -> None:
        olds.append(xk.copy())
        xk[:] = np.nan

    def stop(xk: np.ndarray) -> None:
        stopped.append(xk)
        if len(stopped) == 7:
            raise StopIteration

    both = {"fun": value, "jac": gradient, "x0": START, "method": method}
    results = [front(name, **both, callback=each) for each in (None, old, new)]
    assert all(np.array_equal(results[0].x, each.x) for each in results)
    assert len(olds) == len(news) == results[1].nit
    assert [each.nit for each in news] == list(range(1, len(news) + 1))
    assert all(x.shape == (2,) and np.isfinite(x).all() for x in olds)
    assert np.array_equal(olds[-1], results[1].x)
    cut = front(name, **both, callback=stop)
    assert (cut.outcome, len(stopped), cut.njev) == (Outcome.STOPPED, 7, 7)
    assert cut.fun == value(cut.x) <= value(START)


# Outcomes


@pytest.mark.slow
@each_method_and_form
@pytest.mark.parametrize("options", [NEVER, {**NEVER, "enough": np.inf}, {"window": 1}], ids=str)
def test_a_test_that_is_not_to_be_trusted(method: str, form: str, options: Any) -> None:
    """Where no decrease is enough a method ends on the saddle, and the result says what is there.

    With ``enough`` infinite the last direction of the search is not the one of lowest curvature.
    """
    if method in MEASURED or ("enough" in options and method in ("pgd", "pagd")):
        pytest.skip("has no such option")
    calls: Calls = []
    result = solve(method, form, calls, **options)
    if options != {"window": 1}:
        searches = method in ("pgd+nc", "ancgd", "neon2")
        assert result.outcome is (Outcome.JUMP_FAILED if searches else Outcome.NEGATIVE_CURVATURE)
        assert result.certificate.holds is False
    for budget in range(max(0, result.njev - 20), result.njev + 1):
        assert solve(method, form, [], max_gradients=budget, **options).njev <= budget


@each_method_and_form
@some_calls
@pytest.mark.slow
def test_the_budget_is_exact(method: str, form: str, every: int) -> None:
    """A budget cuts a run short and changes nothing else; it is used up, and never exceeded."""
    calls: Calls = []
    full = solve(method, form, calls)
    asked, total = of("gradient", calls), full.njev
    budgets = (*range(min(61, total)), *range(max(0, total - 45), total - 2))
    for budget in (*budgets[::every], *range(max(0, total - 2), total + 2)):
        part: Calls = []
        result = solve(method, form, part, max_gradients=budget)
        assert same(of("gradient", part), asked[:budget])
        short = budget < total
        assert result.outcome in (
            (Outcome.BUDGET, Outcome.UNCERTIFIED) if short else (full.outcome,)
        )
        assert not result.fun > value(START)


def lowest(calls: Calls, k: int) -> float:
    """Give the lowest value that was seen before call k; NaN if there is none."""
    return min((value(x) for x in of("value", calls[: k - 1])), default=np.nan)


@each_method_and_form
@some_calls
@pytest.mark.slow
def test_ctrl_c_gives_the_best_point(method: str, form: str, every: int) -> None:
    """At every call, also that for the value where the method has ended: nothing seen is lost."""
    calls: Calls = []
    solve(method, form, calls)
    for k in positions(len(calls), every):
        part: Calls = []
        result = solve(method, form, part, at_call(k, KeyboardInterrupt()))
        assert result.outcome is Outcome.INTERRUPTED
        assert len(part) == k
        best = lowest(calls, k)
        assert np.isnan(best) or result.fun <= best
        assert np.isnan(best) or result.best.fun <= best


@each_method_and_form
@some_calls
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.slow
def test_an_answer_that_is_not_finite(method: str, form: str, bad: float, every: int) -> None:
    """Once, or from then on: the outcome says so, and x is the lowest point that was seen."""
    calls: Calls = []
    solve(method, form, calls)
    once = [(k, k) for k in positions(len(calls), every)[:: 1 if np.isnan(bad) else 17]]
    for first, last in once + [(k, 10**9) for k, _ in once[::17]]:

        def trouble(call: int, first: int = first, last: int = last) -> Any:
            return bad if first <= call <= last else None

        result = solve(method, form, [], trouble)
        if method in MEASURED and (result.success or result.outcome is Outcome.JUMP_FAILED):
            continue  # a trial step that is undefined is shortened
        assert result.outcome is Outcome.NOT_FINITE, (first, last)
        best = lowest(calls, first)
        assert np.isnan(best) or result.fun <= best
        assert np.isnan(best) or result.best.fun <= best


@dataclass(frozen=True)
class FrozenError(Exception):
    """An exception that takes no attributes."""

    text: str


@each_method_and_form
@pytest.mark.parametrize("kind", [ZeroDivisionError, StopIteration, FrozenError, SystemExit])
@pytest.mark.slow
def test_an_exception_passes_unchanged(method: str, form: str, kind: type[Any]) -> None:
    calls: Calls = []
    solve(method, form, calls)
    for k in positions(len(calls))[::19]:
        error, part = kind("the user's"), []
        with pytest.raises(kind) as caught:
            solve(method, form, part, at_call(k, error))
        assert caught.value is error
        assert len(part) == k
        if kind not in (FrozenError, SystemExit):
            so_far, best = vars(error)["unsaddle"], lowest(calls, k)
            owes(so_far, part)
            assert not so_far.success
            assert np.isnan(best) or so_far.fun <= best


def test_an_exception_of_the_callback_passes_too() -> None:
    error, calls = ZeroDivisionError("the user's"), []

    def callback(xk: np.ndarray) -> None:
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        solve("ancgd", "apart", calls, callback=callback)
    assert caught.value is error
    owes(vars(error)["unsaddle"], calls)
