"""The oracle that every contestant asks: values and gradients counted, each on its own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Problem(NamedTuple):
    """A function with its exact Hessian, and where to start."""

    name: str
    n: int
    value: Callable[[Array], Any]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array], Any]  # exact: an array, or Banded
    start: Callable[[int], Array]  # of the seed


class ReachedError(Exception):
    """The gradient is small enough."""


class SpentError(Exception):
    """The budget of gradients is spent."""


class Oracle:
    """Answers, counts, and stops whoever asks as soon as the gradient is within ``tol``."""

    def __init__(self, problem: Problem, tol: float, limit: int) -> None:
        """Take a problem; ``tol`` = 0 never stops."""
        self.problem, self.tol, self.limit = problem, tol, limit
        self.values = self.gradients = 0
        self.first: int | None = None  # gradients when the norm was within tol for the first time
        self.x, self.norm = np.empty(0), np.inf  # the last point, and the gradient's norm there

    def value(self, x: Array) -> float:
        """Give f(x).

        Raises:
            SpentError: If that is ten times what gradients there are.
        """
        if self.values >= 10 * self.limit:
            raise SpentError
        self.values += 1
        return float(self.problem.value(x))

    def gradient(self, x: Array) -> Array:
        """Give g(x), at a point of the descent.

        Raises:
            ReachedError: If its norm is within tol.
        """
        g = self.probe(x)
        self.x, self.norm = x.copy(), float(np.linalg.norm(g))
        if self.norm <= self.tol:
            self.first = self.gradients
            raise ReachedError
        return g

    def probe(self, x: Array) -> Array:
        """Give g(x), at a point that serves a difference only.

        Raises:
            SpentError: If that is one too many.
        """
        if self.gradients >= self.limit:
            raise SpentError
        self.gradients += 1
        return np.asarray(self.problem.gradient(x), float)

    def curve(self, x: Array, v: Array) -> Array:
        """Give H(x) v by a difference of gradients; the one at x is not counted again."""
        r = 1e-7 * max(1.0, float(np.linalg.norm(x))) / max(float(np.linalg.norm(v)), 1e-300)
        base = np.asarray(self.problem.gradient(x), float)
        return (self.probe(x + r * v) - base) / r
