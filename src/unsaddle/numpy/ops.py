"""The operations on NumPy arrays, with NumPy's random numbers."""

from typing import NamedTuple

import numpy as np

from unsaddle.core.arrays import ArrayOps, CachingArrayOps, Vector
from unsaddle.core.ops import OWN_STREAM, Operations


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


def _stream(seed: int, episode: int, which: int) -> np.random.Generator:
    return np.random.default_rng((OWN_STREAM, seed, episode, which))


ops = NumpyOps()
_conforms: Operations[Vector] = ops  # pyright reports an operation that is missing or misspelt
