"""Gradients made of differences of values, one variable at a time.

Steps are those of Nocedal & Wright, section 8.1: a power of the roundoff times max(1, |x_i|), which
balances the error of the formula with that of the values.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unsaddle.numpy.ops import Vector


class Scheme(NamedTuple):
    """A formula of differences."""

    step: float  # the step, as a power of the spacing of floating point numbers
    error: float  # the error, as a power of the roundoff


SCHEMES = {
    "2-point": Scheme(step=1 / 2, error=1 / 2),
    "3-point": Scheme(step=1 / 3, error=2 / 3),
    "cs": Scheme(step=1 / 2, error=1.0),
}


def relative_error(scheme: str, x: Vector) -> float:
    """Give the relative error of such a gradient."""
    return (float(np.finfo(x.dtype).eps) / 2) ** SCHEMES[scheme].error


def cost(values: int, scheme: str) -> str:
    """Say what a gradient costs that is made of values."""
    return (
        f"jac is not given: every gradient takes {values:,} values of fun "
        f"({scheme} differences); pass jac=<the gradient> if there is one"
    )


def values_of(scheme: str, n: int) -> int:
    """Give how many values a gradient takes."""
    return {"2-point": n + 1, "3-point": 2 * n, "cs": n}[scheme]


def gradient(
    fun: Callable[[Any], Any], scheme: str, x: Vector, box: tuple[Vector, Vector] | None = None
) -> Vector:
    """Give the gradient of fun at x by differences, which stay within bounds if there are any."""
    sign = np.where((scheme == "3-point") | (scheme == "cs") | (x >= 0), 1.0, -1.0)
    steps = np.finfo(x.dtype).eps ** SCHEMES[scheme].step * sign * np.maximum(1.0, np.abs(x))
    here = fun(x.copy()) if scheme == "2-point" else 0.0
    if box is not None and scheme != "cs":
        return _within(fun, scheme, x, steps, *box)
    return np.array([_slope(fun, scheme, x, i, h, here) for i, h in enumerate(steps)], x.dtype)


def _within(
    fun: Callable[[Any], Any], scheme: str, x: Vector, steps: Vector, lower: Vector, upper: Vector
) -> Vector:
    """Give the gradient by differences whose points are all within bounds.

    Where a step behind would leave them, both are ahead, and the parabola through the three values
    is differentiated, as SciPy does; where there is no room at all, the derivative is zero.

    Returns:
        The gradient.
    """
    here, slopes = fun(x.copy()), np.zeros_like(x)
    for i, step in enumerate(abs(steps)):
        ahead, behind = upper[i] - x[i], x[i] - lower[i]
        far = 1 if scheme == "2-point" else 2  # steps to one side
        way = 1.0 if ahead >= behind else -1.0
        both = scheme == "3-point" and min(ahead, behind) >= step
        reach = step if both else min(step, max(ahead, behind) / far)
        at = [x[i] - reach, x[i] + reach] if both else [x[i] + way * reach * k for k in (1, far)]
        at = np.clip(np.asarray(at, x.dtype), lower[i], upper[i])
        values = [_value_with(fun, x, i, each) for each in at[: 2 if scheme == "3-point" else 1]]
        slopes[i] = _parabola(x[i], here, at, values) if reach > 0 else 0.0
    return slopes


def _value_with(fun: Callable[[Any], Any], x: Vector, i: int, number: Any) -> Any:
    """Give the value at x with another number in place i."""
    point = x.copy()
    point[i] = number
    return fun(point)


def _parabola(x: float, here: float, at: Vector, values: list[float]) -> float:
    """Give the slope at x of the line or the parabola through what is known."""
    slopes = [(value - here) / (place - x) for place, value in zip(at, values, strict=False)]
    if len(slopes) == 1:
        return slopes[0]
    (one, other), (a, b) = slopes, at - x
    return one - a * (other - one) / (b - a)


def _slope(
    fun: Callable[[Any], Any], scheme: str, x: Vector, i: int, step: float, here: float
) -> float:
    """Give the derivative along one variable."""
    if scheme == "cs":
        point = x.astype(complex)
        point[i] += step * 1j
        return np.imag(fun(point)) / step
    ahead, behind = x.copy(), x.copy()
    ahead[i] += step
    if scheme == "2-point":
        return (fun(ahead) - here) / (ahead[i] - x[i])
    behind[i] -= step
    return (fun(ahead) - fun(behind)) / (ahead[i] - behind[i])
