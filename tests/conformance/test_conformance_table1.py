"""The rows of Table 1 that search at slopes: the same queries on NumPy, torch, JAX and optax."""

from itertools import product

import pytest

from tests.conformance import test_conformance as common
from tests.often import most_at_night
from unsaddle.core.kernel import give_up
from unsaddle.core.phases import name_of
from unsaddle.methods.table import find

ROWS = {
    "neon2": {**common.WIDE, "enough": 1e9},  # so that it comes to its own test
    "cdhs": {"unit": 2.5e-7},
    "adancg": {"unit": 2.5e-7},
    "fastcubic": {"unit": 2.5e-7},
}
RIPPLED = {name: {**common.FIXED, "unit": 0.0} for name in ("cdhs", "adancg", "fastcubic")}
each_row = pytest.mark.parametrize("method", ROWS)


def often(method: str, landscape: str, backend: str) -> bool:
    """Say whether a case is tried in every run: JAX compiles two of the methods for 20 seconds.

    They are traced on JAX in every run, by tests/jax/test_jax.py.
    """
    compiled = method not in ("adancg", "fastcubic")
    return backend == "torch" or (landscape == "quartic" and backend == "jax" and compiled)


ALL = [*product(ROWS, common.LANDSCAPES, common.BACKENDS)]
CASES = most_at_night([each for each in ALL if often(*each)], ALL)


@pytest.fixture(autouse=True)
def _rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, options in ROWS.items():
        monkeypatch.setitem(common.METHODS, name, options)
    for name, options in RIPPLED.items():
        monkeypatch.setitem(common.RIPPLED, name, options)


@pytest.mark.parametrize(("method", "landscape", "backend"), CASES)
def test_same_queries(
    method: str, landscape: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    common.test_same_queries(method, landscape, backend, monkeypatch)


@each_row
def test_the_rows_come_by_every_query(method: str) -> None:
    """The search of adancg is that of cdhs, which meets the ripples: its own gamma is above."""
    own = {code: it for code, it in find(method).unproved.phases.items() if it.needs}
    names = common.visited(method) | (common.visited("cdhs") if method == "adancg" else set())
    names |= {"recheck_close"} & common.visited("agd-auto")  # rare: the same recheck comes by it
    seen = {phase.update for code, phase in own.items() if name_of(code) in names}
    assert {phase.update for phase in own.values()} - seen <= {give_up}
