"""Which cases of a product are tried in every run: the others are tried every night."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def most_at_night(often: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """Give all cases, for ``parametrize``; mark those that the ones named stand for in every run.

    A case of several parameters is a tuple of them.
    """
    return [case if case in often else at_night(case) for case in cases]


def at_night(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.nightly)
