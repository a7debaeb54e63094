"""Vectors as lists of torch tensors, updated in place through ``torch._foreach_*``.

Scalars are Python floats: every ``dot`` waits for its result. Nothing is flattened: a block has a
stack of places for each tensor. A row of scalars is a tensor in double precision on the CPU, where
noise is drawn too, so that it does not depend on the device.
"""
# pyright: reportPrivateImportUsage=false

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("unsaddle.torch needs PyTorch: pip install 'unsaddle[torch]'") from error

from unsaddle.core.ops import Operations
from unsaddle.core.tridiagonal import gershgorin_bound, lowest_eigenpair

Vector = list[torch.Tensor]
Block = Vector  # with one dimension more, the first, in every tensor
Row = torch.Tensor
T = TypeVar("T")
C = TypeVar("C")


class TorchOps:
    """The operations of :class:`unsaddle.core.ops.Operations` on lists of tensors."""

    sqrt = staticmethod(math.sqrt)
    log = staticmethod(math.log)
    maximum = staticmethod(max)

    def dot(self, x: Vector, y: Vector) -> float:
        """Inner product, summed over the tensors in double precision."""
        parts = [torch.dot(_flat(u), _flat(v)).double() for u, v in zip(x, y, strict=True)]
        return float(parts[0] if len(parts) == 1 else torch.stack(parts).sum())

    def norm(self, x: Vector | Row) -> float:
        """Euclidean length, of a vector or of a row."""
        whole = [x] if isinstance(x, torch.Tensor) else x
        return math.sqrt(self.dot(whole, whole))

    def axpy(self, a: float, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage."""
        torch._foreach_add_(y, x, alpha=a)
        return y

    def scale(self, a: float, x: Vector) -> Vector:
        """a x, in x's storage; of a block too."""
        torch._foreach_mul_(x, a)
        return x

    def times(self, a: float, x: Vector) -> Vector:
        """a x, as a new vector."""
        return list(torch._foreach_mul(x, a))

    def add(self, x: Vector, a: float, y: Vector) -> Vector:
        """x + a y, as a new vector."""
        return list(torch._foreach_add(x, y, alpha=a))

    def assign(self, x: Vector, y: Vector) -> Vector:
        """y's numbers, in x's storage; an operation of this backend only."""
        torch._foreach_copy_(x, y)
        return x

    def copy(self, x: Vector) -> Vector:
        """Copy x."""
        return [u.clone() for u in x]

    def retain(self, gradient: Vector) -> Vector:
        """A copy of the gradient: its storage is the parameters' ``grad``."""
        return [u.clone() for u in gradient]

    def switch(self, condition: bool, x: Vector, y: Vector) -> Vector:
        """The vector x where the condition holds, else y."""
        return x if condition else y

    def where(self, condition: bool, a: T, b: T) -> T:
        """The scalar a where the condition holds, else b."""
        return a if condition else b

    def noise(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector of like's shapes and precisions, a function of (seed, episode)."""
        stream = _stream(seed, episode, 0)
        return [
            torch.randn(u.shape, generator=stream, dtype=_fine(u.dtype)).to(u.device, u.dtype)
            for u in like
        ]

    def uniform(self, like: Vector, seed: int, episode: int) -> float:
        """Scalar in (0, 1), a function of (seed, episode), independent of the noise."""
        drawn = torch.rand((), generator=_stream(seed, episode, 1), dtype=torch.float64)
        return 1.0 - float(drawn)

    def finite(self, x: Vector) -> bool:
        """Whether all numbers of x are finite."""
        return all(bool(torch.isfinite(u).all()) for u in x)

    def size(self, x: Vector) -> int:
        """How many numbers x has."""
        return sum(u.numel() for u in x)

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of the coarsest precision in x."""
        return max(torch.finfo(u.dtype).eps for u in x) / 2

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of the coarsest precision in x."""
        return max(torch.finfo(u.dtype).tiny for u in x)

    def vectors(self, x: Vector, count: int) -> Block:
        """A block of so many vectors like x, all zero."""
        return [u.new_zeros((count, *u.shape)) for u in x]

    def set_vector(self, block: Block, i: int, x: Vector) -> Block:
        """The block with x in place i; consumes the block."""
        torch._foreach_copy_([places[i] for places in block], x)
        return block

    def get_vector(self, block: Block, i: int) -> Vector:
        """The vector in place i, to be read only."""
        return [places[i] for places in block]

    def inner_products(self, block: Block, count: int, x: Vector) -> Row:
        """Inner products of x with the first vectors of a block, zero in the other places."""
        products = self.scalars(x, len(block[0]))
        for places, u in zip(block, x, strict=True):
            matrix = places[:count].to(_fine(u.dtype)).reshape(count, -1)
            products[:count] += (matrix @ _flat(u)).to(products)
        return products

    def combine(self, block: Block, count: int, weights: Row) -> Vector:
        """Weighted sum of the first vectors of a block, as a new vector."""
        combined = []
        for places in block:
            first = places[:count].to(_fine(places.dtype))
            combined.append(torch.tensordot(weights[:count].to(first), first, 1).to(places.dtype))
        return combined

    def scalars(self, like: Vector, count: int) -> Row:
        """A row of so many scalars, all zero."""
        return torch.zeros(count, dtype=torch.float64)

    def set_scalar(self, row: Row, i: int, a: float) -> Row:
        """The row with a in place i; consumes the row."""
        row[i] = a
        return row

    def get_scalar(self, row: Row, i: int) -> float:
        """The scalar in place i."""
        return float(row[i])

    def repeat(self, count: int, body: Callable[[int, C], C], carry: C) -> C:
        """carry <- body(j, carry) for j = 0, ..., count - 1."""
        for j in range(count):
            carry = body(j, carry)
        return carry

    def tridiagonal_bound(self, diagonal: Row, offdiagonal: Row, count: int) -> float:
        """Gershgorin's bound by the first rows of a tridiagonal matrix; zero without rows."""
        return gershgorin_bound(diagonal.numpy(), offdiagonal.numpy(), count)

    def ritz(self, diagonal: Row, offdiagonal: Row, count: int) -> tuple[float, Row]:
        """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
        value, weights = lowest_eigenpair(diagonal.numpy(), offdiagonal.numpy(), count)
        return value, torch.from_numpy(weights)


class CachingOps(TorchOps):
    """The operations for one run, which compute the norm of an answered gradient once.

    Whoever answers the queries calls ``cache_norm`` with every gradient before telling it.
    """

    def __init__(self) -> None:
        """Know no norm yet."""
        self._gradient: Vector | None = None
        self._norm = math.nan

    def cache_norm(self, gradient: Vector) -> float:
        """|gradient|, which ``norm`` knows from now on until the gradient is consumed."""
        self._gradient, self._norm = gradient, super().norm(gradient)
        return self._norm

    def norm(self, x: Vector | Row) -> float:
        """Euclidean length, not computed again if it is cached."""
        return self._norm if x is self._gradient else super().norm(x)

    def axpy(self, a: float, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage."""
        if y is self._gradient:
            self._gradient = None
        return super().axpy(a, x, y)

    def scale(self, a: float, x: Vector) -> Vector:
        """a x, in x's storage."""
        if x is self._gradient:
            self._gradient = None
        return super().scale(a, x)


class PlacingOps(TorchOps):
    """The operations for one probe: ``add`` writes where the probe is to be.

    For a phase's ``at`` only, and for a target that shares no storage with the state.
    """

    def __init__(self, target: Vector) -> None:
        """Take the target."""
        self.target = target

    def add(self, x: Vector, a: float, y: Vector) -> Vector:
        """x + a y, in the target's storage."""
        return self.axpy(a, y, self.assign(self.target, x))


def _flat(u: torch.Tensor) -> torch.Tensor:
    return u.to(_fine(u.dtype)).reshape(-1)


def _fine(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _stream(seed: int, episode: int, which: int) -> torch.Generator:
    word = int(np.random.SeedSequence((seed, episode, which)).generate_state(1, np.uint64)[0])
    return torch.Generator().manual_seed(word >> 1)


ops = TorchOps()
_conforms: Operations[Vector] = ops  # pyright reports an operation that is missing or misspelt
