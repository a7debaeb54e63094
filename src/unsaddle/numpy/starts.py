"""Several starts, one answer: the lowest certified point, and what became of the others."""

import contextlib
import dataclasses
import pickle
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.core.outcome import Outcome
from unsaddle.methods.checks import shown, whole
from unsaddle.methods.constants import check
from unsaddle.numpy.box import Box, moved_in
from unsaddle.numpy.inputs import count_of, point
from unsaddle.numpy.ops import Vector
from unsaddle.numpy.workers import Workers, in_order


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    room: float = 64.0  # 16 and up: of the largest number, so that no draw is beyond it


TUNING = Tuning()
DRAWS = 10  # starts that a function draws
MOST = 10**6  # starts in all: their points are kept
CUT = (Outcome.STOPPED, Outcome.INTERRUPTED)

Starts = int | Callable[[np.random.Generator], Any] | Any


class Around(NamedTuple):
    """The first start, and what is known of the points around it."""

    x0: Vector
    scale: Vector  # of the variables, in which points are drawn
    box: Box | None  # into which points are moved


class Task(NamedTuple):
    """One start."""

    start: Vector
    words: dict[str, Any]  # seed, and share of delta


class End(NamedTuple):
    """What became of a start: a result, and the exception that cut it short, if there was one."""

    run: Any  # None if the exception came before anything was seen
    error: Exception | None = None


def from_many(
    solve: Callable[..., OptimizeResult],  # of a start, with seed, budget and delta by name
    around: Around,
    starts: Starts,
    seed: int,  # of the draws; run i has seed + i
    max_gradients: int | None,  # of all runs together
    failure_probability: float,  # delta, of all together, as one is picked out of them
    workers: Workers = 1,
) -> OptimizeResult:
    """Run from every start within one budget; an exception in one is raised when all are over.

    Runs at once know nothing of each other's gradients: each has the whole budget, and one that
    took more than those before it have left is run once more with that.

    Returns:
        The lowest certified run, or the lowest of all, with all of them as ``runs``.

    Raises:
        KeyboardInterrupt: If it came before there was a run to return.
    """
    alone, left, ends = count_of(workers) == 1, max_gradients, list[End]()
    delta = check({"failure_probability": failure_probability})["failure_probability"]
    tasks = _tasks(_points(around, starts, seed), seed, delta)
    away = partial(_away, solve, max_gradients)
    work = (lambda task: _attempt(solve, left, task)) if alone else away
    try:
        for task, answer in in_order(workers, work, tasks):
            end = answer if isinstance(answer, End) else End(None, answer)
            if left is not None and _cost(end) > left:
                end = _attempt(solve, left, task)
            left = None if left is None else left - _cost(end)
            ends.append(end)
            if end.error is None and end.run.outcome in (CUT if alone else CUT[:1]):
                break
    except KeyboardInterrupt:  # in a map of the user's
        if not ends:
            raise
    except Exception as error:  # of such a map, as where its pool has broken
        ends.append(End(None, error))
    return _concluded(ends, len(tasks), delta)


def _tasks(points: list[Vector], seed: int, failure_probability: float) -> list[Task]:
    """Give each start its seed, and its share of delta."""
    share = failure_probability / len(points)
    return [
        Task(start, {"seed": seed + i, "failure_probability": share})
        for i, start in enumerate(points)
    ]


def _attempt(solve: Callable[..., Any], budget: int | None, task: Task) -> End:
    """Run from one start."""
    try:
        return End(solve(task.start, max_gradients=budget, **task.words))
    except Exception as error:
        return End(vars(error).pop("unsaddle", None), error)


def _away(solve: Callable[..., Any], budget: int | None, task: Task) -> End:
    """Run from one start in another process, from which not every exception can be sent."""
    run, error = _attempt(solve, budget, task)
    if error is None:
        return End(run)
    there = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"It was raised by a worker:\n{there}")
    return End(run, error)


def _cost(end: End) -> int:
    """Give what a run takes of the budget."""
    return 0 if end.run is None else end.run.njev + end.run.nhvp


def _concluded(ends: list[End], wanted: int, failure_probability: float) -> OptimizeResult:
    """Give the result of all runs, or raise the first exception with that as its ``unsaddle``."""
    runs = [end.run for end in ends if end.run is not None]
    ended = sum(end.error is None and end.run.outcome not in CUT for end in ends)
    error = next((end.error for end in ends if end.error is not None), None)
    if error is None and not runs:
        raise KeyboardInterrupt
    if runs:
        merged = _merged(runs, failure_probability)
        if ended < wanted:
            merged.message += f" Of {wanted} starts, {ended} came to their end."
        if error is None:
            return merged
        with contextlib.suppress(AttributeError):  # the user's exception may take none
            error.unsaddle = merged  # type: ignore[union-attr]
    raise error  # type: ignore[misc]


def _merged(runs: list[Any], failure_probability: float) -> OptimizeResult:
    """Give the lowest certified run, or the lowest of all; cost and lowest value are of all."""
    best = min(runs, key=lambda run: (not run.success, np.isnan(run.fun), run.fun))
    whole = best.certificate
    if whole.holds:
        whole = dataclasses.replace(whole, failure_probability=failure_probability)
    sums = {name: sum(run[name] for run in runs) for name in ("nfev", "njev", "nit", "nhvp")}
    sums["message"] = best.message.replace(str(best.certificate), str(whole))
    lowest = min((run.best for run in runs), key=lambda seen: (np.isnan(seen.fun), seen.fun))
    return type(best)({**best, **sums, "certificate": whole, "best": lowest, "runs": runs})


def _points(around: Around, starts: Starts, seed: int) -> list[Vector]:
    """Give the points to start at."""
    rng, (x0, scale, box) = np.random.default_rng((seed, 0x57A27)), around
    if callable(starts):
        return [point(starts(rng), "starts(rng)") for _ in range(DRAWS)]
    if isinstance(starts, int | np.integer):
        whole("starts", starts, least=1, most=MOST)
        most = np.finfo(x0.dtype).max / TUNING.room
        with np.errstate(over="ignore"):
            spread = max(1.0, float(np.sqrt(np.mean((x0 / scale) ** 2))))
            away = rng.standard_normal((int(starts) - 1, x0.size)) * min(spread, most) * scale
        drawn = np.clip(x0 + away, -most, most).astype(x0.dtype)
        return [x0, *(drawn if box is None else map(box.clip, drawn))]
    rows = [*starts] if np.iterable(starts) else []
    if not rows:
        raise ValueError(
            f"starts must be a number, points, or a function that draws one, got {shown(starts)}"
        )
    points = [point(start, "a row of starts") for start in rows]
    for start in points:
        if start.shape != x0.shape:
            raise ValueError(
                f"a row of starts has {start.size} numbers, expected {x0.size} like x0"
            )
    return points if box is None else [moved_in(box, each, "a row of starts") for each in points]
