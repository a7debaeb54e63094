"""What parameter-free accelerated descent learns of rho from three gradients and two values.

Source: Marumo & Takeda (2024).
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.kernel import State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.descents.epoch import momentum, rounding, size


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    bow: float = 12.0  # visible changes, 1 to 100: three values and two slopes err by less
    skew: float = 32.0  # roundoffs of |g| + L |x|, 4 to 256: three gradients err by less


TUNING = Tuning()


def bound(ops: Ops, s: State, value: Scalar, gradient: Vector) -> Scalar:
    """Bound rho from below, by f and g at y = x + theta (x - x_-), if f(y) is finite.

    Returns:
        The larger of 12 (f(y) - f(x) - <g(y) + g(x), y - x>/2)/|y - x|^3, the error of the
        trapezoidal rule, and |g(y) + theta g(x_-) - (1 + theta) g(x)|/(theta |x - x_-|^2); zero
        for either that rounding could have made.
    """
    d, inside, th = s.descent, value < inf, momentum(s.descent)
    square = ops.maximum(ops.dot(d.step, d.step), ops.tiny(s.x))
    cube = ops.maximum(th**3 * square * ops.sqrt(square), ops.tiny(s.x))
    bow = value - d.value - th * (ops.dot(gradient, d.step) + ops.dot(d.gradient, d.step)) / 2
    skew = ops.norm(ops.axpy(-1 - th, d.gradient, ops.add(gradient, th, d.before)))
    unit = ops.norm(gradient) + d.smoothness * size(ops, s)
    bent = inside & (bow > TUNING.bow * rounding(ops, s))
    turned = inside & (skew > TUNING.skew * ops.roundoff(s.x) * unit)
    return ops.maximum(
        ops.where(bent, 12 * bow / cube, 0.0), ops.where(turned, skew / (th * square), 0.0)
    )
