"""Either kind of SciPy's callback: ``callback(xk)`` or ``callback(intermediate_result)``."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.core.events import doing
from unsaddle.core.evidence import evidence
from unsaddle.core.phases import BEGIN, CERTIFIED
from unsaddle.numpy.loop import Run


def adapted(callback: Callable[..., Any]) -> Callable[[Run], None]:
    """Give a function of a run that calls the user's callback."""
    call = informed(callback)

    def of_run(run: Run) -> None:
        x = run.state.x.copy()
        seen = (run.iterate[:2], run.oracle.best or (x, None))
        known = [value for at, value in seen if value is not None and np.array_equal(at, x)]
        fun = known[0] if known else math.nan
        state, searched = run.state, run.state.phase > BEGIN or run.state.phase == CERTIFIED
        lowest = float(evidence(run.ops, state).curvature) if searched else math.nan
        call(
            OptimizeResult(
                x=x,
                fun=fun,
                nit=run.iterations,
                gradient_norm=run.slope,
                phase=doing(state.phase, state.episode),
                curvature=lowest if math.isfinite(lowest) else math.nan,
            )
        )

    return of_run


def informed(callback: Callable[..., Any]) -> Callable[[OptimizeResult], None]:
    """Give a function of an intermediate result that calls the user's callback."""
    if not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    try:
        modern = set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except ValueError:  # a builtin without a signature
        modern = False
    if modern:
        return lambda seen: callback(intermediate_result=seen)
    return lambda seen: callback(seen.x)


def collecting(iterates: list[Any], callback: Callable[..., Any] | None) -> Callable[..., None]:
    """Give a callback that keeps every iterate, once, and then calls the user's if there is one."""
    call = None if callback is None else informed(callback)

    def collect(intermediate_result: OptimizeResult) -> None:
        x = intermediate_result.x
        if not iterates or not np.array_equal(iterates[-1], x):
            iterates.append(x.copy())
        if call is not None:
            call(intermediate_result)

    return collect
