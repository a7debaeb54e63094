"""A line search for the Wolfe conditions, as scalars only: bracket, then interpolate.

Source: the conditions and the cubic step are those of Moré & Thuente (1994). Where the change of
the function is lost in its noise, the slopes are integrated instead, by the trapezoidal rule:
Armijo's condition then is the approximate Wolfe condition of Hager & Zhang (2005), and the cubic
step a secant step on the slopes.
"""

from math import inf, nan
from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar
from unsaddle.core.records import new


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    armijo: float = 1e-3  # share of the first slope, (0, 1/2): as in L-BFGS-B
    curvature: float = 0.9  # share of the first slope, (armijo, 1): as in L-BFGS-B
    least: float = 1.1  # steps, above 1: Moré & Thuente's least extrapolation
    most: float = 4.0  # steps, above least: Moré & Thuente's longest extrapolation
    edge: float = 0.1  # of the bracket, (0, 1/2): how near to its ends a step may be


TUNING = Tuning()


class End(NamedTuple):
    """One end of a bracket: t, phi(t) and phi'(t)."""

    t: Scalar
    value: Scalar
    slope: Scalar


class Line(NamedTuple):
    """A search along one direction: phi(t) = f(x + t d)."""

    value: Scalar  # phi(0)
    slope: Scalar  # phi'(0)
    t: Scalar  # to try next
    low: End  # the best end of the bracket
    high: End  # its other end, at infinity until there is one
    here: End  # the last trial
    tries: Scalar
    most: Scalar  # the largest t that may be tried
    noise: Scalar  # what phi is allowed to have


ORIGIN, NO_END = End(0.0, 0.0, 0.0), End(inf, inf, 0.0)
NO_LINE = Line(0.0, 0.0, 0.0, ORIGIN, NO_END, ORIGIN, 0, inf, 0.0)


def along(
    ops: Ops, value: Scalar, slope: Scalar, t: Scalar, most: Scalar, noise: Scalar = 0.0
) -> Line:
    """Begin a search at t, or at the largest t that may be tried."""
    t, origin = ops.where(t < most, t, most), new(End, (0.0, value, slope))
    return new(Line, (value, slope, t, origin, NO_END, origin, 0, most, noise))


def tried(ops: Ops, line: Line, value: Scalar, slope: Scalar) -> Line:
    """Take phi and phi' at t in; where noise hides phi's change from the best end, by slopes."""
    first, fall, t, low, high, _, tries, most, noise = line
    integral = low.value + (t - low.t) * (slope + low.slope) / 2
    smooth = ops.where(abs(value - low.value) <= noise, integral, value)
    here = new(End, (t, smooth, slope))
    return new(Line, (first, fall, t, low, high, here, tries, most, noise))


def accepts(line: Line) -> Scalar:
    """The strong Wolfe conditions; where f still falls at the largest t, the first of them."""
    t, value, slope = line.here
    enough = value <= line.value + TUNING.armijo * t * line.slope
    flat = abs(slope) <= -TUNING.curvature * line.slope
    return enough & (flat | ((t >= line.most) & (slope < 0)))


def narrow(ops: Ops, line: Line) -> Line:
    """Replace an end of the bracket by what was found at t, and choose the next t."""
    here, (t, value, slope) = line.here, line.here
    fails = value > line.value + TUNING.armijo * t * line.slope
    above = fails | (value >= line.low.value)  # t becomes the high end
    turns = slope * (t - line.low.t) >= 0  # low becomes the high end, t the low one
    low = ops.switch(above, line.low, here)
    high = ops.switch(above, here, ops.switch(turns, line.low, line.high))
    closed = high.t < inf
    far = ops.switch(closed, high, line.low)
    t = ops.where(closed, _inside(ops, low, far), _outside(ops, low, far))
    t = ops.where(t < line.most, t, line.most)
    return line._replace(t=t, low=low, high=high, tries=line.tries + 1)


def _inside(ops: Ops, low: End, far: End) -> Scalar:
    """The cubic's minimiser, away from the ends of the bracket; its middle if there is none."""
    width, edge = far.t - low.t, TUNING.edge
    guess = cubic(ops, low, far)
    return between(ops, guess, low.t + edge * width, low.t + (1 - edge) * width, low.t + width / 2)


def _outside(ops: Ops, low: End, behind: End) -> Scalar:
    """The cubic's minimiser beyond low; as far as allowed where the fall steepens."""
    width, most = behind.t - low.t, TUNING.most
    ahead = ops.where(low.slope > behind.slope, cubic(ops, low, behind), inf)
    return between(
        ops, ahead, low.t - TUNING.least * width, low.t - most * width, low.t - most * width
    )


def cubic(ops: Ops, a: End, b: End) -> Scalar:
    """Minimiser of the cubic through two values and slopes; NaN or infinite where there is none."""
    gap = ops.where(b.t == a.t, nan, b.t - a.t)
    mean = a.slope + b.slope - 3 * (b.value - a.value) / gap
    square = mean * mean - a.slope * b.slope
    root = ops.where(b.t > a.t, 1.0, -1.0) * ops.sqrt(ops.maximum(square, 0.0))
    rise = b.slope - a.slope + 2 * root
    rise = ops.where(rise == 0, nan, rise)
    return b.t - gap * (b.slope + root - mean) / rise


def between(ops: Ops, t: Scalar, one: Scalar, other: Scalar, otherwise: Scalar) -> Scalar:
    """Bring t between two bounds; another number where t is none."""
    least, most = ops.where(one < other, one, other), ops.where(one < other, other, one)
    inside = ops.where(t < least, least, ops.where(t > most, most, t))
    return ops.where((t > -inf) & (t < inf), inside, otherwise)
