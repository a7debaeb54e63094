"""Several starts, one answer: the lowest certified point, and what became of the others."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.kernel import Outcome
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import point

CUT = (Outcome.INTERRUPTED, Outcome.STOPPED)

Starts = int | Callable[[np.random.Generator], Any] | Any


def from_many(
    solve: Callable[..., OptimizeResult],
    x0: Vector,
    starts: Starts,
    count: int,
    seed: int,
    max_gradients: int | None,
    failure_probability: float,  # delta
) -> OptimizeResult:
    """Run from every start within one budget.

    Args:
        solve: ``solve(x0, seed=..., max_gradients=..., failure_probability=...)``.
        x0: The first start, where the others are drawn.
        starts: How many (drawn about x0, as far as x0 is long, at least one), a function that draws
            one from a generator, or the points themselves.
        count: How many a function is to draw.
        seed: Of the draws; run i has seed + i.
        max_gradients: Of all runs together.
        failure_probability: Of all runs together, as the lowest one is picked out of them.

    Returns:
        The result of the lowest certified run, or of the lowest one if there is none, with
        ``runs``, the results of all, and nfev, njev and nit summed over them.
    """
    runs, left = [], max_gradients
    points = _points(x0, starts, count, seed)
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


def _points(x0: Vector, starts: Starts, count: int, seed: int) -> list[Vector]:
    rng = np.random.default_rng((seed, 0x57A27))
    if callable(starts):
        return [point(starts(rng), "starts(rng)") for _ in range(count)]
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
