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


def gradient(fun: Callable[[Any], Any], scheme: str, x: Vector) -> Vector:
    """Give the gradient of fun at x by differences."""
    sign = np.where((scheme == "3-point") | (scheme == "cs") | (x >= 0), 1.0, -1.0)
    steps = np.finfo(x.dtype).eps ** SCHEMES[scheme].step * sign * np.maximum(1.0, np.abs(x))
    here = fun(x.copy()) if scheme == "2-point" else 0.0
    return np.array([_slope(fun, scheme, x, i, h, here) for i, h in enumerate(steps)], x.dtype)


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
