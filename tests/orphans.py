"""Processes that a test starts end with it, also where it is killed and can end nothing itself."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held() -> Iterator[int]:
    """Give the stdin for processes that call ``end_with_parent``: it is closed at the end."""
    reads, writes = os.pipe()
    try:
        yield reads
    finally:
        os.close(reads)
        os.close(writes)


def end_with_parent() -> None:
    """End this process and its group once stdin is closed; the group must be its own."""
    if not os.fork():
        os.close(1)  # who reads it waits for all who have it
        sys.stdin.buffer.read()
        os.killpg(0, 9)
