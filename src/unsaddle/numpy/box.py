"""Bounds on the variables: which points they allow, and which variables they leave free."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeWarning

from unsaddle.methods.checks import shown
from unsaddle.numpy.inputs import caller
from unsaddle.numpy.ops import Vector

FORM = "scipy.optimize.Bounds(lb, ub), or a pair (lb, ub) for every variable"


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    margin: float = 16.0  # probe radii, 1 and up: a free variable has room for them on both sides
    clear: float = 1.0  # tol, above 0: a multiplier below it may be zero as well as not
    named: int = 5  # 1 and up: so many variables are named in a sentence


TUNING = Tuning()


class OutsideError(Exception):
    """A probe would leave the bounds."""


class Box(NamedTuple):
    """All points between lower and upper."""

    lower: Vector
    upper: Vector

    def clip(self, x: Vector) -> Vector:
        """Move x in, in place."""
        return np.clip(x, self.lower, self.upper, out=x)

    def holds(self, x: Vector) -> bool:
        """Say whether x is in."""
        return bool(((x >= self.lower) & (x <= self.upper)).all())

    def free(self, x: Vector, margin: float) -> NDArray[np.bool_]:
        """Say which variables are inside their bounds by more than a margin."""
        return (x - self.lower > margin) & (self.upper - x > margin)

    def projected(self, x: Vector, gradient: Vector) -> Vector:
        """x - P(x - g), the projected gradient."""
        below, above = x - self.upper, x - self.lower  # <= 0 and >= 0
        return np.minimum(np.maximum(gradient, below), above)

    def unclear(self, x: Vector, gradient: Vector, tol: float) -> NDArray[np.bool_]:
        """Say which variables are at a bound that the gradient does not clearly hold them at."""
        multiplier = np.where(
            x <= self.lower, gradient, np.where(x >= self.upper, -gradient, np.inf)
        )
        return (multiplier <= TUNING.clear * tol) & (self.lower < self.upper)


def box_of(bounds: Any, x: Vector) -> Box | None:
    """Read bounds in either of SciPy's forms; None where they bound nothing."""
    if bounds is None:
        return None
    try:
        sized = hasattr(type(bounds), "__len__")
        if sized and not len(bounds):
            return None
        if hasattr(bounds, "lb"):
            lower, upper = bounds.lb, bounds.ub
        else:
            lower, upper = zip(*bounds, strict=True)
            lower = [-np.inf if each is None else each for each in lower]
            upper = [np.inf if each is None else each for each in upper]
        lower, upper = (np.asarray(side, float) for side in (lower, upper))
    except (TypeError, ValueError) as error:
        raise ValueError(f"bounds must be {FORM}, got {shown(bounds)}") from error
    for side in (lower, upper):
        if side.shape not in ((), (1,), x.shape):
            raise ValueError(
                f"bounds are for {side.size} variables, expected {x.size} like x0: pass {FORM}"
            )
    lower, upper = (np.broadcast_to(side, x.shape) for side in (lower, upper))
    wrong = {"NaN": np.isnan(lower) | np.isnan(upper), "crossed": lower > upper}
    wrong |= {"infinite on the wrong side": (lower == np.inf) | (upper == -np.inf)}
    for what, bad in wrong.items():
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"bounds of variable {i} are {what}: lb {lower[i]:g}, ub {upper[i]:g}; "
                f"pass lb <= ub, and -inf or inf where there is no bound"
            )
    if (lower == upper).all():
        raise ValueError("bounds fix every variable: there is nothing to minimise over")
    if np.isinf(lower).all() and np.isinf(upper).all():
        return None
    least, most = _within(lower, x, np.inf), _within(upper, x, -np.inf)
    between = least <= most  # else there is no such number, and the nearest has to do
    return Box(*(np.where(between, side, lower.astype(x.dtype)) for side in (least, most)))


def moved_in(box: Box, x0: Vector, name: str = "x0") -> Vector:
    """Move a start point into the bounds, with a warning where that is more than rounding."""
    away = abs(x0 - np.clip(x0, box.lower, box.upper))
    if (out := np.flatnonzero(away > np.spacing(abs(x0)))).size:
        text = f"{name} is outside the bounds in {variables(out)}, and was moved to the nearest"
        warnings.warn(text, OptimizeWarning, stacklevel=caller())
    return box.clip(x0)


def variables(which: Any) -> str:
    """Name some variables by their numbers."""
    names = [f"x[{i}]" for i in which[: TUNING.named]]
    more = len(which) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _within(side: Vector, like: Vector, inward: float) -> Vector:
    """Give bounds in x's precision, never outside of what they are."""
    given = side.astype(like.dtype)
    outside = given < side if inward > 0 else given > side
    return np.where(outside, np.nextafter(given, like.dtype.type(inward)), given)
