"""Bad input gets an error that names the argument, before the first call where it can be known."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from tests.often import in_turn
from tests.watched import MEASURED
from unsaddle import METHODS, Outcome, minimize

NAN, INF = np.nan, np.inf
EITHER = (TypeError, ValueError)
MATRIX, FLOAT32 = np.zeros((2, 2)), np.array([1, 0], np.float32)
GIVEN = {
    "x0": np.array([1.0, 0.0]),
    "smoothness": 6.0,
    "hessian_lipschitz": 9.0,
    "tol": 1e-2,
    "decrease_available": 1.0,
    "max_gradients": 300,
}


def value(x: Any) -> float:
    """Of a function with a saddle at 0 and minima at (0, +-1)."""
    return float(0.5 * x[0] ** 2 - 0.5 * x[1] ** 2 + 0.25 * x[1] ** 4)


def gradient(x: Any) -> np.ndarray:
    return np.array([x[0], x[1] ** 3 - x[1]])


def spoilt(answer: Callable[..., Any], damage: Any) -> Callable[..., Any]:
    """Answer, and write into the question."""

    def call(x: np.ndarray) -> Any:
        given = answer(x)
        x += damage
        return given

    return call


def counted(function: Any, calls: list[Any]) -> Any:
    """Count the calls of a function; leave alone what cannot be called."""
    if not callable(function):
        return function

    def call(*args: Any) -> Any:
        calls.append(args)
        return function(*args)

    return call


def says(error: pytest.ExceptionInfo[BaseException], words: str) -> None:
    for word in words.split():
        assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(error.value)), str(error.value)


def named(table: list[tuple[dict[str, Any], Any, str]]) -> list[Any]:
    """Name each row after what is wrong in it."""

    def name(overrides: dict[str, Any]) -> str:
        shown = (f"{k}={re.sub(r'(?s)[ <].*', '', repr(v))}" for k, v in overrides.items())
        return ",".join(shown)

    return [pytest.param(*row, id=f"{i}-{name(row[0])}") for i, row in enumerate(table)]


def with_methods(rows: list[Any]) -> Any:
    """Try all rows with all methods; in every run without constants, with them, and one more."""
    cases = in_turn([*METHODS], ("auto", "ancgd"), rows)
    return pytest.mark.parametrize(("method", "overrides", "kind", "words"), cases)


# overrides of the call, the exception, words of its message
BEFORE = named(
    [
        ({"x0": MATRIX}, ValueError, "x0 dimension (2, 2)"),
        ({"x0": []}, ValueError, "x0 empty"),
        ({"x0": "saddle"}, TypeError, "x0"),
        ({"x0": ["1", "2"]}, TypeError, "x0"),
        ({"x0": None}, TypeError, "x0"),
        ({"x0": [None, 1.0]}, TypeError, "x0"),
        ({"x0": np.array([1, 2], object)}, TypeError, "x0 object"),
        ({"x0": [[1.0], [2.0, 3.0]]}, ValueError, "x0"),
        ({"x0": [1 + 1j, 0]}, TypeError, "x0 complex128 real imaginary"),
        ({"x0": OptimizeResult(x=np.ones(2))}, TypeError, "x0 result.x"),
        ({"x0": value}, TypeError, "x0 function first"),
        ({"x0": [0.0, NAN]}, ValueError, "x0 NaN 1"),
        ({"x0": [INF, 0.0]}, ValueError, "x0 infinity 0"),
        ({"fun": None}, TypeError, "fun certify(jac, x) certificate.direction forces"),
        ({"fun": 1.0}, TypeError, "fun float"),
        ({"fun": None, "jac": True}, TypeError, "fun"),
        ({"jac": "4-point"}, TypeError, "jac 4-point"),
        ({"jac": 3}, TypeError, "jac 3"),
        ({"method": "angcd"}, ValueError, "method angcd ancgd"),
        ({"method": "PGD+NC "}, ValueError, "method pgd+nc"),
        ({"method": None}, EITHER, "method None"),
        ({"method": ["auto"]}, ValueError, "method name"),
        ({"args": gradient}, TypeError, "args tuple jac= method="),
        ({"args": "ancgd"}, TypeError, "args tuple ancgd jac= method="),
        ({"starts": 2.0}, ValueError, "starts number points function 2.0"),
        ({"starts": []}, ValueError, "starts number points function"),
        ({"starts": [[1.0, 0.0, 0.0]]}, ValueError, "starts 3 2 x0"),
        ({"windw": 3}, TypeError, "windw window"),
        ({"widow": 3}, TypeError, "widow window"),
        ({"maxiter": 3}, TypeError, "maxiter max_gradients=<a arguments starts"),
        ({"maxfun": 3}, TypeError, "maxfun max_gradients"),
        ({"gtol": 1e-3}, TypeError, "gtol tol=<the"),
        ({"ftol": 1e-3}, TypeError, "ftol tol=<the"),
        ({"max_seconds": -1}, ValueError, "max_seconds number seconds -1"),
        ({"max_seconds": NAN}, ValueError, "max_seconds number seconds nan"),
        ({"certificate_budget": 1}, ValueError, "certificate_budget share between 0 1 0.25"),
        ({"x_scale": 0.0}, ValueError, "x_scale must be positive 0"),
        ({"x_scale": [1.0, -1.0]}, ValueError, "x_scale must be positive -1 1"),
        ({"x_scale": [1.0, NAN]}, ValueError, "x_scale must be positive nan"),
        ({"x_scale": [1.0, 1.0, 1.0]}, ValueError, "x_scale shape number 2 x0"),
        ({"x_scale": "auto"}, ValueError, "x_scale must be positive auto"),
        ({"hessp": 3.0}, TypeError, "hessp must be callable"),
        ({"options": {"maxiter": 3}}, TypeError, "options max_gradients=1000"),
        ({"constraints": [{"type": "eq"}]}, ValueError, "constraints not supported"),
        ({"bounds": np.zeros((2, 2))}, ValueError, "bounds fix every variable"),
        ({"grad": gradient}, TypeError, "grad jac=<the"),
        ({"smoothnes": 3}, TypeError, "smoothnes smoothness"),
        ({"smoothness": None, "smothness": 3}, TypeError, "smothness did mean smoothness"),
        ({"callbak": print}, TypeError, "callbak callback"),
        ({"window": -1}, ValueError, "window -1"),
        ({"window": NAN}, ValueError, "window nan"),
        ({"window": "9"}, EITHER, "window 9"),
        ({"radius": -1e-9}, ValueError, "radius -1e-09"),
        ({"radius": None}, EITHER, "radius None"),
        ({"tol": 0}, ValueError, "tol 0"),
        ({"tol": -1e-3}, ValueError, "tol -0.001"),
        ({"tol": NAN}, ValueError, "tol nan"),
        ({"tol": INF}, ValueError, "tol inf"),
        ({"tol": "small"}, EITHER, "tol small"),
        ({"tol": None}, EITHER, "tol None"),
        ({"tol": 4.1}, ValueError, "tol 4.1 4.0"),
        ({"tol": 0, "curvature_tol": 0.1}, ValueError, "tol 0"),
        ({"tol": -1e-3, "curvature_tol": 0.1}, ValueError, "tol -0.001"),
        ({"tol": NAN, "curvature_tol": 0.1}, ValueError, "tol nan"),
        ({"tol": "small", "curvature_tol": 0.1}, EITHER, "tol small"),
        ({"curvature_tol": 0}, ValueError, "curvature_tol 0"),
        ({"curvature_tol": -0.1}, ValueError, "curvature_tol -0.1"),
        ({"curvature_tol": NAN}, ValueError, "curvature_tol nan"),
        ({"curvature_tol": INF}, ValueError, "curvature_tol inf"),
        ({"curvature_tol": 6.1}, ValueError, "curvature_tol 6.1 6.0"),
        ({"curvature_tol": "small"}, EITHER, "curvature_tol small"),
        ({"failure_probability": 0}, ValueError, "failure_probability 0"),
        ({"failure_probability": 1.01}, ValueError, "failure_probability 1.01"),
        ({"failure_probability": -1e-3}, ValueError, "failure_probability"),
        ({"failure_probability": NAN}, ValueError, "failure_probability nan"),
        ({"failure_probability": "low"}, EITHER, "failure_probability low"),
        ({"smoothness": None}, EITHER, "smoothness missing"),
        ({"smoothness": NAN}, ValueError, "smoothness"),
        ({"smoothness": 0.0}, ValueError, "smoothness 0.0"),
        ({"smoothness": -6.0}, ValueError, "smoothness -6.0"),
        ({"smoothness": INF}, ValueError, "smoothness inf"),
        ({"smoothness": "6"}, EITHER, "smoothness 6"),
        ({"smoothness": np.ones(2)}, EITHER, "smoothness"),
        ({"hessian_lipschitz": None}, EITHER, "hessian_lipschitz missing"),
        ({"hessian_lipschitz": NAN}, ValueError, "hessian_lipschitz"),
        ({"hessian_lipschitz": 0.0}, ValueError, "hessian_lipschitz 0.0"),
        ({"hessian_lipschitz": -9.0}, ValueError, "hessian_lipschitz -9.0"),
        ({"hessian_lipschitz": -9.0, "curvature_tol": 0.1}, ValueError, "hessian_lipschitz -9.0"),
        ({"decrease_available": 0.0}, ValueError, "decrease_available 0.0"),
        ({"decrease_available": NAN}, ValueError, "decrease_available nan"),
        ({"seed": -1}, ValueError, "seed -1"),
        ({"seed": 1.5}, EITHER, "seed 1.5"),
        ({"seed": None}, EITHER, "seed None"),
        ({"seed": "1"}, EITHER, "seed 1"),
        ({"max_gradients": -1}, ValueError, "max_gradients -1"),
        ({"max_gradients": NAN}, ValueError, "max_gradients nan"),
        ({"max_gradients": 2.5}, EITHER, "max_gradients 2.5"),
        ({"max_gradients": "10"}, EITHER, "max_gradients 10"),
        ({"max_gradients": True}, ValueError, "max_gradients whole True"),
        ({"callback": 1}, TypeError, "callback int"),
        ({"callback": [print]}, TypeError, "callback list"),
        ({"state": "run.npz"}, TypeError, "state str unsaddle.load(path)"),
        ({"state": Path("run.npz")}, TypeError, "state unsaddle.load(path)"),
        ({"state": OptimizeResult()}, TypeError, "state OptimizeResult result.state"),
        ({"state": {"phase": 0}}, TypeError, "state dict result.state"),
    ]
)


@with_methods(BEFORE)
def test_known_before_the_first_call(
    method: str, overrides: dict[str, Any], kind: type[Exception], words: str
) -> None:
    missing = any(given is None for given in overrides.values()) and len(overrides) == 1
    absent = method in MEASURED and overrides.keys() & NOT_OF_MEASURED
    if absent or ("auto" in method and missing):
        overrides = {"enough": -1}
        kind, words = ValueError, "enough -1"
    calls: list[Any] = []
    call: dict[str, Any] = {**GIVEN, "fun": value, "jac": gradient, "method": method, **overrides}
    call |= {name: counted(call[name], calls) for name in ("fun", "jac")}
    with pytest.raises(kind) as error:
        minimize(**call)
    says(error, words)
    assert not calls


@pytest.mark.parametrize("method", ["pgd", "pagd"])
def test_the_baselines_ask_for_decrease_available(method: str) -> None:
    with pytest.raises(ValueError, match="decrease_available is missing"):
        minimize(value, jac=gradient, method=method, **{**GIVEN, "decrease_available": None})


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].constants])
def test_all_that_is_missing_is_said_at_once(method: str) -> None:
    needed = METHODS[method].constants
    with pytest.raises(ValueError, match="are missing") as error:
        minimize(value, [1.0, 0.0], jac=gradient, method=method)
    says(error, " ".join((*needed, *(f"{name}=<a" for name in needed))))


def test_options_are_those_of_the_method() -> None:
    for method, own in (("auto", "finest"), ("ancgd", "nce_curvature"), ("pgd", "radius")):
        with pytest.raises(TypeError) as error:
            minimize(value, jac=gradient, method=method, **GIVEN, unheard_of=1)
        says(error, f"unheard_of arguments max_gradients starts {method} {own}")


# which function is at fault, overrides, the exception, words of its message
ANSWERS = named(
    [
        ({"fun": lambda x: np.ones(2)}, TypeError, "fun (2,)"),
        ({"fun": lambda x: None}, TypeError, "fun NoneType"),
        ({"fun": lambda x: 1j}, TypeError, "fun complex"),
        ({"fun": lambda x: "1.0"}, TypeError, "fun str"),
        ({"fun": lambda x: (1.0, 2.0)}, TypeError, "fun tuple"),
        ({"fun": lambda x: (value(x), gradient(x))}, EITHER, "fun tuple"),
        ({"fun": spoilt(value, 1e-3)}, ValueError, "fun x place copy"),
        ({"jac": lambda x: np.ones(3)}, ValueError, "jac (3,) (2,)"),
        ({"jac": lambda x: gradient(x)[None]}, ValueError, "jac (1, 2) (2,) ravel"),
        ({"jac": lambda x: gradient(x)[:, None]}, ValueError, "jac (2, 1) (2,) ravel"),
        ({"jac": lambda x: np.eye(2)}, ValueError, "jac (2, 2) (2,)"),
        ({"jac": lambda x: 1.0}, ValueError, "jac (2,) value"),
        (
            {"fun": lambda x: x[0] ** 2, "jac": lambda x: x[0], "x0": [1.0]},
            ValueError,
            "jac (1,) np.atleast_1d",
        ),
        ({"jac": lambda x: None}, EITHER, "jac None return"),
        ({"jac": lambda x: [1.0, [2.0, 3.0]]}, EITHER, "jac value gradient"),
        ({"jac": lambda x: ["1", "2"]}, TypeError, "jac real"),
        ({"jac": lambda x: [None, None]}, TypeError, "jac real object"),
        ({"jac": lambda x: gradient(x) + 0j}, TypeError, "jac complex128"),
        ({"jac": lambda x: np.float32(gradient(x))}, TypeError, "jac float32 float64 x0"),
        ({"jac": lambda x: np.float16(x), "x0": FLOAT32}, TypeError, "jac float16 float32"),
        ({"jac": spoilt(gradient, 1e-3)}, ValueError, "jac x place copy"),
        ({"fun": value, "jac": True}, TypeError, "fun jac=True gradient"),
        ({"fun": lambda x: (1.0,), "jac": True}, TypeError, "fun jac=True"),
        ({"fun": lambda x: gradient(x), "jac": True}, TypeError, "fun jac=True"),
        ({"fun": lambda x: (None, gradient(x)), "jac": True}, TypeError, "fun NoneType"),
        ({"fun": lambda x: (value(x), np.ones(3)), "jac": True}, ValueError, "(3,) (2,)"),
        (
            {"fun": spoilt(lambda x: (value(x), gradient(x)), 1e-3), "jac": True},
            ValueError,
            "fun x place copy",
        ),
    ]
)


@with_methods(ANSWERS)
def test_known_from_the_first_answer(
    method: str, overrides: dict[str, Any], kind: type[Exception], words: str
) -> None:
    calls: list[Any] = []
    call: dict[str, Any] = {**GIVEN, "fun": value, "jac": gradient, "method": method, **overrides}
    fault = "jac" if words.startswith("jac") else "fun"
    with pytest.raises(kind) as error:
        minimize(**{**call, fault: counted(call[fault], calls)})
    says(error, words)
    assert len(calls) == 1


def test_a_state_of_another_run_is_refused() -> None:
    """Another method, size or precision: each is known before the first call."""
    calls: list[Any] = []
    call = {**GIVEN, "fun": counted(value, calls), "jac": counted(gradient, calls)}
    state = minimize(**{**call, "max_gradients": 9}, method="ancgd").state
    calls.clear()
    for method, x0 in (("pgd+nc", [1.0, 0.0]), ("ancgd", [1.0, 0.0, 0.0]), ("ancgd", FLOAT32)):
        with pytest.raises(EITHER) as error:
            minimize(**{**call, "x0": x0}, method=method, state=state)
        says(error, "state")
    assert not calls


@pytest.mark.parametrize("method", METHODS)
def test_numpy_numbers_are_numbers(method: str) -> None:
    given = {**GIVEN, "curvature_tol": 0.25, "failure_probability": 0.5, "seed": 3}
    given |= {} if method in MEASURED else {"window": 20}
    kinds = {int: np.int64, float: np.float64}
    scalars = {k: kinds.get(type(v), lambda v: v)(v) for k, v in given.items()}
    plain, numpy = (
        minimize(value, jac=gradient, method=method, **each) for each in (given, scalars)
    )
    assert plain.outcome is numpy.outcome
    np.testing.assert_array_equal(plain.x, numpy.x)
    np.testing.assert_array_equal(plain.history.gradient_norm, numpy.history.gradient_norm)


NOT_OF_MEASURED = {"windw", "widow", "window", "radius"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("x0", [[1.0, 0.5], [1.0, 0.0], [0.0, 0.9]])
def test_a_gradient_of_the_wrong_sign_is_suspected(method: str, x0: list[float]) -> None:
    wrong = {**GIVEN, "x0": x0, "jac": lambda x: -gradient(x), "max_gradients": 1000}
    result = minimize(value, method=method, **wrong)
    assert not result.success
    assert "scipy.optimize.check_grad(fun, jac, x0)" in result.message
    right = minimize(value, method=method, **{**wrong, "jac": gradient})
    assert "check_grad" not in right.message


def test_a_descent_that_stops_early_is_told_from_a_wrong_gradient() -> None:
    result = minimize(value, [1.0, 0.5], jac=gradient, descent=lambda x: x)
    assert result.outcome is Outcome.STALLED
    assert "give it a smaller tolerance" in result.message
    assert "check_grad" not in result.message
