"""The operations on NumPy arrays, with NumPy's random numbers."""

from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.arrays import ArrayOps, CachingArrayOps, Vector
from unsaddle.core.kernel import Parameters
from unsaddle.core.ops import OWN_STREAM, Operations
from unsaddle.escapes import krylov


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    chunk: int = 2**14  # numbers drawn at a time, 1000 and up: so few take no memory to speak of


TUNING = Tuning()


class NumpyOps(ArrayOps):
    """The operations of :class:`unsaddle.core.ops.Operations` on NumPy arrays."""

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector of like's shape and precision, a function of (seed, episode)."""
        stream, drawn = _stream(seed, episode, 0), np.empty_like(like, subok=False)
        for first in range(0, drawn.size, TUNING.chunk):  # float64 numbers, whatever like is of
            part = drawn[first : first + TUNING.chunk]
            part[:] = stream.standard_normal(len(part))
        return drawn

    def uniform(self, like: Vector, seed: int, episode: int) -> float:
        """Scalar in (0, 1), a function of (seed, episode), independent of `normal`."""
        return 1.0 - float(_stream(seed, episode, 1).random())


class CachingOps(CachingArrayOps, NumpyOps):
    """The same for one run, which know the gradient that the user's function returned last."""


class OneBlock(NumpyOps):
    """The operations with which a run begins: every block of vectors lies in the same place.

    The pairs of L-BFGS and the basis of Lanczos are never needed at once. A search ends the run or
    jumps, after which the descent starts anew, without pairs; and a search begins without a basis.
    So what the one keeps is nothing to the other.
    """

    def __init__(self, like: Vector, places: int) -> None:
        """Reserve the place."""
        self.block = super().vectors(like, places)

    def vectors(self, x: Vector, count: int) -> Vector:
        """The first of these places, all zero; a vector alone has one of its own."""
        return self.block[:count] if count > 1 else super().vectors(x, count)


def _stream(seed: int, episode: int, which: int) -> np.random.Generator:
    return np.random.default_rng((OWN_STREAM, seed, episode, which))


ops = NumpyOps()
_conforms: Operations[Vector] = ops  # pyright reports an operation that is missing or misspelt


def first_ops(parameters: Parameters, x: Vector) -> NumpyOps:
    """Give the operations that make the first state: with one block where there are both."""
    descent, escape = parameters.descent, parameters.escape
    pairs: Any = getattr(descent, "pairs", 0)
    if not pairs or not isinstance(escape, krylov.Settings):
        return ops
    return OneBlock(x, max(2 * pairs, min(x.size + 1, escape.vectors)))
