"""Scaled variables: a run in y = x / x_scale, told and reported in x.

The run, its tolerances and its certificate are in y. What the user's functions are given, and what
the result has in ``x``, ``jac``, ``best`` and ``certificate.direction``, is in x.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate
from unsaddle.methods.checks import shown
from unsaddle.numpy.box import Box, box_of, moved_in
from unsaddle.numpy.callback import informed
from unsaddle.numpy.checkpoint import Checkpoint
from unsaddle.numpy.inputs import point
from unsaddle.numpy.ops import Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    least: float = 1e-50  # of a scale, 1e-100 to 1: as of constants; its inverse is the largest


TUNING = Tuning()
SAID = "In scaled variables: tol, curvatures and lengths are those of x / x_scale."


def scale_of(x_scale: Any, x: Vector) -> Vector:
    """Check the scales of the variables, and give one for each: 1 where there are none."""
    try:
        given = np.asarray(1.0 if x_scale is None else x_scale, float)
    except (TypeError, ValueError, OverflowError):
        given = np.asarray(np.nan)
    if given.shape not in ((), x.shape):
        raise ValueError(
            f"x_scale has shape {given.shape}, expected a number or {x.size} numbers like x0"
        )
    good = (given >= TUNING.least) & (given <= 1 / TUNING.least)
    if not good.all():
        i = int(np.argmin(good))
        bad = shown(x_scale) if given.ndim == 0 else f"{given[i]:g} for variable {i}"
        raise ValueError(
            f"x_scale must be positive, {TUNING.least:g} to {1 / TUNING.least:g}, got {bad}: "
            "pass the size that each variable typically has"
        )
    return np.array(np.broadcast_to(given, x.shape), x.dtype)


class Scaled:
    """The way between x, of the user, and y, of the run."""

    def __init__(self, x_scale: Any, x0: Vector, bounds: Any = None) -> None:
        """Take the scales, and the bounds in x."""
        self.scale, self.box = scale_of(x_scale, x0), box_of(bounds, x0)

    def to_x(self, y: Any) -> Any:
        """Give x of y, within the bounds whatever rounding does; of a complex y too."""
        x = y * self.scale
        if self.box is None or np.iscomplexobj(x):
            return x
        (lower, upper), (least, most) = self.box, self._sides(self.box)
        return self.box.clip(np.where(y <= least, lower, np.where(y >= most, upper, x)))

    def to_y(self, x: Any) -> Any:
        """Give y of x."""
        return point(x) / self.scale

    def start(self, x0: Any) -> Vector:
        """Give where to start, within the bounds."""
        if self.box is None:
            return self.to_y(x0)
        lower, upper = self._sides(self.box)
        return Box(lower, upper).clip(self.to_y(moved_in(self.box, point(x0))))

    def descent(self, descent: Any) -> Any:
        """Give the user's own minimiser as one of y."""
        if not callable(descent):
            return descent
        return lambda y: self.to_y(descent(self.to_x(y)))

    def bounds(self) -> Any:
        """Give the bounds in y."""
        return None if self.box is None else [*zip(*self._sides(self.box), strict=True)]

    def _sides(self, box: Box) -> tuple[Vector, Vector]:
        return box.lower / self.scale, box.upper / self.scale

    def function(self, fun: Any, jac: Any) -> Any:
        """Give fun as a function of y, with the gradient in y where it returns both."""
        if not callable(fun):
            return fun
        if jac is not True:
            return lambda y, *args: fun(self.to_x(y), *args)

        def both(y: Vector, *args: Any) -> Any:
            answer: Any = fun(self.to_x(y), *args)
            if not isinstance(answer, tuple | list) or len(answer) != 2:
                return answer
            return answer[0], self._times(answer[1])

        return both

    def gradient(self, jac: Any) -> Any:
        """Give jac as a function of y, and in y; what is no function as it is."""
        if not callable(jac):
            return jac
        return lambda y, *args: self._times(jac(self.to_x(y), *args))

    def product(self, hessp: Any) -> Any:
        """Give hessp as a function of y, and in y."""
        if not callable(hessp):
            return hessp
        return lambda y, p, *args: self._times(hessp(self.to_x(y), p * self.scale, *args))

    def callback(self, callback: Any) -> Any:
        """Give a callback that is told x."""
        if callback is None:
            return None
        call = informed(callback)

        def told(intermediate_result: OptimizeResult) -> None:
            call(OptimizeResult({**intermediate_result, "x": self.to_x(intermediate_result.x)}))

        return told

    def state(self, state: Checkpoint | None) -> Checkpoint | None:
        """Give the state of an earlier run, if it was in the same variables."""
        if not isinstance(state, Checkpoint):
            return state
        if state.scale is None or not np.array_equal(state.scale, self.scale):
            raise ValueError("state is of a run with another x_scale: pass the same, or start anew")
        return state._replace(scale=None)

    def result(self, found: Any) -> Any:
        """Give a result in x."""
        shown = self.certificate(found.certificate)
        best = found.best._replace(x=self.to_x(found.best.x))
        said = found.message.replace(str(found.certificate), str(shown))
        return type(found)(
            {
                **found,
                "x": self.to_x(found.x),
                "jac": found.jac / self.scale,
                "best": best,
                "certificate": shown,
                "message": said if SAID in said else f"{said} {SAID}",
                "state": found.state._replace(scale=self.scale.copy()),
                "x_scale": self.scale,
            }
        )

    def certificate(self, shown: Certificate) -> Certificate:
        """Give a certificate that says in which variables it is, with its direction in x."""
        along = shown.direction
        if along is not None:
            along = along * self.scale
            along = along / np.linalg.norm(along)
        return dataclasses.replace(shown, direction=along, note=f"{shown.note} {SAID}".strip())

    def _times(self, gradient: Any) -> Any:
        """Give a gradient in y; what is none is left to the checks that follow."""
        given = np.asarray(gradient)
        right = given.shape == self.scale.shape and given.dtype.kind in "fiu"
        return given * self.scale if right else gradient


def in_scaled_variables(
    minimize: Callable[..., OptimizeResult], x_scale: Any, fun: Any, x0: Any, **given: Any
) -> OptimizeResult:
    """Minimise in x / x_scale, and give the result in x."""
    way = Scaled(x_scale, point(x0), given["bounds"])
    own = {"callback": way.callback, "state": way.state}
    own |= {"hessp": way.product, "descent": way.descent}
    given |= {name: change(given[name]) for name, change in own.items()}
    given |= {"jac": way.gradient(given["jac"]), "bounds": way.bounds()}
    try:
        return way.result(minimize(way.function(fun, given["jac"]), way.start(x0), **given))
    except Exception as error:
        so_far = getattr(error, "unsaddle", None)
        if so_far is not None:
            error.unsaddle = way.result(so_far)  # type: ignore[attr-defined]
        raise
