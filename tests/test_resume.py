"""A run that was stopped and goes on is the run that was not stopped."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.watched import Calls, at_call, each_form, each_method, ended, fine, of, same, solve
from unsaddle import Outcome, load, save


def bits(tree: Any) -> Any:
    """Give all that a checkpoint holds, for comparison."""
    if isinstance(tree, tuple):
        return (type(tree), *map(bits, tree))
    return (tree.dtype, tree.tobytes()) if isinstance(tree, np.ndarray) else repr(tree)


def stopped_by(how: str, k: int) -> dict[str, Any]:
    """Give what stops a run at its k-th gradient or call."""
    count = iter(range(1, 10**9))

    def callback(xk: np.ndarray) -> None:
        if next(count) == k:
            raise StopIteration

    ways = {"budget": {"max_gradients": k}, "callback": {"callback": callback}}
    return ways.get(how, {"trouble": at_call(k, KeyboardInterrupt())})


@each_method
@each_form
@pytest.mark.parametrize("how", ["budget", "callback", "ctrl-c"])
def test_a_resumed_run_is_the_same_run(method: str, form: str, how: str) -> None:
    """Bit for bit: the same gradients are asked for, and none twice but the one that failed."""
    calls: Calls = []
    full = solve(method, form, calls)
    done = np.isfinite(full.history.gradient_norm[: ended(full)]).sum()
    for k in range(1, done, 1 if how == "callback" else 4):
        before: Calls = []
        after: Calls = []
        first = solve(method, form, before, **stopped_by(how, k))
        if first.state.state.phase < 0:  # the method had ended, and was being confirmed
            break
        if how == "ctrl-c":
            before.pop()
        state = pickle.loads(pickle.dumps(first.state))
        seen: list[np.ndarray] = []
        second = solve(method, form, after, fine, x0=[9, 9], state=state, callback=seen.append)
        if form == "together" and second.history.phase[-1] == "report":
            after.pop()  # the value, which the first run may have seen
        assert same(of("gradient", before) + of("gradient", after), of("gradient", calls)), k
        assert np.array_equal(second.x, full.x)
        assert second.outcome is full.outcome
        assert all(x.dtype == float and x.shape == (2,) for x in seen)
        assert bits(state) == bits(first.state)


@each_method
@each_form
def test_a_resumed_run_of_no_steps_stays_there(method: str, form: str) -> None:
    """Then x0 has no part in it; a finished run that is resumed says the same again."""
    for k in (0, 1, 20, 53):
        state = solve(method, form, [], max_gradients=k).state
        result = solve(method, form, [], x0=[9, 9], state=state, max_gradients=0)
        assert result.outcome is Outcome.BUDGET or state.state.phase < 0
        if "auto" not in method:  # which may have looked at a lower point on the way
            assert np.array_equal(result.x, state.state.x)
    full = solve(method, form, [])
    again = solve(method, form, [], x0=[9, 9], state=full.state)
    assert (again.outcome, again.fun) == (full.outcome, full.fun)
    assert np.array_equal(again.x, full.x)


@each_method
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_file_keeps_every_bit(method: str, dtype: Any, tmp_path: Path) -> None:
    for k in (0, 1, 30, 60, 10**6):
        x0 = np.array([1, 0], dtype)
        state = solve(method, "apart", [], x0=x0, max_gradients=k).state
        save(state, tmp_path / "run.npz")
        assert bits(load(tmp_path / "run.npz")) == bits(state)


@each_method
@each_form
def test_what_is_done_to_a_result_does_not_reach_its_state(method: str, form: str) -> None:
    for k in (*range(0, 60, 3), 10**6):
        result = solve(method, form, [], **stopped_by("callback", k))
        before = bits(result.state)
        for vector in (result.x, result.jac, result.best.x):
            vector[:] = np.nan
        assert bits(result.state) == before
