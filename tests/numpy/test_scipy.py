"""As a method of ``scipy.optimize.minimize``: called as SciPy calls, or refused clearly."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeWarning
from scipy.optimize import minimize as scipy_minimize

from tests.watched import gradient, hessian, value
from unsaddle import Outcome, minimize, scipy_method


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"bounds": [(0, 1), (0, 1)]}, "bounds go with method 'auto', got 'ancgd'"),
        ({"bounds": np.array([[0, 1], [0, 1]])}, "bounds go with method 'auto'"),
        ({"bounds": Bounds(0, 1)}, "bounds go with method 'auto'"),  # type: ignore[arg-type]
        ({"constraints": {"type": "eq", "fun": value}}, "constraints are not supported"),
        ({"constraints": [{"type": "eq", "fun": value}]}, "constraints are not supported"),
    ],
    ids=["list", "array", "Bounds", "dict", "dicts"],
)
def test_scipy_is_told_which_limits_are_not_supported(limits: dict[str, Any], words: str) -> None:
    method = scipy_method("ancgd", smoothness=6.0, hessian_lipschitz=9.0)
    with pytest.raises(ValueError, match=words):
        scipy_minimize(value, [1.0, 0.0], jac=gradient, method=method, **limits)


FREE = [{"bounds": [(None, None), (-np.inf, None)]}, {"bounds": Bounds()}]  # bound nothing
EMPTY = {"bounds": None, "constraints": (), "hess": None, "hessp": None}


@pytest.mark.parametrize(
    ("jac", "given"),
    [
        (gradient, {}),
        (gradient, {"tol": 1e-3, **EMPTY}),
        (gradient, {"options": {"max_gradients": 50, "tol": 1e-3, "disp": False}}),
        (gradient, {"hess": hessian}),
        (None, {}),
        (True, {"callback": lambda xk: None}),
        (gradient, {"callback": lambda intermediate_result: None}),
    ],
)
@pytest.mark.parametrize("method", [scipy_method(), scipy_method("auto", seed=3), minimize])
def test_scipy_calls_it_as_it_is(method: Any, jac: Any, given: dict[str, Any]) -> None:
    """As SciPy passes things on; without any option even ``minimize`` itself will do."""
    fun = (lambda x: (value(x), gradient(x))) if jac is True else value
    result = scipy_minimize(fun, [1.0, 0.0], jac=jac, method=method, **given)
    assert result.success
    assert result.fun == pytest.approx(-0.25)


def test_what_scipy_does_not_say_does_not_hide_what_was_said_before() -> None:
    seen: list[Any] = []
    method = scipy_method(callback=lambda xk: seen.append(xk), jac="3-point")
    assert scipy_minimize(value, [1.0, 0.0], method=method).success
    assert seen


@pytest.mark.parametrize("empty", [EMPTY, {"options": None}, {"options": {}, "bounds": []}, *FREE])
def test_what_asks_for_nothing_is_accepted(empty: dict[str, Any]) -> None:
    assert minimize(value, [1.0, 0.0], jac=gradient, **empty).success


def test_scipy_method_knows_its_name_at_once() -> None:
    with pytest.raises(ValueError, match="did you mean 'ancgd'"):
        scipy_method("angcd")


@pytest.mark.parametrize("word", ["maxiter", "maxfun", "maxfev", "max_gradients"])
def test_every_budget_of_scipy_limits_the_gradients(word: str) -> None:
    options = {word: 4, "maxiter": 4}
    result = scipy_minimize(value, [1, 0], jac=gradient, method=scipy_method(), options=options)
    assert result.outcome is Outcome.BUDGET
    assert result.njev == 4


def test_values_are_what_a_numerical_gradient_is_made_of() -> None:
    options = {"maxfun": 20}  # of four values each
    result = scipy_minimize(value, [1, 0], method=scipy_method(), options=options)
    assert result.outcome is Outcome.BUDGET
    assert result.njev == 5


@pytest.mark.parametrize(("norm", "tol"), [(np.inf, 1e-3), (2, 1e-3), (1, 1e-3 / 3), (-1, 1e-3)])
def test_gtol_is_met_in_the_norm_that_is_asked_for(norm: float, tol: float) -> None:
    x0, options = np.append(np.ones(8), 0.5), {"gtol": 1e-3, "norm": norm}
    result = scipy_minimize(value, x0, jac=gradient, method=scipy_method(), options=options)
    assert result.success
    assert result.parameters.tolerance == pytest.approx(tol)
    assert np.linalg.norm(result.jac, norm) <= 1e-3


def test_options_without_meaning_are_named_in_one_warning() -> None:
    options = {"ftol": 1e-9, "maxls": 20, "maxcor": 5, "gtol": 1e-4}
    with pytest.warns(OptimizeWarning, match="ftol, maxls, maxcor have no meaning") as seen:
        result = scipy_minimize(value, [1, 0], jac=gradient, method=scipy_method(), options=options)
    assert result.success
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("callback", [None, lambda xk: None, lambda intermediate_result: None])
def test_return_all_gives_the_iterates(callback: Any) -> None:
    given = {"options": {"return_all": True}, "callback": callback}
    result = scipy_minimize(value, [1, 0], jac=gradient, method=scipy_method(), **given)
    assert np.array_equal(result.allvecs[0], [1, 0])
    assert np.array_equal(result.allvecs[-1], result.x)
    assert len({x.tobytes() for x in result.allvecs}) == len(result.allvecs)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"maxit": 9}, TypeError, "maxit is unknown; did you mean"),
        ({"maxiter": -1}, ValueError, "maxiter must be a whole number >= 0"),
        ({"gtol": 0.0}, ValueError, "option gtol must be a number > 0, got 0.0"),
        ({"gtol": 1e-3, "norm": "fro"}, ValueError, "option norm must be the order of a norm"),
    ],
)
def test_other_options_are_refused_with_what_to_type(options: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=re.escape(words)):
        scipy_minimize(value, [1, 0], jac=gradient, method=scipy_method(), options=options)


def test_disp_prints_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    options = {"disp": True}
    result = scipy_minimize(value, [1, 0], jac=gradient, method=scipy_method(), options=options)
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == result.message
    assert [line.split()[0] for line in lines if "gradients," not in line] == [
        *("1", "search", "curvature", "jump", "search"),
    ]


def test_a_hessian_that_fails_is_done_without() -> None:
    """As the state space models of statsmodels hand one on that no gradient method calls."""

    def failing(x: np.ndarray) -> np.ndarray:
        raise ValueError("no Hessian of these parameters")

    with pytest.warns(OptimizeWarning, match="hess failed at x0 .ValueError: no Hessian of these"):
        result = scipy_minimize(value, [1, 0], jac=gradient, hess=failing, method=scipy_method())
    assert result.success
    assert not result.nhvp


def test_scipy_method_says_that_it_is_to_be_called() -> None:
    with pytest.raises(TypeError, match=r"pass method=unsaddle.scipy_method\(\)"):
        scipy_minimize(value, [1, 0], jac=gradient, method=scipy_method)  # type: ignore[arg-type]
