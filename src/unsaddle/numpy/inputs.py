"""Checks of what a user passes: points and whole numbers."""

from math import inf
from numbers import Real
from typing import Any

import numpy as np

from unsaddle.numpy.ops import Vector


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


def whole(name: str, number: Any, none: bool = False) -> Any:
    """Check a whole number >= 0, or a budget, of which there may be ``none``."""
    if none and number is None:
        return inf
    fits = isinstance(number, Real) and not isinstance(number, bool | np.bool_)
    size: Any = number if fits else -1
    if not (0 <= size <= 1e100 and float(size).is_integer()):
        expected = f"a whole number >= 0, at most 1e100{', or None' * none}"
        raise ValueError(f"{name} must be {expected}, got {number!r}")
    return number
