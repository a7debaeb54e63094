"""Several starts, one answer: the lowest certified point, and what became of the others."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.core.outcome import Outcome
from unsaddle.numpy.inputs import point
from unsaddle.numpy.ops import Vector

DRAWS = 10  # starts that a function draws
CUT = (Outcome.INTERRUPTED, Outcome.STOPPED)

Starts = int | Callable[[np.random.Generator], Any] | Any


def from_many(
    solve: Callable[..., OptimizeResult],  # of a start, with seed, budget and delta by name
    x0: Vector,  # the first start, around which others are drawn
    starts: Starts,
    seed: int,  # of the draws; run i has seed + i
    max_gradients: int | None,  # of all runs together
    failure_probability: float,  # delta, of all together, as one is picked out of them
    box: Any = None,  # into which points that are drawn here are moved
) -> OptimizeResult:
    """Run from every start within one budget."""
    runs, left = [], max_gradients
    points = _points(x0, starts, seed)
    if box is not None and isinstance(starts, int | np.integer):
        points[1:] = [box.clip(each) for each in points[1:]]
    share = failure_probability / len(points)
    for i, start in enumerate(points):
        try:
            runs.append(solve(start, seed=seed + i, max_gradients=left, failure_probability=share))
        except Exception as error:
            so_far = getattr(error, "unsaddle", None)
            if so_far is not None:
                merged = _merged([*runs, so_far], len(points), failure_probability)
                error.unsaddle = merged  # type: ignore[attr-defined]
            raise
        if left is not None:
            left -= runs[-1].njev
        if runs[-1].outcome in CUT:
            break
    return _merged(runs, len(points), failure_probability)


def _merged(runs: list[Any], wanted: int, failure_probability: float) -> OptimizeResult:
    """Give the lowest certified run, or the lowest of all, with what all of them have cost."""
    best = min(runs, key=lambda run: (not run.success, np.isnan(run.fun), run.fun))
    whole = best.certificate
    if whole.holds:
        whole = dataclasses.replace(whole, failure_probability=failure_probability)
    sums = {name: sum(run[name] for run in runs) for name in ("nfev", "njev", "nit")}
    sums["message"] = best.message.replace(str(best.certificate), str(whole))
    if len(runs) < wanted or runs[-1].outcome in CUT:
        sums["message"] += f" Of {wanted} starts, {len(runs) - 1} came to their end."
    return type(best)({**best, **sums, "certificate": whole, "runs": runs})


def _points(x0: Vector, starts: Starts, seed: int) -> list[Vector]:
    rng = np.random.default_rng((seed, 0x57A27))
    if callable(starts):
        return [point(starts(rng), "starts(rng)") for _ in range(DRAWS)]
    if isinstance(starts, int | np.integer):
        if starts < 1:
            raise ValueError(f"starts must be at least 1, got {starts}")
        spread = max(1.0, float(np.sqrt(np.mean(x0 * x0))))
        away = rng.standard_normal((int(starts) - 1, x0.size)) * spread
        return [x0, *(x0 + away).astype(x0.dtype)]
    rows = [*starts] if np.iterable(starts) else []
    if not rows:
        raise ValueError(
            f"starts must be a number, points, or a function that draws one, got {starts!r}"
        )
    points = [point(start, "a row of starts") for start in rows]
    for start in points:
        if start.shape != x0.shape:
            raise ValueError(
                f"a row of starts has {start.size} numbers, expected {x0.size} like x0"
            )
    return points
