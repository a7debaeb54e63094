"""Time what a solver adds to the user's function, and compare contestants that run in turns."""

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

from unsaddle.landscapes import Landscape


class Clock:
    """A function that knows when it was called, and how long it took in all."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        """Wrap a function."""
        self.call, self.calls, self.seconds = call, list[float](), 0.0

    def __call__(self, x: Any) -> Any:
        """Call it."""
        begin = perf_counter()
        answer = self.call(x)
        self.seconds += perf_counter() - begin
        self.calls.append(begin)
        return answer


Solve = Callable[[Clock, Clock], Any]


def overhead(f: Landscape, solve: Solve) -> float:
    """Give the microseconds per gradient that were not spent in the user's function."""
    value, gradient = Clock(f.value), Clock(f.gradient)
    begin = perf_counter()
    solve(value, gradient)
    total = perf_counter() - begin
    return 1e6 * (total - value.seconds - gradient.seconds) / len(gradient.calls)


def period(f: Landscape, solve: Solve) -> float:
    """Give the milliseconds per gradient, over pairs: accelerated descent takes two a step."""
    value, gradient = Clock(f.value), Clock(f.gradient)
    solve(value, gradient)
    return 1e3 * median(late - early for early, late in pairwise(gradient.calls[4::2])) / 2


def in_turns(jobs: dict[Any, Callable[[], float]], rounds: int) -> dict[Any, list[float]]:
    """Run the jobs in turns, after a round that does not count."""
    seen = [{name: job() for name, job in jobs.items()} for _ in range(rounds + 1)]
    return {name: [one[name] for one in seen[1:]] for name in jobs}


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Give the median of the rounds' ratios."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))
