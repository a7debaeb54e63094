"""A function with a saddle that lists its calls, and what every result of a run on it owes."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from tests.often import most_at_night
from unsaddle import Outcome, minimize

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
KICK = {"decrease_available": 1.0, "window": 15, "radius": 0.1, "decrease": 1e-3}
FAST = {"step": 0.16, "friction": 0.2, "nce_length": 0.05}
SHORT = {
    "accuracy": 1e-2,
    "ball": 0.3,
}  # of the inner problems: their runs would be four times as long
OPTIONS: dict[str, dict[str, Any]] = {
    "auto": {},
    "agd-auto": {},
    "pgd": KICK,
    "pagd": KICK | FAST,
    "pgd+nc": {},
    "ancgd": FAST | {"search_step": 0.16, "search_friction": 0.2},
    "agd+lanczos": FAST,
    "neon2": SHORT | {"length": 0.3},
    "cdhs": SHORT,
    "adancg": {},
    "fastcubic": {},
}
# no window, no radius; a jump that is undefined is shortened
MEASURED = ("auto", "agd-auto", "agd+lanczos", "cdhs", "adancg", "fastcubic")
START = np.array([1.0, 0.0])  # descent from here leads to the saddle
each_method = pytest.mark.parametrize("method", OPTIONS)
FORMS = ["apart", "together"]  # jac, or jac=True
each_form = pytest.mark.parametrize("form", FORMS)
# a form is read before any method begins: in every run one method stands for all where it is both
each_method_and_form = pytest.mark.parametrize(
    ("method", "form"),
    most_at_night([("auto", "together"), *product(OPTIONS, ["apart"])], product(OPTIONS, FORMS)),
)
# one call of eleven: where calls alternate by two, three or five, all of their kinds are met
some_calls = pytest.mark.parametrize("every", most_at_night([11], [11, 1]))
Calls = list[tuple[str, np.ndarray]]


def value(x: np.ndarray) -> float:
    """Half of x^2 - y^2, and y^4/4: a saddle at 0, minima at y = +-1; y is the last variable."""
    return float(0.5 * x[:-1] @ x[:-1] - 0.5 * x[-1] ** 2 + 0.25 * x[-1] ** 4)


def gradient(x: np.ndarray) -> np.ndarray:
    return np.append(x[:-1], x[-1] ** 3 - x[-1])


def hessian(x: np.ndarray) -> np.ndarray:
    return np.diag(np.append(np.ones(x.size - 1), 3 * x[-1] ** 2 - 1))


def fine(call: int) -> None:
    """Make no trouble."""


def at_call(k: int, error: BaseException) -> Callable[[int], None]:
    """Make the k-th call raise."""

    def trouble(call: int) -> None:
        if call == k:
            raise error

    return trouble


def problem(form: str, calls: Calls, trouble: Callable[[int], Any] = fine) -> dict[str, Any]:
    """Give fun and jac that list their calls; trouble(k) may raise at the k-th, or replace it."""

    def asked(kind: str, x: np.ndarray, *answers: Any) -> Any:
        calls.append((kind, x.copy()))
        bad = trouble(len(calls))
        answers = answers if bad is None else tuple(np.full_like(a, bad)[()] for a in answers)
        return answers[0] if len(answers) == 1 else answers

    if form == "together":
        return {"fun": lambda x: asked("both", x, value(x), gradient(x)), "jac": True}
    return {
        "fun": lambda x: asked("value", x, value(x)),
        "jac": lambda x: asked("gradient", x, gradient(x)),
    }


def solve(
    method: str, form: str, calls: Calls, trouble: Callable[[int], Any] = fine, **given: Any
) -> OptimizeResult:
    """Run a method and check what every result owes."""
    given = {"x0": START, **CONSTANTS, **OPTIONS[method], **given}
    try:
        result = minimize(**problem(form, calls, trouble), method=method, **given)
    except KeyboardInterrupt:  # which would end the test session
        pytest.fail(f"Ctrl-C at call {len(calls)} was not caught")
    owes(result, calls, given["tol"])
    return result


def owes(result: OptimizeResult, calls: Calls, tol: float = CONSTANTS["tol"]) -> None:
    """Check that a result is consistent, with itself and with the calls that were made."""
    certificate = result.certificate
    assert result.success == (result.outcome is Outcome.CERTIFIED) == (result.status == 0)
    assert not result.success or certificate.holds is True
    assert result.outcome.value in result.message
    assert (result.nfev, result.njev) == (len(of("value", calls)), len(of("gradient", calls)))
    assert np.isfinite(result.x).all()
    assert np.isnan(result.fun) or result.fun == value(result.x)
    assert not result.best.fun > result.fun
    assert np.isnan(result.jac).all() or np.array_equal(result.jac, gradient(result.x))
    if result.success:
        assert np.linalg.norm(result.jac) <= tol
        assert np.linalg.eigvalsh(hessian(result.x))[0] > -certificate.curvature_tol
    if certificate.holds is False:
        shows(certificate, hessian(result.x))


def shows(certificate: Any, hessian: np.ndarray) -> None:
    """Check that the direction of a refutation is one."""
    u = certificate.direction.astype(float)
    assert abs(np.linalg.norm(u) - 1) < 1e-6
    curvature = u @ hessian @ u
    assert curvature <= -certificate.curvature_tol / 2
    assert abs(certificate.curvature - curvature) <= 0.05 * abs(curvature)


def positions(count: int, every: int = 1) -> list[int]:
    """Give the numbers of a run's calls: all, or of a long run about a hundred and the last ten.

    With ``every`` above one, so few of them, but for the last ten.
    """
    step = every * (1 if count <= 250 else count // 100)
    return sorted({*range(1, count + 1, step), *range(max(1, count - 9), count + 1)})


def of(kind: str, calls: Calls) -> list[np.ndarray]:
    """Give where values, or gradients, were asked for."""
    return [x for asked, x in calls if asked in (kind, "both")]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))
