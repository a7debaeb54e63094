"""The user's function, guarded: every answer is checked, converted and counted."""

import math
import sys
import zlib
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize._numdiff import approx_derivative  # approx_fprime has one of three schemes

from unsaddle.kernel import GRADIENT, VALUE
from unsaddle.ops.numpy import Vector

NUMERICAL = {"2-point": 1 / 2, "3-point": 2 / 3, "cs": 1.0}  # error: this power of the roundoff


class NotFiniteError(ArithmeticError):
    """The function or its gradient was NaN or infinite."""


class Oracle:
    """Answers ``look(point, needs)`` and counts values and gradients."""

    def __init__(
        self,
        fun: Callable[..., Any] | None,
        jac: Callable[..., Any] | bool | str | None,
        args: tuple[Any, ...],
        x0: Vector,
        name: str = "jac",
    ) -> None:
        """Take the function apart, without calling it.

        Args:
            fun: Value, or value and gradient if ``jac`` is True; None if only gradients are needed.
            jac: Gradient, or True.
            args: Further arguments of both.
            x0: A point, for its shape and precision.
            name: What the user calls the gradient.

        Raises:
            TypeError: If ``fun`` or ``jac`` cannot be called.
        """
        if fun is not None and not callable(fun):
            raise TypeError(f"fun must be callable, got {type(fun).__name__}")
        self.noise = 0.0
        scheme = jac if isinstance(jac, str) else "" if jac else "3-point"
        if fun is not None and scheme in NUMERICAL:
            jac, self.noise = self._numerical(fun, scheme, x0)
        if not callable(jac) and (fun is None or jac is not True):
            hint = "" if fun is None else ", True (fun gives both), '2-point', '3-point' or 'cs'"
            raise TypeError(
                f"{name} must be callable{hint}, got {jac!r}; "
                f"pass {name}=<function that returns the gradient>"
            )
        self.name = name
        self.fun, self.jac = (_with(args, given) for given in (fun, jac))
        self.shape, self.dtype = x0.shape, x0.dtype
        self.values = self.gradients = 0
        self.checked = 0

    def _numerical(
        self, fun: Callable[..., Any], scheme: str, x0: Vector
    ) -> tuple[Callable[..., Any], float]:
        """Make a gradient of differences of fun, by SciPy; and say how far it is to be trusted."""

        def counted(x: Any, *args: Any) -> Any:
            self.values += 1
            answer = fun(x, *args)
            return answer if np.iscomplexobj(x) else self._value(answer)

        def jac(x: Vector, *args: Any) -> Any:
            return np.asarray(approx_derivative(counted, x, method=scheme, args=args), x0.dtype)

        return jac, (float(np.finfo(x0.dtype).eps) / 2) ** NUMERICAL[scheme]

    def costs_gradient(self, needs: int) -> bool:
        """Say whether a look takes a gradient: with jac=True every look does."""
        return self.jac is True or bool(needs & GRADIENT)

    def look(self, point: Vector, needs: int) -> tuple[float | None, Vector | None]:
        """Ask at a point.

        Args:
            point: Where; handed to the user's function, so nobody else may change it.
            needs: VALUE, GRADIENT or both.

        Returns:
            What was asked for, and what came with it; the gradient is a new array.
        """
        if needs & ~self.checked:
            return self._first(point, needs)
        value = gradient = None
        if self.jac is True:
            self.values += 1
            self.gradients += 1
            value, gradient = self._both(self.fun(point))  # type: ignore[misc]
        else:
            if needs & VALUE:
                self.values += 1
                value = self._value(self.fun(point))  # type: ignore[misc]
            if needs & GRADIENT:
                self.gradients += 1
                gradient = self._gradient(self.jac(point))  # type: ignore[operator]
        return value, gradient

    def _first(self, point: Vector, needs: int) -> tuple[float | None, Vector | None]:
        """Ask for the first time, and see that the user's function leaves the point alone."""
        before, self.checked = zlib.crc32(point.data), self.checked | needs
        answer = self.look(point, needs)
        if zlib.crc32(point.data) != before:
            who = self.name if self.fun is None else f"fun or {self.name}"
            raise ValueError(f"{who} changed its argument x in place; work on x.copy()")
        return answer

    def _both(self, answer: Any) -> tuple[float, Vector]:
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(
                "fun must return (value, gradient) because jac=True, "
                f"got {type(answer).__name__}; pass jac=<function> if fun returns the value only"
            )
        return self._value(answer[0]), self._gradient(answer[1])

    def _value(self, answer: Any) -> float:
        if not isinstance(answer, float):
            given = _array(answer)
            if given is None or given.size != 1 or given.dtype.kind not in "fiu":
                shape = "" if given is None or not given.ndim else f" of shape {given.shape}"
                raise TypeError(
                    f"fun must return one real number, got {type(answer).__name__}{shape}; "
                    "return float(...), or pass jac=True if fun returns (value, gradient)"
                )
            answer = given.item()
        answer = float(answer)
        if not -math.inf < answer < math.inf:
            raise NotFiniteError(f"fun returned {answer}")
        return answer

    def _gradient(self, answer: Any) -> Vector:
        if (
            sys.getrefcount(answer) <= _NOBODY_ELSE
            and type(answer) is np.ndarray
            and answer.flags.owndata
            and answer.dtype is self.dtype
            and answer.shape == self.shape
        ):
            return answer  # nobody else has it: no need for a copy
        given = answer if type(answer) is np.ndarray else _array(answer)
        if given is None or given.shape != self.shape:
            raise ValueError(
                f"{self.name} must return an array of shape {self.shape} like "
                f"{'x' if self.fun is None else 'x0'}, "
                f"got {_misshapen(answer, given, self.shape)}"
            )
        if given.dtype is not self.dtype:
            self._check_precision(given.dtype)
        return given.astype(self.dtype)

    def _check_precision(self, dtype: np.dtype[Any]) -> None:
        if dtype.kind not in "fiu":
            raise TypeError(f"{self.name} must return real numbers, got dtype {dtype}")
        if dtype.kind == "f" and dtype.itemsize < self.dtype.itemsize:
            raise TypeError(
                f"{self.name} returned {dtype} for an x0 of {self.dtype}: the curvature would be "
                f"measured in noise; pass x0.astype({dtype.name!r}), or return {self.dtype}"
            )


