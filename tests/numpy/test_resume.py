"""A run that was stopped and goes on is the run that was not stopped."""

import pickle
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from tests.watched import (
    START,
    Calls,
    at_call,
    each_method,
    each_method_and_form,
    fine,
    of,
    positions,
    same,
    solve,
    some_calls,
)
from unsaddle import Outcome, load, minimize, save


def bits(tree: Any) -> Any:
    """Give all that a checkpoint holds, for comparison."""
    if isinstance(tree, tuple):
        return (type(tree), *map(bits, tree))
    tree = int(tree) if isinstance(tree, IntEnum) else tree  # a phase
    return (tree.dtype, tree.tobytes()) if isinstance(tree, np.ndarray) else repr(tree)


def stopped_by(how: str, k: int) -> dict[str, Any]:
    """Give what stops a run at its k-th gradient or call."""
    count = iter(range(1, 10**9))

    def callback(xk: np.ndarray) -> None:
        if next(count) == k:
            raise StopIteration

    ways = {"budget": {"max_gradients": k}, "callback": {"callback": callback}}
    return ways.get(how, {"trouble": at_call(k, KeyboardInterrupt())})


@pytest.mark.slow
@each_method_and_form
@some_calls
@pytest.mark.parametrize("how", ["budget", "callback", "ctrl-c"])
def test_a_resumed_run_is_the_same_run(method: str, form: str, how: str, every: int) -> None:
    """Bit for bit: the same gradients are asked for, and none twice but the one that failed."""
    calls: Calls = []
    full = solve(method, form, calls)
    done = (np.isfinite(full.history.gradient_norm) & (full.history.phase != "report")).sum()
    for k in positions(done - 1, every)[:: 1 if how == "callback" else 4]:
        before: Calls = []
        after: Calls = []
        first = solve(method, form, before, **stopped_by(how, k))
        if first.outcome is full.outcome:  # nothing has stopped it
            break
        if how == "ctrl-c":
            before.pop()
        state = pickle.loads(pickle.dumps(first.state))
        seen: list[np.ndarray] = []
        second = solve(method, form, after, fine, x0=[9, 9], state=state, callback=seen.append)
        if form == "together" and "report" in second.history.phase[-1:]:
            after.pop()  # the value, which the first run may have seen
        assert same(of("gradient", before) + of("gradient", after), of("gradient", calls)), k
        assert np.array_equal(second.x, full.x)
        assert second.outcome is full.outcome
        if form == "apart" and how != "ctrl-c":  # nothing is asked twice
            assert second.certificate.gradients == full.certificate.gradients
            assert second.certificate.share == full.certificate.share
        assert all(x.dtype == float and x.shape == (2,) for x in seen)
        assert bits(state) == bits(first.state)


@each_method_and_form
def test_a_resumed_run_of_no_steps_stays_there(method: str, form: str) -> None:
    """Then x0 has no part in it; a finished run that is resumed says the same again."""
    for k in (0, 1, 20, 53):
        first = solve(method, form, [], max_gradients=k)
        result = solve(method, form, [], x0=[9, 9], state=first.state, max_gradients=0)
        assert result.outcome is Outcome.BUDGET or first.state.state.phase < 0
        if k and not first.success:  # else nothing was seen, or all is done
            assert result.fun <= first.fun or np.isnan(first.fun)
    full = solve(method, form, [])
    again = solve(method, form, [], x0=[9, 9], state=full.state)
    assert (again.outcome, again.fun) == (full.outcome, full.fun)
    assert np.array_equal(again.x, full.x)


@pytest.mark.slow
@each_method
@some_calls
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_file_keeps_every_bit(method: str, dtype: Any, every: int, tmp_path: Path) -> None:
    for k in (0, 1, *range(30, 70, every), 10**6):
        x0 = np.array([1, 0], dtype)
        state = solve(method, "apart", [], x0=x0, max_gradients=k).state
        save(state, tmp_path / "run.npz")
        assert bits(load(tmp_path / "run.npz")) == bits(state)


def alone(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, START)


