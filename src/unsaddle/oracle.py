"""The user's function, guarded: every answer is checked, converted and counted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from unsaddle.kernel import GRADIENT, VALUE
from unsaddle.ops.numpy import Vector


class NotFiniteError(ArithmeticError):
    """The function or its gradient was NaN or infinite."""


class Oracle:
    """Answers ``look(point, needs)`` and counts values and gradients."""

    def __init__(
        self,
        fun: Callable[..., Any] | None,
        jac: Callable[..., Any] | bool | None,
        args: tuple[Any, ...],
        x0: Vector,
    ) -> None:
        """Take the function apart, without calling it.

        Args:
            fun: Value, or value and gradient if ``jac`` is True; None if only gradients are needed.
            jac: Gradient, or True.
            args: Further arguments of both.
            x0: A point, for its shape and precision.

        Raises:
            TypeError: If ``fun`` or ``jac`` cannot be called.
        """
        if fun is not None and not callable(fun):
            raise TypeError(f"fun must be callable, got {type(fun).__name__}")
        if jac is not True and not callable(jac):
            raise TypeError(
                f"jac must be callable or True (fun then returns value and gradient), got {jac!r}; "
                "pass jac=<function that returns the gradient>"
            )
        self.fun, self.jac, self.args = fun, jac, args
        self.shape, self.dtype = x0.shape, x0.dtype
        self.values = self.gradients = 0
        self.checked = False

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

        Raises:
            ValueError: If the user's function changed the point.
        """
        before = None if self.checked else point.copy()
        value = gradient = None
        if self.jac is True:
            answer = self.fun(point, *self.args)  # type: ignore[misc]
            self.values += 1
            self.gradients += 1
            value, gradient = self._both(answer)
        else:
            if needs & VALUE:
                self.values += 1
                value = self._value(self.fun(point, *self.args))  # type: ignore[misc]
            if needs & GRADIENT:
                self.gradients += 1
                gradient = self._gradient(self.jac(point, *self.args))  # type: ignore[operator]
        if before is not None:
            self.checked = True
            if not np.array_equal(before, point):
                raise ValueError("fun or jac changed its argument x in place; work on x.copy()")
        return value, gradient

    def _both(self, answer: Any) -> tuple[float, Vector]:
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(
                "fun must return (value, gradient) because jac=True, "
                f"got {type(answer).__name__}; pass jac=<function> if fun returns the value only"
            )
        return self._value(answer[0]), self._gradient(answer[1])

    def _value(self, answer: Any) -> float:
        if type(answer) is not float:
            if np.ndim(answer) != 0 or np.iscomplexobj(answer):
                raise TypeError(
                    "fun must return one real number, got "
                    f"{type(answer).__name__} of shape {np.shape(answer)}; return float(...)"
                )
            answer = float(answer)
        if not -np.inf < answer < np.inf:
            raise NotFiniteError(f"fun returned {answer}")
        return answer

    def _gradient(self, answer: Any) -> Vector:
        given = np.asarray(answer)
        if given.shape != self.shape:
            raise ValueError(
                f"jac returned an array of shape {given.shape}, expected {self.shape} like x0"
            )
        if given.dtype != self.dtype:
            self._check_precision(given.dtype)
        return np.array(given, self.dtype)

    def _check_precision(self, dtype: np.dtype[Any]) -> None:
        if dtype.kind not in "fiu":
            raise TypeError(f"jac must return real numbers, got dtype {dtype}")
        if dtype.kind == "f" and dtype.itemsize < self.dtype.itemsize:
            raise TypeError(
                f"jac returned {dtype} for an x0 of {self.dtype}: the curvature would be measured "
                f"in noise; pass x0.astype({dtype.name!r}), or return {self.dtype}"
            )


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
        hint = "; stack real and imaginary parts" if given.dtype.kind == "c" else ""
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


def _first_bad(x: Vector) -> str:
    return f"index {int(np.argmin(np.isfinite(x)))}"
