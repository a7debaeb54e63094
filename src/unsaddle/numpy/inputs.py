"""Checks of what a user passes, and of what a user's function returns."""

import os
import sys
from math import inf
from typing import Any

import numpy as np

from unsaddle.methods.checks import MOST, number, shown
from unsaddle.numpy.ops import Vector

OURS = ("unsaddle.", "scipy.")


def point(x0: Any, name: str = "x0") -> Vector:
    """Check a start point and give it as a new float array."""
    try:
        given = np.asarray(x0)
    except ValueError as error:
        raise ValueError(f"{name} must be a sequence of numbers: {error}") from error
    if given.dtype.kind not in "fiu":
        hints = {
            "; stack real and imaginary parts": given.dtype.kind == "c",
            "; pass the point of the result, result.x": hasattr(x0, "x"),
            "; the function comes first, the point second": callable(x0),
        }
        hint = next((hint for hint, fits in hints.items() if fits), "")
        raise TypeError(f"{name} must be real numbers, got dtype {given.dtype}{hint}")
    if given.ndim == 0:
        given = given.reshape(1)
    if given.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {given.shape}; use .ravel()")
    if given.size == 0:
        raise ValueError(f"{name} is empty: give at least one number")
    if not np.isfinite(given).all():
        bad = int(np.argmin(np.isfinite(given)))
        raise ValueError(f"{name} must be finite, got NaN or infinity at index {bad}")
    return np.array(given, np.float32 if given.dtype == np.float32 else np.float64)


def as_precise(name: str, answer: Vector, dtype: Any, harm: str) -> Vector:
    """Check that a user's function has returned real numbers no coarser than x0, and convert."""
    if answer.dtype.kind not in "fiu":
        raise TypeError(f"{name} must return real numbers, got dtype {answer.dtype}")
    if answer.dtype.kind == "f" and answer.itemsize < dtype.itemsize:
        raise TypeError(
            f"{name} returned {answer.dtype} for an x0 of {dtype}: {harm}; "
            f"pass x0.astype({answer.dtype.name!r}), or return {dtype}"
        )
    return answer.astype(dtype, copy=False)


def caller() -> int:
    """Give the stack level of the user's call, for a warning that is issued where this is called.

    Returns:
        How many frames there are from here to the first one outside of the package and of SciPy.
    """
    level, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        level, frame = level + 1, frame.f_back
    return level + 1


def progress_stream(disp: Any) -> Any:
    """Check where progress is shown: a file, or True; False if nowhere."""
    if hasattr(disp, "write") and not isinstance(disp, type):
        return disp
    if disp is not None and not isinstance(disp, bool | np.bool_) and not number(disp) >= 0:
        raise ValueError(f"disp must be True, False or a file, got {shown(disp)}")
    return bool(disp)


def seconds(name: str, value: Any) -> float:
    """Check a time; None is without end."""
    if value is None:
        return inf
    time = number(value)
    if not time >= 0:
        raise ValueError(f"{name} must be a number of seconds >= 0, or None, got {shown(value)}")
    return time


def count_of(workers: Any) -> int:
    """Check ``workers``, and give how many processes it asks for; zero if it is a map."""
    if callable(workers):
        return 0
    given = number(workers)
    if not given.is_integer() or not (given == -1 or 1 <= given <= MOST):
        raise ValueError(
            "workers must be a number >= 1, -1 for all processors, or a map such as pool.map, "
            f"got {shown(workers)}"
        )
    return _processors() if given == -1 else int(given)


def _processors() -> int:
    """How many processors this process may use."""
    own = getattr(os, "sched_getaffinity", None)
    return len(own(0)) if own else os.cpu_count() or 1
