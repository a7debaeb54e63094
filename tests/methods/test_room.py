"""What a run makes of max_memory."""

import tracemalloc

import numpy as np
import pytest

from unsaddle import certify, minimize
from unsaddle.descents.compact_form import PAIRS
from unsaddle.escapes import basis
from unsaddle.methods import room
from unsaddle.methods.room import TUNING, least


@pytest.mark.parametrize("n", [1, 100, 1000, 20_000])
def test_small_problems_have_room_for_all_they_use(n: int) -> None:
    """Whatever is free: nobody asks for less than 64 mebibytes."""
    assert room.room(n, 8, 0.0) == (PAIRS, basis.TUNING.vectors)


@pytest.mark.parametrize("n", [10**6, 10**7, 10**8])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_large_ones_take_35_vectors_in_all(n, itemsize, monkeypatch) -> None:
    """And as few as a quarter of what is free holds, where that is less."""
    monkeypatch.setattr(room, "free_memory", lambda: 4 * TUNING.most * n * itemsize)
    pairs, vectors = room.room(n, itemsize, 0.0)
    assert TUNING.others + 2 * pairs + vectors == TUNING.most
    monkeypatch.setattr(room, "free_memory", lambda: 4.0 * least(n, itemsize))
    assert room.room(n, itemsize, 0.0) == (TUNING.least_pairs, TUNING.least_basis)


@pytest.mark.parametrize("vectors", range(21, 200, 7))
@pytest.mark.parametrize("shared", [False, True])
def test_what_is_given_is_not_exceeded(vectors: int, shared: bool) -> None:
    """It is shared out between the two, as far as they can use it; or both are in one place."""
    pairs, kept = room.room(10**6, 8, vectors * 8e6, shared)
    both = max(2 * pairs, kept) if shared else 2 * pairs + kept
    assert TUNING.others + both <= vectors
    assert pairs >= TUNING.least_pairs
    assert kept >= TUNING.least_basis


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_keeps_within_the_least_that_it_can_do_with(dtype) -> None:
    """Fifteen vectors: pairs and basis take turns in one place, on the way from a saddle."""
    n, buffer, calls = 10**5, np.empty(10**5, dtype), []
    x0 = np.zeros(n, dtype)

    def both(x: np.ndarray) -> tuple[float, np.ndarray]:
        if not calls:
            tracemalloc.reset_peak()  # what was set aside and not written to takes no memory
        calls.append(1)
        np.multiply(x, x, out=buffer)
        value = float(buffer @ buffer) / 4 - float(buffer.sum()) / 2
        np.multiply(buffer, x, out=buffer)
        np.subtract(buffer, x, out=buffer)
        return value, buffer

    enough = least(n, x0.itemsize, shared=True)
    tracemalloc.start()
    result = minimize(both, x0, jac=True, max_memory=enough)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows = 2 * basis.TUNING.rows * x0.itemsize  # of T, which has the length of no vector
    assert result.success
    assert "search" in result.history.phase
    assert enough == 15 * x0.nbytes
    assert most - rows <= enough + 2**17


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_too_little_is_an_error_that_says_how_much_is_needed(dtype) -> None:
    """What it says suffices."""
    n = 50
    x, fun = np.ones(n, dtype), lambda x: float(x @ x)
    enough = least(n, x.itemsize, shared=True)
    message = rf"max_memory=\d+ was passed, expected at least {enough}.* pass max_memory={enough}"
    for call in (
        lambda bytes: minimize(fun, x, jac=lambda x: 2 * x, max_memory=bytes).success,
        lambda bytes: certify(lambda x: 2 * x, x, max_memory=bytes).holds,
    ):
        with pytest.raises(ValueError, match=message):
            call(enough - 1)
        assert call(enough)


def test_without_enough_free_memory_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is allocated."""
    monkeypatch.setattr(room, "free_memory", lambda: 1e9)
    with pytest.raises(ValueError, match=r"bytes are free, .* pass max_memory="):
        room.room(10**8, 8, 0.0)


def test_there_is_free_memory() -> None:
    """More than a mebibyte, or nobody knows."""
    assert room.free_memory() > 2**20


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_may_be_a_memory_map(dtype, tmp_path) -> None:
    """It is read and not written to."""
    x0 = np.memmap(tmp_path / "x0", dtype, "w+", shape=300)
    x0[:] = np.linspace(-1, 1, 300)
    x0.flush()
    frozen = np.memmap(tmp_path / "x0", dtype, "r", shape=300)
    asked = {"jac": lambda x: x**3 - x, "max_memory": least(300, x0.itemsize)}
    result = minimize(lambda x: float(np.sum(x**4 / 4 - x**2 / 2)), frozen, **asked)
    assert result.success
    assert result.x.dtype == dtype
    assert np.allclose(np.abs(result.x), 1, atol=1e-3)
    assert np.array_equal(frozen, np.linspace(-1, 1, 300).astype(dtype))
