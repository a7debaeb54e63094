"""Runs in company: in threads, in forked processes, under asyncio, and on two ranks."""

import asyncio
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

from benchmarks.torture.faults import fine, run
from benchmarks.torture.files import METHODS
from benchmarks.torture.trial import Trial

TOGETHER = 8  # runs at a time
RANKS = "tests/torch/test_torch_ranks.py"


def trials(seed: int) -> Iterator[Trial]:
    """Give a trial for every method and kind of company, and one for two ranks."""
    for method in METHODS:
        for how, call in WAYS.items():
            yield Trial(how, method, partial(_same, method, call))
    yield Trial("two ranks of torch.distributed", RANKS, _ranks)


def ending(method: str) -> tuple[str, ...]:
    """Run a method; give how it ends, to the bit."""
    done = run(method, "apart", fine, [])
    return done.outcome.name, str(done.njev), *(x.hex() for x in done.x.tolist())


@lru_cache
def _alone(method: str) -> tuple[str, ...]:
    return ending(method)


def _same(method: str, call: Any) -> str:
    """Say which of several runs at a time ends otherwise than one alone."""
    expected = _alone(method)
    others = [end for end in call(method) if end != expected]
    return f"{others[0]} where one alone ends {expected}" if others else ""


def _threads(method: str) -> list[Any]:
    with ThreadPoolExecutor(TOGETHER) as pool:
        return [*pool.map(ending, [method] * TOGETHER)]


def _forked(method: str) -> list[Any]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        return [*pool.map(ending, [method] * TOGETHER)]


def _spawned(method: str) -> list[Any]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return [*pool.map(ending, [method] * 2)]


def _asynchronous(method: str) -> list[Any]:
    async def all_of_them() -> list[Any]:
        within = ending(method)  # in the loop itself
        jobs = [asyncio.to_thread(ending, method) for _ in range(TOGETHER)]
        return [within, *await asyncio.gather(*jobs)]

    return asyncio.run(all_of_them())


WAYS = {
    f"{TOGETHER} threads": _threads,
    "forked": _forked,
    "spawned": _spawned,
    "asyncio": _asynchronous,
}


def _ranks() -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not nightly", RANKS]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout[-2000:]