def _as_in_gradient(answer: Any) -> int:
    return sys.getrefcount(answer)


_NOBODY_ELSE = _as_in_gradient(np.empty(0))


def _with(args: tuple[Any, ...], given: Any) -> Any:
    """Give a function with its further arguments filled in."""
    return (lambda x: given(x, *args)) if args and callable(given) else given


def point(x0: Any, name: str = "x0") -> Vector:
    """Check a start point and give it as a new float array.

    Args:
        x0: What the user gave.
        name: Its name, for the message.

    Returns:
        A one-dimensional array of float64, or float32 if that is what came.

    Raises:
        TypeError: If it is not real numbers.
        ValueError: If it is empty, has more than one dimension, or holds NaN or infinity.
    """
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
        raise ValueError(f"{name} must be finite, got NaN or infinity at {_first_bad(given)}")
    return np.array(given, np.float32 if given.dtype == np.float32 else np.float64)


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


def whole(name: str, number: Any, most: str = "") -> Any:
    """Check a whole number >= 0.

    Args:
        name: Of the argument.
        number: What came.
        most: What else may come, for the message.

    Returns:
        The number.

    Raises:
        ValueError: If it is negative, a fraction or no number.
    """
    fits = isinstance(number, Real) and not isinstance(number, bool | np.bool_)
    if not fits or float(number) < 0 or not float(number).is_integer():
        raise ValueError(f"{name} must be a whole number >= 0{most}, got {number!r}")
    return number


def _first_bad(x: Vector) -> str:
    return f"index {int(np.argmin(np.isfinite(x)))}"
