"""Starts that run at once: the same result, whoever runs them, and nothing lost on the way."""

import os
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unsaddle import Outcome, minimize
from unsaddle.core.records import leaves

RING = np.arange(4.0)


def wells(x: np.ndarray) -> float:
    """Give the sum of double wells, one lower than the other."""
    return float(np.sum(x**4 / 4 - x**2 / 2 + 0.1 * x))


def slope(x: np.ndarray) -> np.ndarray:
    return x**3 - x + 0.1


def bitten(x: np.ndarray) -> np.ndarray:
    """Raise far away, where only some of the starts are, an exception that cannot be sent."""
    if np.abs(x).max() > 5:
        raise UnsendableError(x, "far away")
    return slope(x)


def deadly(x: np.ndarray) -> np.ndarray:
    """End the process far away, where only some of the starts are."""
    if np.abs(x).max() > 5:
        os._exit(7)
    return slope(x)


def endless(x: np.ndarray) -> np.ndarray:
    """Answer once in every process, and then only say that it was called."""
    called = Path(os.environ["UNSADDLE_CALLED"])
    first, second = called / f"{os.getpid()}.first", called / f"{os.getpid()}.second"
    while first.exists():
        second.touch()
        time.sleep(0.01)
    first.touch()
    return slope(x)


class UnsendableError(Exception):
    def __init__(self, x: np.ndarray, why: str) -> None:
        super().__init__(why)


def solved(workers: Any, jac: Any = slope, **given: Any) -> Any:
    return minimize(wells, 2 * RING, jac=jac, starts=6, workers=workers, **given)


def bytes_of(result: Any) -> list[bytes]:
    """Give all that a result consists of."""
    told = [
        repr((run.outcome.name, run.message, run.nfev, run.njev, run.nit)).encode()
        for run in result.runs
    ]
    told += [np.asarray(leaf).tobytes() for run in result.runs for _, leaf in leaves(run.history)]
    told += [np.asarray(leaf).tobytes() for run in result.runs for _, leaf in leaves(run.state[1])]
    return [*told, result.x.tobytes(), result.message.encode(), str(result.njev).encode()]


@pytest.mark.parametrize("budget", [None, 60])
@pytest.mark.slow
def test_the_result_does_not_depend_on_the_workers(budget: int | None) -> None:
    expected = bytes_of(solved(1, max_gradients=budget))
    with ThreadPool(2) as pool:
        for workers in (2, -1, 9, map, pool.map, pool.imap):
            assert bytes_of(solved(workers, max_gradients=budget)) == expected
    if budget:
        assert any(b"BUDGET" in part for part in expected)


def test_a_fault_in_one_start_keeps_the_others_and_says_where_it_came_from() -> None:
    for workers in (1, 2):
        with pytest.raises((UnsendableError, RuntimeError), match="far away") as fault:
            solved(workers, bitten)
        so_far = fault.value.unsaddle  # type: ignore[attr-defined]
        assert so_far.success
        assert len(so_far.runs) == 6
        ended = sum(run.outcome is Outcome.CERTIFIED for run in so_far.runs)
        assert 0 < ended < 6
        assert f"Of 6 starts, {ended} came to their end." in so_far.message
        notes = "".join(getattr(fault.value, "__notes__", []))
        assert workers == 1 or "in bitten" in notes


def test_a_function_that_cannot_be_sent_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"workers=2 .* top of a module.*ThreadPool"):
        solved(2, lambda x: slope(x))
    with ThreadPool(2) as pool:
        assert solved(pool.map, lambda x: slope(x)).success


def test_a_process_that_dies_is_named_and_the_other_starts_are_kept() -> None:
    with pytest.raises(
        RuntimeError, match=r"start \d ended with exit code 7: pass workers=1"
    ) as end:
        solved(2, deadly)
    so_far = end.value.unsaddle  # type: ignore[attr-defined]
    kept = len(so_far.runs)
    assert so_far.success
    assert 0 < kept < 6
    assert f"Of 6 starts, {kept} came to their end." in so_far.message


def test_a_pool_that_breaks_leaves_what_it_has_given() -> None:
    def breaks(work: Any, tasks: Any) -> Any:
        yield work(tasks[0])
        raise BrokenProcessPool("a process of the pool has died")

    with pytest.raises(BrokenProcessPool) as end:
        solved(breaks)
    assert len(end.value.unsaddle.runs) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [0, -2, 1.5, True, "two", None])
def test_other_workers_are_refused(workers: Any) -> None:
    with pytest.raises(ValueError, match="workers must be a number >= 1, -1 for all processors"):
        solved(workers)


def test_workers_without_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="pass starts="):
        minimize(wells, RING, jac=slope, workers=2)


def test_an_interrupt_returns_the_best_so_far(tmp_path: Path, monkeypatch: Any) -> None:
    """It comes when both processes are at work, and goes to this one only."""
    monkeypatch.setenv("UNSADDLE_CALLED", str(tmp_path))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background

    def interrupt() -> None:
        while len([*tmp_path.glob("*.second")]) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        result = solved(2, endless)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [run.outcome for run in result.runs] == [Outcome.INTERRUPTED] * 2
    assert np.isfinite(result.fun)
    assert "Of 6 starts, 0 came to their end." in result.message
