"""Any start, precision and size will do; memory may be shared; the seed decides."""

from typing import Any

import numpy as np
import pytest

from tests.watched import (
    CONSTANTS,
    OPTIONS,
    START,
    Calls,
    each_method,
    gradient,
    of,
    same,
    solve,
    value,
)
from unsaddle import METHODS, Outcome, minimize


@each_method
def test_buffers_may_be_kept_and_reused(method: str) -> None:
    kept, buffer, calls = [], np.empty(2), []

    def fun(x: np.ndarray) -> float:
        kept.append(x)
        return value(x)

    def jac(x: np.ndarray) -> np.ndarray:
        kept.append(x)
        buffer[:] = gradient(x)
        return buffer

    plain, given = solve(method, "apart", calls), {**CONSTANTS, **OPTIONS[method]}
    result = minimize(fun, START, jac=jac, method=method, **given)
    assert np.array_equal(result.x, plain.x)
    assert same(kept, [x for _, x in calls])
    assert minimize(lambda x: x @ x / 2, START, jac=lambda x: x, method=method, **given).success


@each_method
def test_a_callback_may_call_functions_that_reuse_one_array(method: str) -> None:
    """Values and gradients share memory here, and no two arrays over it have a common base."""
    memory, given = bytearray(16), {**CONSTANTS, **OPTIONS[method]}

    def jac(x: np.ndarray) -> np.ndarray:
        shared = np.frombuffer(memory)
        shared[:] = gradient(x)
        return shared

    def fun(x: np.ndarray) -> float:
        jac(x)
        return value(x)

    plain = solve(method, "apart", [])
    for callback in (None, jac, lambda x: jac(x + 1)):
        result = minimize(fun, START, jac=jac, method=method, callback=callback, **given)
        assert (result.outcome, result.njev) == (plain.outcome, plain.njev)
        assert np.array_equal(result.x, plain.x)
        assert np.array_equal(result.jac, gradient(result.x))


@each_method
def test_any_vector_will_do_as_a_start(method: str) -> None:
    """Integers, lists, strided, reversed, read-only and big-endian arrays; none is written to."""
    plain, fixed, wide = solve(method, "apart", []), START.copy(), np.array([1.0, 7.0, 0.0, 7.0])
    fixed.flags.writeable = False
    casts = [START.astype(kind) for kind in (np.uint8, np.float16, ">f8")]
    for x0 in ([1, 0], (1, 0.0), fixed, wide[::2], np.array([0.0, 1.0])[::-1], *casts):
        before = np.array(x0)
        assert np.array_equal(solve(method, "apart", [], x0=x0).x, plain.x)
        assert np.array_equal(np.array(x0), before)
    assert np.array_equal(wide, [1, 7, 0, 7])


@each_method
@pytest.mark.parametrize("options", [{}, {"step": np.float64(0.05)}], ids=str)
def test_float32_stays_float32(method: str, options: dict[str, Any]) -> None:
    """In every question and answer; and a certificate says it if it claims less than was asked."""
    if options and "step" not in METHODS[method].options:
        pytest.skip("has no step")
    for tol in (1e-2, 1e-4):
        calls: Calls = []
        given = {"x0": START.astype(np.float32), "tol": tol, "max_gradients": 2000, **options}
        result = solve(method, "apart", calls, **given)
        certificate, asked = result.certificate, (9 * tol) ** 0.5
        assert result.x.dtype == result.jac.dtype == result.state.state.x.dtype == np.float32
        assert {x.dtype for _, x in calls} == {np.dtype(np.float32)}
        assert ("raised" in certificate.note) == (certificate.curvature_tol > asked)
        assert result.success or tol == 1e-4


@each_method
@pytest.mark.parametrize("x0", [[0.0], [0.5], [-1.5], [0.0, 0.0], [0.0, 1e-9], [0.0] * 9], ids=str)
def test_small_sizes_and_starts_on_the_saddle(method: str, x0: list[float]) -> None:
    """The kick of a baseline may be too short; then the certificate does not hold."""
    for dtype in (np.float64, np.float32):
        result = solve(method, "apart", [], x0=np.array(x0, dtype), max_gradients=5000)
        assert result.success or (method == "pagd" and result.outcome is Outcome.NEGATIVE_CURVATURE)
        assert result.x.shape == (len(x0),)


@each_method
def test_the_seed_decides(method: str) -> None:
    """From the saddle itself: the same seed asks the same questions, another seed others."""
    runs: list[Calls] = [[], [], []]
    for calls, seed in zip(runs, (3, 3, 4), strict=True):
        solve(method, "apart", calls, x0=np.zeros(2), seed=seed)
    first, again, other = (of("gradient", calls) for calls in runs)
    assert same(first, again)
    assert not same(first, other)
