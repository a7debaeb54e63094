"""How a transcription queries the objective: it yields an `Ask` and is sent the answer.

Inside an algorithm, `yield from f(x)` reads as f(x) and `yield from grad(x)` as its gradient.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

Vector = np.ndarray
Answer = tuple[Any, Any]  # (value or None, gradient or None)
T = TypeVar("T")


class Ask(NamedTuple):
    """A query of the objective: where, and what is wanted there ("f", "g" or "fg").

    Where the objective is a mean over samples, also which samples are meant.
    """

    point: Vector
    needs: str
    sample: Any = None


Asking = Generator[Ask, Answer, T]  # asks its way to a T


def f(x: Vector) -> Asking[float]:
    """Ask for the value at x."""
    value, _ = yield Ask(np.array(x, float), "f")
    return value


def grad(x: Vector) -> Asking[Vector]:
    """Ask for the gradient at x."""
    _, gradient = yield Ask(np.array(x, float), "g")
    return gradient


def sampled_grad(x: Vector, sample: Any) -> Asking[Vector]:
    """Ask for the mean gradient at x over the samples given."""
    _, gradient = yield Ask(np.array(x, float), "g", sample)
    return gradient


def f_and_grad(x: Vector) -> Asking[tuple[float, Vector]]:
    """Ask for the value and the gradient at x in one query."""
    return (yield Ask(np.array(x, float), "fg"))


def run(
    generator: Asking[T],
    value: Callable[..., float],
    gradient: Callable[..., Vector],
    limit: int | None = None,
) -> tuple[list[Ask], T | None]:
    """Answer a transcription with real functions until it returns.

    Args:
        generator: The transcription, not yet started.
        value: The objective.
        gradient: Its gradient.
        limit: Stop once this many asks are answered; None is no limit.

    Returns:
        The asks in order, and the result, None if the limit came first.
    """
    asks: list[Ask] = []
    answer: Any = None
    while True:
        try:
            ask = generator.send(answer)
        except StopIteration as stop:
            return asks, stop.value
        if len(asks) == limit:
            return asks, None
        asks.append(ask)
        drawn = () if ask.sample is None else (ask.sample,)
        answer = (
            value(ask.point, *drawn) if "f" in ask.needs else None,
            gradient(ask.point, *drawn) if "g" in ask.needs else None,
        )


def points(asks: Sequence[Ask]) -> Vector:
    """List the points queried, one per row: asking again at a point is no new query."""
    return np.array(list(dict.fromkeys(tuple(ask.point.tolist()) for ask in asks)))