FILES: dict[str, Callable[[Path, bytes], Any]] = {  # writes a file that is no checkpoint
    "nothing": lambda path, good: path.write_bytes(b""),
    "text": lambda path, good: path.write_text("state"),
    "half": lambda path, good: path.write_bytes(good[: len(good) // 2]),
    "damaged": lambda path, good: path.write_bytes(good[:200] + bytes(60) + good[260:]),
    "pickle": lambda path, good: path.write_bytes(pickle.dumps(START)),
    "objects": lambda path, good: np.savez(path, method=np.array([{}], object)),
    "others": lambda path, good: np.savez(path, x=START),
    "array": lambda path, good: alone(path),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_no_checkpoint_is_named_without_advice_to_unpickle(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    save(solve("auto", "apart", [], max_gradients=3).state, path)
    FILES[kind](path, path.read_bytes())
    with pytest.raises(ValueError, match=r"not a checkpoint of unsaddle, .*\.save wrote") as error:
        load(path)
    assert "run.npz" in str(error.value)
    assert "pickle" not in str(error.value)


def test_a_slip_in_save_or_load_says_what_to_type(tmp_path: Path) -> None:
    result = solve("auto", "apart", [], max_gradients=3)
    for wrong in ((result, "run.npz"), ("run.npz", result.state)):
        with pytest.raises(TypeError, match=r"unsaddle\.save\(result\.state, 'run\.npz'\)"):
            save(*wrong)
    with pytest.raises(FileNotFoundError, match=r"absent\.npz"):
        load(tmp_path / "absent.npz")
    with pytest.raises(TypeError, match="not Checkpoint"):
        load(result.state)


@each_method_and_form
@pytest.mark.slow
def test_what_is_done_to_a_result_does_not_reach_its_state(method: str, form: str) -> None:
    for k in (*range(0, 60, 3), 10**6):
        result = solve(method, form, [], **stopped_by("callback", k))
        before = bits(result.state)
        for vector in (result.x, result.jac, result.best.x):
            vector[:] = np.nan
        assert bits(result.state) == before


@pytest.mark.parametrize(
    "stricter", [{"tol": 1e-9}, {"curvature_tol": 1e-3}, {"failure_probability": 1e-9}]
)
def test_a_resumed_run_claims_nothing_that_was_not_asked_for(stricter: dict[str, float]) -> None:
    given = {"tol": 1e-1, "curvature_tol": 0.1, "failure_probability": 0.1}
    fun, jac = (lambda x: float(x @ x)), (lambda x: 2 * x)
    state = minimize(fun, [1.0, 0.2], jac=jac, **given).state
    assert minimize(fun, [1.0, 0.2], jac=jac, state=state, **given).success
    with pytest.raises(ValueError, match=f"pass the same {next(iter(stricter))}"):
        minimize(fun, [1.0, 0.2], jac=jac, state=state, **given | stricter)


def test_a_file_holds_no_more_than_was_used(tmp_path: Path) -> None:
    """Lanczos has room for hundreds of vectors; until they are there they are not written."""
    n, path = 2000, tmp_path / "run.npz"
    stopped = minimize(lambda x: x @ x, np.ones(n), jac=lambda x: 2 * x, max_gradients=1)
    save(stopped.state, path)
    assert path.stat().st_size < 30 * 8 * n


def test_a_run_with_a_descent_of_ones_own_is_kept_too(tmp_path: Path) -> None:
    fun, jac = (
        (lambda x: float(x[0] ** 2 - x[1] ** 2 + x[1] ** 4)),
        (lambda x: np.array([2 * x[0], 4 * x[1] ** 3 - 2 * x[1]])),
    )
    descend = lambda x: scipy.optimize.minimize(fun, x, jac=jac, tol=1e-7).x  # noqa: E731
    whole = minimize(fun, [1.0, 0.0], jac=jac, descent=descend)
    for k in (0, 1, 3, 5, 10**6):
        stopped = minimize(fun, [1.0, 0.0], jac=jac, descent=descend, max_gradients=k)
        save(stopped.state, tmp_path / "run.npz")
        state = load(tmp_path / "run.npz")
        assert bits(state) == bits(stopped.state)
        after = minimize(fun, [1.0, 0.0], jac=jac, descent=descend, state=state)
        assert np.array_equal(after.x, whole.x)
        with pytest.raises(ValueError, match="with descent=: pass the same"):
            minimize(fun, [1.0, 0.0], jac=jac, state=state)
    other = minimize(fun, [1.0, 0.0], jac=jac, max_gradients=3).state
    with pytest.raises(ValueError, match="without descent=: leave it out"):
        minimize(fun, [1.0, 0.0], jac=jac, descent=descend, state=other)


def test_a_file_of_a_run_with_little_memory_is_read_again(tmp_path: Path) -> None:
    """It has fewer pairs and vectors than a run that may take what it wants."""
    n = 400
    curve = np.linspace(-1.0, 1.0, n)
    ask = {"jac": lambda x: curve * x + x**3, "max_memory": 25 * 8 * n}
    for k in (3, 30, 80):
        part = minimize(
            lambda x: float(curve @ (x * x) / 2 + np.sum(x**4) / 4),
            np.full(n, 0.5), max_gradients=k, **ask,
        )  # fmt: skip
        save(part.state, tmp_path / "run.npz")
        assert bits(load(tmp_path / "run.npz")) == bits(part.state)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "agd+lanczos"])
def test_a_run_resumes_inside_a_search_that_keeps_part_of_its_basis(
    method: str, tmp_path: Path
) -> None:
    """Stopped and saved every few gradients, it asks for the same ones as the run that was not."""
    n = 40
    curve = np.linspace(0.01, 1.0, n)
    ask = {"jac": lambda x: curve * x, "method": method, "curvature_tol": 1e-2, "vectors": 4}
    known = {"smoothness": 1.0, "hessian_lipschitz": 1e-3}
    ask |= known if method == "agd+lanczos" else {}
    fun = lambda x: float(curve @ (x * x) / 2)  # noqa: E731
    whole = minimize(fun, np.ones(n), **ask)
    state, norms = None, []
    for _ in range(1000):
        piece = minimize(fun, np.ones(n), state=state, max_gradients=7, **ask)
        norms += [*piece.history.gradient_norm[piece.history.phase != "report"]]
        if piece.success:
            break
        save(piece.state, tmp_path / "run.npz")
        state = load(tmp_path / "run.npz")
    full = whole.history.gradient_norm[whole.history.phase != "report"]
    assert np.array_equal(np.array(norms)[np.isfinite(norms)], full[np.isfinite(full)])
    assert whole.history.phase.tolist().count("search") > 20
    assert piece.certificate == whole.certificate
    assert "Lanczos" in whole.message
