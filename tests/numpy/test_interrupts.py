"""Ctrl-C as a signal: it waits for an update to be whole, and the handler there was comes back."""

import signal
import threading
from typing import Any

import numpy as np
import pytest

from tests.interrupting import interrupting
from tests.often import in_turn
from tests.watched import OPTIONS, START, Calls, at_call, each_form, solve
from unsaddle import Outcome, certify, minimize
from unsaddle.numpy.ops import CachingOps

pytestmark = pytest.mark.usefixtures("handled")
WITHIN = ("axpy", "scale", "add")  # used by phases only


@pytest.mark.parametrize(
    ("operation", "method"), in_turn(WITHIN, (), [pytest.param(each, id=each) for each in OPTIONS])
)
@pytest.mark.slow
def test_a_state_is_never_torn(method: str, operation: str) -> None:
    """After a Ctrl-C in the midst of any update, the run goes on as if there had been none."""
    calls: Calls = []
    with pytest.MonkeyPatch.context() as patch:
        passed = interrupting(patch, CachingOps, operation, 0)
        full = solve(method, "apart", calls)
        total = passed[0]
    for k in {1, 2, 3, *range(4, total, max(1, total // 12))}:
        first: Calls = []
        second: Calls = []
        with pytest.MonkeyPatch.context() as patch:
            interrupting(patch, CachingOps, operation, k)
            cut = solve(method, "apart", first)
        if k > total:
            continue
        assert cut.outcome is Outcome.INTERRUPTED
        rest = solve(method, "apart", second, state=cut.state)
        assert rest.outcome is full.outcome
        assert np.array_equal(rest.x, full.x)
        points = [[x for kind, x in each if kind == "gradient"] for each in (first + second, calls)]
        assert np.array_equal(*points)


@each_form
def test_a_signal_in_the_function_ends_the_run_at_once(form: str) -> None:
    calls: Calls = []

    def trouble(call: int) -> None:
        if call == 5:
            signal.raise_signal(signal.SIGINT)

    result = solve("auto", form, calls, trouble)
    assert result.outcome is Outcome.INTERRUPTED
    assert len(calls) == 5


def test_the_handler_of_the_user_is_called_once() -> None:
    """It need not raise; then the run goes on."""
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with pytest.MonkeyPatch.context() as patch:
            interrupting(patch, CachingOps, "axpy", 3)
            assert solve("pgd+nc", "apart", []).success
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [signal.SIGINT]


def test_a_handler_that_the_function_installs_stays() -> None:
    def mine(number: int, frame: Any) -> None:
        raise AssertionError

    def gradient(x: np.ndarray) -> np.ndarray:
        signal.signal(signal.SIGINT, mine)
        return x

    certify(gradient, np.ones(2))
    assert signal.getsignal(signal.SIGINT) is mine
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_it_runs_in_another_thread() -> None:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(solve("auto", "apart", [])))
    thread.start()
    thread.join()
    assert results[0].success


def test_a_run_within_a_run_hands_it_on() -> None:
    """A Ctrl-C in the function of an inner run ends that one; the outer one goes on."""
    inner: list[Any] = []

    def value(x: np.ndarray) -> float:
        if not inner:
            inner.append(solve("auto", "apart", [], at_call(4, KeyboardInterrupt())))
        return float(x @ x)

    outer = minimize(value, START, jac=lambda x: 2 * x)
    assert inner[0].outcome is Outcome.INTERRUPTED
    assert outer.success
