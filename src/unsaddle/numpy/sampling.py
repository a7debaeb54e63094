"""A gradient known from samples only: drawn on demand, drawn again, checked and counted.

Three forms of the same thing, a mean over m samples at a point x:

* ``grad(x, batch)`` with ``sampler(rng, size)``: both work on whole batches.
* ``grad(x, rng)``: one sample at a time, with randomness from ``rng`` alone.
* :class:`FiniteSum`: rows of data arrays, in minibatches.

Samples are numbered through. Those from number ``first`` on, ``size`` of them, are a function of
(seed, first, size); so the same sample can be had again, at another point or in another process.
"""

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsaddle.core.outcome import EndError, Outcome
from unsaddle.core.phases import GRADIENT, VALUE
from unsaddle.core.session import NotFiniteError, Query
from unsaddle.methods.checks import function, yes_or_no
from unsaddle.numpy.ops import Vector
from unsaddle.numpy.oracle import Oracle

PURPOSE = 2  # tells the streams of samples from those of the noise, 0 and 1
EXAMINED = 3  # gradients that it takes to see that samples are samples


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    nearby: float = 1e-3  # of max(1, |x|), (0, 1): gradients are compared there; x may be special
    batch: int = 8  # samples, 2 to 100: of a batch that is drawn twice; few batches are alike


TUNING = Tuning()
FREE = "use no randomness but that of the rng it is given"


def stream(seed: int, first: int) -> np.random.Generator:
    """Give the randomness of the samples from number ``first`` on."""
    return np.random.default_rng((seed, first, PURPOSE))


@lru_cache(maxsize=4)
def _order(seed: int, epoch: int, rows: int) -> NDArray[np.int_]:
    """Give the order in which an epoch goes through the data."""
    return stream(seed, epoch).permutation(rows)


class FiniteSum:
    """The mean of as many functions as there are rows of data."""

    def __init__(self, grad: Callable[..., Any], *data: Any, replace: bool = False) -> None:
        """Take the data.

        Args:
            grad: ``grad(x, *rows)`` gives the mean gradient over rows of the data arrays.
            *data: Arrays of equal length, one row per function.
            replace: Draw minibatches with replacement. Otherwise they go through the data in
                epochs, each in a new random order. One of all the rows is all the data in any case.

        Raises:
            ValueError: If there are no rows, or not as many in each array.
        """
        self.grad, self.data = function("grad", grad), tuple(map(_rows, data))
        self.replace = yes_or_no("replace", replace)
        lengths = [len(array) if array.ndim else 0 for array in self.data]
        if not lengths or not min(lengths) or len(set(lengths)) > 1:
            raise ValueError(
                f"data must be arrays with the same number of rows, at least 1, got {lengths}; "
                "pass FiniteSum(grad, inputs, targets)"
            )
        self.rows = lengths[0]

    def check(self, size: int) -> None:
        """Refuse a minibatch that is larger than the data."""
        if size > self.rows:
            raise ValueError(
                f"a batch of {size} was asked for, but the data has {self.rows} rows; "
                f"pass a batch of at most {self.rows}"
            )

    def draw(self, seed: int, first: int, size: int) -> NDArray[np.int_]:
        """Choose rows: a function of (seed, first, size)."""
        self.check(size)
        if size == self.rows:
            return np.arange(size)
        if self.replace:
            return stream(seed, first).integers(self.rows, size=size)
        epoch, place = np.divmod(np.arange(first, first + size), self.rows)
        parts = (_order(seed, int(e), self.rows)[place[epoch == e]] for e in np.unique(epoch))
        return np.concatenate([*parts])

    def mean(self, x: Vector, rows: NDArray[np.int_]) -> Any:
        """Give the mean gradient over these rows."""
        return self.grad(x, *(array[rows] for array in self.data))

    def full(self, x: Vector) -> Any:
        """Give the gradient over all the data."""
        return self.grad(x, *self.data)

    def culprit(self, x: Vector, rows: NDArray[np.int_]) -> str:
        """Name the first row whose gradient is not finite."""
        for row in rows:
            if not np.isfinite(self.mean(x, np.array([row]))).all():
                return f"row {row} of the data"
        return f"the rows {rows.tolist()} together, but none of them alone"


