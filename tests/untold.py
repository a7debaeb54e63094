"""Runs of methods that are told nothing of the function, each checked for what it claims."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from unsaddle import Outcome, minimize

LIMIT = 20_000
METHODS = ("auto", "agd-auto")
each_method = pytest.mark.parametrize("method", METHODS)


def solve(
    method: str, value: Any, gradient: Any, x0: Any, hessian: Any = None, **given: Any
) -> Any:
    """Run a method without constants, and check what it claims against the Hessian."""
    given = {"max_gradients": LIMIT, **given}
    result = minimize(value, x0, jac=gradient, method=method, **given)
    assert result.success == (result.outcome is Outcome.CERTIFIED)
    if result.success:
        assert np.linalg.norm(gradient(result.x)) <= given.get("tol", 1e-5)
        assert 0 < result.certificate.curvature_tol < np.inf
        assert method == "auto" or "Growth certificate" in result.certificate.note
    if result.certificate.holds and hessian is not None:
        lowest = np.linalg.eigvalsh(hessian(result.x.astype(float)))[0]
        assert lowest > -result.certificate.curvature_tol
    return result


def leave(x: np.ndarray) -> None:
    """Stop the run as soon as it is elsewhere."""
    if x.any():
        raise StopIteration


def landscape(n: int, seed: int) -> tuple[Callable[..., float], Callable[..., np.ndarray]]:
    """Give x'Ax/2 + sum((x + x^2/8)^4)/4, A with one negative eigenvalue: a saddle at 0."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    a = (q * np.append(-0.7, np.linspace(0.4, 2.0, n - 1))) @ q.T

    def value(x: np.ndarray) -> float:
        return float(0.5 * x @ a @ x + np.sum((x + x**2 / 8) ** 4) / 4)

    def gradient(x: np.ndarray) -> np.ndarray:
        return a @ x + (x + x**2 / 8) ** 3 * (1 + x / 4)

    return value, gradient


coordinate = st.floats(0.1, 1.0) | st.floats(-1.0, -0.1)  # at the saddle itself signs are a toss
each_start = st.lists(coordinate, min_size=4, max_size=4).map(np.array)
near = st.booleans()
few = settings(max_examples=40)
TIGHT = {"tol": 2e-7, "curvature_tol": 1e-2}
LOOSE = {"tol": 1e-3, "curvature_tol": 1e-2}  # a start near the saddle is taken for it, and left
