"""The user's function, guarded: every answer is checked, converted and counted."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from unsaddle.core.phases import BOTH, GRADIENT, VALUE
from unsaddle.numpy import differences
from unsaddle.numpy.ops import Vector


class Oracle:
    """Gives values and gradients at a point, and counts them."""

    def __init__(
        self,
        fun: Callable[..., Any] | None,  # None if only gradients are needed
        jac: Callable[..., Any] | bool | str | None,  # True if fun gives both; or a scheme
        args: tuple[Any, ...],  # further ones, of both
        x0: Vector,  # for its shape and precision
        name: str = "jac",  # what the user calls the gradient
    ) -> None:
        """Take the function apart, without calling it."""
        if fun is not None and not callable(fun):
            raise TypeError(f"fun must be callable, got {type(fun).__name__}")
        scheme = jac if isinstance(jac, str) else "3-point" if jac is None or jac is False else ""
        self.scheme = scheme if fun is not None and scheme in differences.SCHEMES else ""
        self.noise = differences.relative_error(self.scheme, x0) if self.scheme else 0.0
        if not (callable(jac) or self.scheme or (fun is not None and jac is True)):
            hint = "" if fun is None else ", True (fun gives both), '2-point', '3-point' or 'cs'"
            raise TypeError(
                f"{name} must be callable{hint}, got {jac!r}; "
                f"pass {name}=<function that returns the gradient>"
            )
        self.name, self.together = name, jac is True
        self.fun: Any = _with(args, fun)
        self.jac: Any = _with(args, jac)
        self.shape, self.dtype = x0.shape, x0.dtype
        self.values = self.gradients = 0
        self._checked = 0

    def costs_gradient(self, needs: int) -> bool:
        """Say whether a query takes a gradient: with jac=True every query does."""
        return self.together or bool(needs & GRADIENT)

    def both(self, point: Vector) -> tuple[float, Vector]:
        """Give value and gradient of a function that returns both."""
        self.values += 1
        self.gradients += 1
        first = not self._checked
        answer = self._first_call(self.fun, point, BOTH) if first else self.fun(point)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(
                "fun must return (value, gradient) because jac=True, "
                f"got {type(answer).__name__}; pass jac=<function> if fun returns the value only"
            )
        return self._as_value(answer[0]), self._as_gradient(answer[1])

    def value(self, point: Vector) -> float:
        """Give the value at a point, which nobody else may change."""
        self.values += 1
        if self._checked & VALUE:
            return self._as_value(self.fun(point))
        return self._as_value(self._first_call(self.fun, point, VALUE))

    def gradient(self, point: Vector) -> Vector:
        """Give the gradient at a point; the array may be the user's, so it is only to be read."""
        self.gradients += 1
        if self._checked & GRADIENT:
            return self._as_gradient(self.jac(point))
        if self.scheme:
            return differences.gradient(self._counted, self.scheme, point)
        return self._as_gradient(self._first_call(self.jac, point, GRADIENT))

    def _counted(self, x: Any) -> Any:
        """Give a value for a difference; a complex one as it comes."""
        self.values += 1
        answer = self.fun(x)
        return answer if np.iscomplexobj(x) else self._as_value(answer)

    def _first_call(self, function: Any, point: Vector, needs: int) -> Any:
        """Call the user's function, and see that it leaves the point alone."""
        before, self._checked = zlib.crc32(point.data), self._checked | needs
        answer = function(point)
        if zlib.crc32(point.data) != before:
            who = self.name if self.fun is None else f"fun or {self.name}"
            raise ValueError(f"{who} changed its argument x in place; work on x.copy()")
        return answer

    def _as_value(self, answer: Any) -> float:
        if not isinstance(answer, float):
            given = _array(answer)
            if given is None or given.size != 1 or given.dtype.kind not in "fiu":
                shape = "" if given is None or not given.ndim else f" of shape {given.shape}"
                raise TypeError(
                    f"fun must return one real number, got {type(answer).__name__}{shape}; "
                    "return float(...), or pass jac=True if fun returns (value, gradient)"
                )
            answer = given.item()
        return float(answer)

    def _as_gradient(self, answer: Any) -> Vector:
        if type(answer) is np.ndarray and answer.dtype is self.dtype and answer.shape == self.shape:
            return answer
        given = _array(answer)
        if given is None or given.shape != self.shape:
            raise ValueError(
                f"{self.name} must return an array of shape {self.shape} like "
                f"{'x' if self.fun is None else 'x0'}, "
                f"got {_misshapen(answer, given, self.shape)}"
            )
        self._check_precision(given.dtype)
        return given.astype(self.dtype, copy=False)

    def _check_precision(self, dtype: np.dtype[Any]) -> None:
        if dtype.kind not in "fiu":
            raise TypeError(f"{self.name} must return real numbers, got dtype {dtype}")
        if dtype.kind == "f" and dtype.itemsize < self.dtype.itemsize:
            raise TypeError(
                f"{self.name} returned {dtype} for an x0 of {self.dtype}: the curvature would be "
                f"measured in noise; pass x0.astype({dtype.name!r}), or return {self.dtype}"
            )


def _with(args: tuple[Any, ...], given: Any) -> Any:
    """Give a function with its further arguments filled in."""
    return (lambda x: given(x, *args)) if args and callable(given) else given


def _array(answer: Any) -> Vector | None:
    """Give an answer as an array, None if it is no array at all."""
    try:
        return np.asarray(answer)
    except ValueError:
        return None


def _misshapen(answer: Any, given: Vector | None, wanted: tuple[int, ...]) -> str:
    """Say what came in place of a gradient, and what may be amiss."""
    if answer is None:
        return "None: is its `return` missing?"
    if given is None:
        return "parts of unequal length: if these are value and gradient, return the gradient"
    slips = {
        ": return it as np.atleast_1d(...)": given.ndim == 0 and wanted == (1,),
        ": is that the value, not the gradient?": given.ndim == 0,
        ": return it with .ravel()": given.ndim == 2 and 1 in given.shape,
    }
    return f"shape {given.shape}" + next((slip for slip, fits in slips.items() if fits), "")