class Drawn:
    """A mean over samples that a sampler draws, or that grad draws itself."""

    rows = None

    def __init__(self, grad: Callable[..., Any], sampler: Callable[..., Any] | None) -> None:
        """Take the user's functions."""
        function("grad", grad)
        if sampler is not None:
            function("sampler", sampler)
        self.grad, self.sampler = grad, sampler

    def check(self, size: int) -> None:
        """Allow any size."""

    def draw(self, seed: int, first: int, size: int) -> Any:
        """Draw samples: a function of (seed, first, size)."""
        if self.sampler is None:
            return [(seed, number) for number in range(first, first + size)]
        batch = self.sampler(stream(seed, first), size)
        try:
            given = len(batch)
        except TypeError:  # a number, a class or an array without dimensions
            given = type(batch).__name__
        if given != size:
            raise ValueError(
                f"sampler(rng, size={size}) must return {size} samples, got {given}; "
                "return an array or a list with one entry per sample"
            )
        return batch

    def mean(self, x: Vector, batch: Any) -> Any:
        """Give the mean gradient over these samples."""
        if self.sampler is not None:
            return self.grad(x, batch)
        total = 0.0
        for number in batch:
            total = total + np.asarray(self.grad(x, stream(*number)))
        return total / len(batch)

    def culprit(self, x: Vector, batch: Any) -> str:
        """Name the first sample whose gradient is not finite."""
        for k in range(len(batch)):
            if not np.isfinite(self.mean(x, batch[k : k + 1])).all():
                which = "" if self.sampler else "(seed, number) = "
                return f"sample {k} of the batch: {which}{batch[k]!r}"
        return "the batch as a whole, but no sample alone"


class SampledOracle(Oracle):
    """Gives the mean gradient over the sample in force; counts draws and gradients."""

    def __init__(
        self, source: FiniteSum | Drawn, x0: Vector, seed: int = 0, limit: float = math.inf
    ) -> None:
        """Take the source of samples, without drawing."""
        super().__init__(None, source.grad, x0, limit=limit, name="grad")
        self.source, self.seed, self.draws = source, seed, 0
        self.key: tuple[int, int, int] | None = None
        self.batch: Any = None
        self.trouble = ""  # what was not finite
        self._fresh = 0

    @property
    def size(self) -> int:
        """How many samples are in force."""
        return self.key[2] if self.key else 1

    def use(self, seed: int, first: int, size: int) -> None:
        """Put a sample in force: numbers ``first`` to ``first + size``."""
        if self.key != (seed, first, size):
            self.batch, self.key = self.source.draw(seed, first, size), (seed, first, size)
            self._fresh = size

    def answer(self, point: Vector, query: Query) -> tuple[float | None, Vector | None]:
        """Give the mean over the sample that a query wants; NaN for a value: there are none."""
        if self.gradients + query.size > self.limit:
            raise EndError(Outcome.BUDGET)
        if not query.needs & GRADIENT:
            return math.nan, None
        self.use(self.seed, query.first, query.size)
        return math.nan if query.needs & VALUE else None, self.gradient(point)

    def gradient(self, point: Vector) -> Vector:
        """Give the mean gradient at a point."""
        self.gradients += self.size
        self.draws, self._fresh = self.draws + self._fresh, 0
        gradient = self._as_gradient(self.source.mean(point, self.batch))
        if not np.isfinite(gradient).all():
            where = self.source.culprit(point, self.batch)
            self.trouble = f"grad returned NaN or infinity for {where}"
            raise NotFiniteError(self.trouble)
        return gradient

    def examine(self, x: Vector) -> None:
        """See that samples are samples: they differ, can be had again, and matter."""
        seed = self.seed + 1
        size = min(TUNING.batch, self.source.rows or TUNING.batch)
        if isinstance(self.source, Drawn) and self.source.sampler is not None:
            once, twice, other = (self.source.draw(seed, k, size) for k in (0, 0, size))
            if not _equal(once, twice):
                raise ValueError(
                    "sampler(rng, size) returned two different batches for equal rng: "
                    f"the same sample could not be had at two points; {FREE}"
                )
            if _equal(once, other):
                raise ValueError(
                    "sampler(rng, size) returned the same batch twice for different rng: "
                    "it repeats itself; draw with the rng it is given"
                )
        if self.source.rows == 1:
            return
        reach = TUNING.nearby * max(1.0, float(np.abs(x).max()))
        nearby = x + reach * stream(seed, 1).standard_normal(x.shape).astype(x.dtype)
        answers = []
        for first in (0, 0, 1):
            self.use(seed, first, 1)
            try:
                answers.append(self.gradient(nearby).copy())
            except NotFiniteError:
                return  # the run will meet it, and say so
        if not np.array_equal(answers[0], answers[1]):
            raise ValueError(
                "grad returned two different gradients for the same point and the same sample: "
                f"their difference would be noise; {FREE}"
            )
        if np.array_equal(answers[0], answers[2]):
            warnings.warn(
                "grad ignores its sample: two samples gave the same gradient; "
                "if it is exact, unsaddle.minimize needs fewer",
                UserWarning,
                stacklevel=4,
            )


def _rows(data: Any) -> NDArray[Any]:
    """Give one of the data arrays."""
    try:
        return np.asarray(data)
    except ValueError as error:
        raise ValueError(f"data must be arrays, got rows that differ: {error}") from error


def _equal(one: Any, other: Any) -> bool:
    """Compare two batches, of arrays, of tuples of arrays, or of anything."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(np.array_equal(one, other))
