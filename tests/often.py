"""Which cases of a product are tried in every run: the others are tried every night."""

from collections.abc import Container, Iterable, Sequence
from typing import Any

import pytest


def most_at_night(often: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """Give all cases, for ``parametrize``; mark those that the ones named stand for in every run.

    A case of several parameters is a tuple of them.
    """
    return [case if case in often else at_night(case) for case in cases]


def in_turn(kinds: Sequence[Any], always: Container[Any], rows: Iterable[Any]) -> list[Any]:
    """Give every kind with every row; in every run each row with some kinds and one more in turn.

    Rows are of ``pytest.param`` with an id; the kind is the first parameter.
    """
    return [
        pytest.param(
            kind,
            *row.values,
            id=f"{row.id}-{_called(kind)}",
            marks=() if kind in always or i % len(kinds) == k else pytest.mark.nightly,
        )
        for i, row in enumerate(rows)
        for k, kind in enumerate(kinds)
    ]


def _called(kind: Any) -> Any:
    """Give what a function, a class or a landscape is called; anything else is its own name."""
    return getattr(kind, "__name__", getattr(kind, "name", kind))


def at_night(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.nightly)
