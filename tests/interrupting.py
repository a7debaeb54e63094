"""A Ctrl-C as a signal, in the midst of a kernel."""

import signal
from typing import Any

import pytest


def interrupting(patch: pytest.MonkeyPatch, ops: type, operation: str, k: int) -> list[int]:
    """Make the k-th call of an operation within the kernel be followed by a Ctrl-C."""
    plain, passed = getattr(ops, operation), [0]

    def call(*args: Any) -> Any:
        answer = plain(*args)
        passed[0] += 1
        if passed[0] == k:
            signal.raise_signal(signal.SIGINT)
        return answer

    patch.setattr(ops, operation, call)
    return passed
