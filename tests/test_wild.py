"""Functions that overflow, have no minimum or no gradient: no method fails or claims on them."""

import numpy as np
import pytest

from unsaddle import Outcome, minimize

WILD = {
    "exponential": (lambda x: np.exp(x.sum()), lambda x: np.full_like(x, np.exp(x.sum()))),
    "its negative": (lambda x: -np.exp(x.sum()), lambda x: np.full_like(x, -np.exp(x.sum()))),
    "maximum": (lambda x: -x @ x, lambda x: -2 * x),
    "cubic": (lambda x: (x**3).sum(), lambda x: 3 * x * x),
    "linear": (lambda x: x.sum(), np.ones_like),
    "logarithm": (lambda x: np.log(x @ x), lambda x: 2 * x / (x @ x)),
    "corners": (lambda x: abs(x).sum(), np.sign),
    "cusps": (lambda x: np.sqrt(abs(x)).sum(), lambda x: np.sign(x) / np.sqrt(abs(x)) / 2),
}
KNOWN = {"smoothness": 10.0, "hessian_lipschitz": 10.0}
METHODS = {
    "auto": {},
    "agd-auto": {},
    "pgd+nc": KNOWN,
    "ancgd": KNOWN,
    "agd+lanczos": KNOWN,
    "neon": KNOWN,
    "neon+": KNOWN,
    "pgd": {**KNOWN, "decrease_available": 1.0},
    "pagd": {**KNOWN, "decrease_available": 1.0},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wild", WILD)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the function's own
def test_a_wild_function_is_survived(method: str, wild: str) -> None:
    value, gradient = WILD[wild]
    for scale, place, kind in ((1, 1, "d"), (1e150, 1, "d"), (1e-150, 1e5, "d"), (1e20, 1, "f")):
        x0 = np.array([1.0, -2.0, 0.5], kind) * place
        jac = lambda x: (scale * gradient(x.astype(float))).astype(kind)  # noqa: B023, E731
        fun = lambda x: float(scale * value(x.astype(float)))  # noqa: B023, E731
        result = minimize(fun, x0, jac=jac, method=method, max_gradients=300, **METHODS[method])
        assert isinstance(result.outcome, Outcome)
        assert np.isfinite(result.x).all()
        if result.success:
            assert np.linalg.norm(jac(result.x).astype(float)) <= 1e-5


@pytest.mark.parametrize("method", ["auto", "agd-auto"])
@pytest.mark.parametrize("start", [[1.0, 2.0], [0.0, 0.0]])
def test_an_endless_fall_ends_at_its_lowest_point(method: str, start: list[float]) -> None:
    for value, gradient in (WILD["maximum"], WILD["linear"]):
        result = minimize(value, start, jac=gradient, method=method)
        assert result.outcome is Outcome.UNBOUNDED
        assert result.fun == value(result.x) == result.best.fun < -1e9


def test_a_start_without_a_value_is_asked_for_once() -> None:
    calls = []
    result = minimize(lambda x: calls.append(1) or np.nan, [1.0, 2.0], jac=lambda x: x * np.nan)
    assert result.outcome is Outcome.NOT_FINITE
    assert len(calls) == 1
