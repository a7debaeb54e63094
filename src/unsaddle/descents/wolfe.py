"""A line search for the Wolfe conditions, as scalars only: bracket, then interpolate.

Source: the conditions and the cubic step are those of Moré & Thuente (1994). Where the change of
the function is lost in its noise, the slopes are integrated instead, by the trapezoidal rule:
Armijo's condition then is the approximate Wolfe condition of Hager & Zhang (2005), and the cubic
step a secant step on the slopes.
"""

from math import inf, nan
from typing import NamedTuple

from unsaddle.kernel import Ops, Scalar

ARMIJO, CURVATURE = 1e-3, 0.9  # as in L-BFGS-B
LEAST, MOST = 1.1, 4.0  # how much further an unbracketed step goes
EDGE = 0.1  # how near to an end of the bracket a step may be


class Line(NamedTuple):
    """A search along one direction: phi(t) = f(x + t d)."""

    value: Scalar  # phi(0)
    slope: Scalar  # phi'(0)
    t: Scalar  # to try next
    low: Scalar  # the best end of the bracket, with value and slope
    low_value: Scalar
    low_slope: Scalar
    high: Scalar  # its other end, infinite until there is one
    high_value: Scalar
    high_slope: Scalar
    tries: Scalar


def along(value: Scalar, slope: Scalar, t: Scalar) -> Line:
    """Begin a search at t."""
    return Line(value, slope, t, 0.0, value, slope, inf, inf, 0.0, 0)


def clean(ops: Ops, line: Line, value: Scalar, slope: Scalar, noise: Scalar) -> Scalar:
    """phi(t), or its slopes' integral from the bracket's best end where noise hides the change."""
    integral = line.low_value + (line.t - line.low) * (slope + line.low_slope) / 2
    return ops.where(abs(value - line.low_value) <= noise, integral, value)


def accepts(line: Line, value: Scalar, slope: Scalar) -> Scalar:
    """Strong Wolfe."""
    enough = value <= line.value + ARMIJO * line.t * line.slope
    return enough & (abs(slope) <= -CURVATURE * line.slope)


def narrow(ops: Ops, line: Line, value: Scalar, slope: Scalar) -> Line:
    """Replace an end of the bracket by what was seen at t, and choose the next t."""
    t = line.t
    fails = value > line.value + ARMIJO * t * line.slope
    above = fails | (value >= line.low_value)  # t becomes the high end
    turns = slope * (t - line.low) >= 0  # low becomes the high end, t the low one
    low, low_value, low_slope = (
        ops.where(above, line[i], new) for i, new in ((3, t), (4, value), (5, slope))
    )
    high, high_value, high_slope = (
        ops.where(above, new, ops.where(turns, line[i - 3], line[i]))
        for i, new in ((6, t), (7, value), (8, slope))
    )
    closed = high < inf
    far = ops.where(closed, high, line.low)
    far_value = ops.where(closed, high_value, line.low_value)
    far_slope = ops.where(closed, high_slope, line.low_slope)
    guess = cubic(ops, low, low_value, low_slope, far, far_value, far_slope)
    width = far - low
    inner = between(ops, guess, low + EDGE * width, low + (1 - EDGE) * width, low + width / 2)
    ahead = ops.where(low_slope > far_slope, guess, inf)  # a fall that steepens has no end in sight
    outer = between(ops, ahead, low - LEAST * width, low - MOST * width, low - MOST * width)
    return Line(
        line.value,
        line.slope,
        ops.where(closed, inner, outer),
        low,
        low_value,
        low_slope,
        high,
        high_value,
        high_slope,
        line.tries + 1,
    )


def cubic(ops: Ops, a: Scalar, fa: Scalar, da: Scalar, b: Scalar, fb: Scalar, db: Scalar) -> Scalar:
    """Minimiser of the cubic through two values and slopes; NaN or infinite where there is none."""
    gap = ops.where(b == a, nan, b - a)
    mean = da + db - 3 * (fb - fa) / gap
    square = mean * mean - da * db
    root = ops.where(b > a, 1.0, -1.0) * ops.sqrt(ops.maximum(square, 0.0))
    rise = db - da + 2 * root
    rise = ops.where(rise == 0, nan, rise)
    return b - gap * (db + root - mean) / rise


def between(ops: Ops, t: Scalar, one: Scalar, other: Scalar, otherwise: Scalar) -> Scalar:
    """Bring t between two bounds; another number where t is none."""
    least, most = ops.where(one < other, one, other), ops.where(one < other, other, one)
    inside = ops.where(t < least, least, ops.where(t > most, most, t))
    return ops.where((t > -inf) & (t < inf), inside, otherwise)
