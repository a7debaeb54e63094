"""Bad input to a search is named before the first call, or from the first answer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from tests.numpy.test_input import (
    EITHER,
    INF,
    MATRIX,
    NAN,
    counted,
    gradient,
    named,
    says,
    spoilt,
    value,
)
from unsaddle import certify, find_negative_curvature

SEARCH = named(
    [
        ({"grad": None}, TypeError, "grad None"),
        ({"grad": True}, TypeError, "grad True"),
        ({"grad": 3.0}, TypeError, "grad"),
        ({"x": MATRIX}, ValueError, "x (2, 2)"),
        ({"x": []}, ValueError, "x empty"),
        ({"x": "saddle"}, TypeError, "x"),
        ({"x": None}, TypeError, "x"),
        ({"x": [1j, 0]}, TypeError, "x complex128"),
        ({"x": [0.0, NAN]}, ValueError, "x NaN 1"),
        ({"x": OptimizeResult(x=np.ones(2))}, TypeError, "x result.x"),
        ({"grad": [0.0, 1.0], "x": gradient}, TypeError, "x function first"),
        ({"jac": gradient}, TypeError, "jac grad=<the curvature_tol"),
        ({"fun": value}, TypeError, "fun not needed grad=<the"),
        ({"x0": [0.0, 1.0]}, TypeError, "x0 x=<the"),
        ({"tol": 1e-3}, TypeError, "tol curvature_tol=<the"),
        ({"args": (1,)}, TypeError, "args lambda"),
        ({"curvature_to": 1}, TypeError, "curvature_to did mean curvature_tol"),
        ({"method": "acn"}, ValueError, "method acn anc"),
        ({"curvature_tol": 0}, ValueError, "curvature_tol 0"),
        ({"curvature_tol": -1.0}, ValueError, "curvature_tol -1.0"),
        ({"curvature_tol": NAN}, ValueError, "curvature_tol nan"),
        ({"curvature_tol": INF}, ValueError, "curvature_tol inf"),
        ({"curvature_tol": "small"}, EITHER, "curvature_tol small"),
        ({"failure_probability": 0}, ValueError, "failure_probability 0"),
        ({"failure_probability": 1.5}, ValueError, "failure_probability 1.5"),
        ({"failure_probability": NAN}, ValueError, "failure_probability nan"),
        ({"failure_probability": "low"}, EITHER, "failure_probability low"),
        ({"seed": -1}, ValueError, "seed -1"),
        ({"seed": 0.5}, EITHER, "seed 0.5"),
        ({"max_gradients": -1}, ValueError, "max_gradients -1"),
        ({"max_gradients": NAN}, ValueError, "max_gradients nan"),
        ({"max_gradients": 2.5}, EITHER, "max_gradients 2.5"),
        ({"max_gradients": "9"}, EITHER, "max_gradients 9"),
        ({"noise": 1e-3}, TypeError, "noise gradient_noise=<its units"),
        ({"gradient_noise": -1}, ValueError, "gradient_noise -1"),
        ({"gradient_noise": INF}, ValueError, "gradient_noise inf"),
        ({"probe_radius": 0}, ValueError, "probe_radius 0"),
        ({"probe_radius": NAN}, ValueError, "probe_radius nan"),
    ]
)


@pytest.mark.parametrize("function", [certify, find_negative_curvature])
@pytest.mark.parametrize(("overrides", "kind", "words"), SEARCH)
def test_a_search_knows_before_the_first_call(
    function: Callable[..., Any], overrides: dict[str, Any], kind: type[Exception], words: str
) -> None:
    if "method" in overrides and function is certify:
        pytest.skip("certify has no method")
    calls: list[Any] = []
    call = {"grad": gradient, "x": np.zeros(2), **overrides}
    with pytest.raises(kind) as error:
        function(**{**call, "grad": counted(call["grad"], calls)})
    says(error, words)
    assert not calls


@pytest.mark.parametrize("search", [certify, find_negative_curvature])
@pytest.mark.parametrize(
    ("grad", "kind", "words"),
    [
        (lambda x: np.ones(3), ValueError, "grad (3,) (2,)"),
        (value, ValueError, "grad (2,) value not gradient"),
        (lambda x: None, ValueError, "grad None return"),
        (lambda x: gradient(x)[:, None], ValueError, "grad (2, 1) ravel"),
        (lambda x: (value(x), gradient(x)), ValueError, "grad value gradient"),
        (lambda x: gradient(x) + 0j, TypeError, "grad complex128"),
        (lambda x: np.float32(gradient(x)), TypeError, "grad float32 float64"),
        (lambda x: gradient(x) * NAN, ArithmeticError, "grad NaN"),
        (spoilt(gradient, 1e-3), ValueError, "grad x place copy"),
    ],
)
def test_a_search_names_grad(
    search: Callable[..., Any], grad: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as error:
        search(grad, np.zeros(2))
    says(error, words)
