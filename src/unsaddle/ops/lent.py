"""The torch backend for one answer, which knows the gradient's norm, and for one probe."""

import math
from typing import Any

from unsaddle.ops import torch as ops
from unsaddle.ops.torch import Vector


class Lent:
    """The backend for one answer: knows the norm of the gradient that was lent already."""

    def __init__(self, gradient: Vector, square: float) -> None:
        """Take note.

        Args:
            gradient: The gradient.
            square: Its dot with itself.
        """
        self.gradient: Vector | None = gradient
        self.length = math.sqrt(square)

    def __getattr__(self, name: str) -> Any:
        """Give everything else as it is."""
        return getattr(ops, name)

    def norm(self, x: Vector) -> float:
        """Euclidean length."""
        return self.length if x is self.gradient else ops.norm(x)

    def axpy(self, a: float, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage."""
        return ops.axpy(a, x, self._consumed(y))

    def scale(self, a: float, x: Vector) -> Vector:
        """a x, in x's storage."""
        return ops.scale(a, self._consumed(x))

    def _consumed(self, x: Vector) -> Vector:
        if x is self.gradient:
            self.gradient = None
        return x


class Into:
    """The backend for a probe: x + a y is written where the probe is to be."""

    def __init__(self, target: Vector) -> None:
        """Take note.

        Args:
            target: Whose storage to use.
        """
        self.target = target

    def __getattr__(self, name: str) -> Any:
        """Give everything else as it is."""
        return getattr(ops, name)

    def add(self, x: Vector, a: float, y: Vector) -> Vector:
        """x + a y, in the target's storage."""
        return ops.axpy(a, y, ops.copy(self.target, x))
