"""Vectors as lists of torch tensors, updated in place through ``torch._foreach_*``.

The lists are as long as ``layout.py`` says: one tensor for each parameter, or for each precision.
Scalars are Python floats: every ``dot`` waits for its result. A block has a stack of places for
each tensor. A row of scalars is a NumPy array; random vectors are drawn on the CPU, so that
they do not depend on the device.
"""
# pyright: reportPrivateImportUsage=false

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import torch
except ImportError as error:
    raise ImportError("unsaddle.torch needs PyTorch: pip install 'unsaddle[torch]'") from error

from torch._utils import _flatten_dense_tensors

from unsaddle.core.arrays import EagerOps
from unsaddle.core.ops import OWN_STREAM, Operations

Vector = list[torch.Tensor]
Block = Vector  # with one dimension more, the first, in every tensor
Row = NDArray[np.float64]


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    joined: int = 2**17  # numbers, 10^4 to 10^8: up to so many a copy costs less than many calls
    aligned: int = 16  # numbers, 4 to 64: unaligned, dot takes two to five times as long


TUNING = Tuning()


class TorchOps(EagerOps):
    """The operations of :class:`unsaddle.core.ops.Operations` on lists of tensors."""

    def dot(self, x: Vector, y: Vector) -> float:
        """Inner product; those of large tensors are added up in double precision."""
        if len(x) == 1:
            return float(torch.dot(_flat(x[0]), _flat(y[0])))
        if self.size(x) <= TUNING.joined:
            one = _joined(x)
            return float(torch.dot(one, one if y is x else _joined(y)))
        if y is x:
            norms = torch.stack(torch._foreach_norm([*map(_fine, x)]))
            return float(torch.linalg.vector_norm(norms, dtype=torch.float64)) ** 2
        parts = [torch.dot(_flat(u), _flat(v)) for u, v in zip(x, y, strict=True)]
        return float(torch.stack(parts).double().sum())

    def norm(self, x: Vector | Row) -> float:
        """Euclidean length, of a vector or of a row."""
        return math.sqrt(x @ x if isinstance(x, np.ndarray) else self.dot(x, x))

    def axpy(self, a: float, x: Vector, y: Vector) -> Vector:
        """y + a x, in y's storage."""
        if a:
            torch._foreach_add_(y, x, alpha=a)
        return y

    def scale(self, a: float, x: Vector) -> Vector:
        """a x, in x's storage; of a block too."""
        if a != 1.0:
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

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector of like's shapes and precisions, a function of (seed, episode)."""
        stream = _stream(seed, episode, 0)
        return [
            torch.randn(
                u.shape, generator=stream, dtype=torch.promote_types(u.dtype, torch.float32)
            ).to(u.device, u.dtype)
            for u in like
        ]

    def uniform(self, like: Vector, seed: int, episode: int) -> float:
        """Scalar in (0, 1), a function of (seed, episode), independent of `normal`."""
        drawn = torch.rand((), generator=_stream(seed, episode, 1), dtype=torch.float64)
        return 1.0 - float(drawn)

    def finite(self, x: Vector) -> bool:
        """Whether all numbers of x are finite."""
        return all(bool(torch.isfinite(u).all()) for u in x)

    def size(self, x: Vector) -> int:
        """How many numbers x has."""
        return sum(map(torch.numel, x))

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of the coarsest precision in x."""
        return max(torch.finfo(u.dtype).eps for u in x) / 2

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of the coarsest precision in x."""
        return max(torch.finfo(u.dtype).tiny for u in x)

    def vectors(self, x: Vector, count: int) -> Block:
        """A block of so many vectors like x, all zero."""
        return [_zeros(u, count) for u in x]

    def places(self, block: Block) -> int:
        """How many vectors a block has room for."""
        return len(block[0])

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
            products[:count] += (_fine(places[:count]).flatten(1) @ _flat(u)).cpu().numpy()
        return products

    def combine(self, block: Block, count: int, weights: Row) -> Vector:
        """Weighted sum of the first vectors of a block, as a new vector."""
        row, combined = torch.from_numpy(weights[:count]), []
        for places in block:
            first = _fine(places[:count])
            total = row.to(first) @ first.flatten(1)
            combined.append(total.to(places.dtype).view(places.shape[1:]))
        return combined

    def add_combined(self, y: Vector, block: Block, count: int, weights: Row) -> Vector:
        """y and the weighted sum of the first vectors of a block, in y's storage."""
        for u, places in zip(y, block, strict=True):
            first = _fine(places[:count]).flatten(1)
            row = torch.from_numpy(weights[:count]).to(first)
            if u.dtype is first.dtype and u.dim() == 1:
                u.addmv_(first.T, row)
            else:
                u.add_((row @ first).view(u.shape))
        return y

    def scalars(self, like: Vector, count: int) -> Row:
        """A row of so many scalars, all zero."""
        return np.zeros(count)

    def square(self, like: Vector, count: int) -> Row:
        """A matrix of so many rows and columns of scalars, all zero."""
        return np.zeros((count, count))


class CachingOps(TorchOps):
    """The operations for one run, which compute the norm of an answered gradient once.

    Whoever answers the queries calls ``cache_norm`` with every gradient before telling it.
    """

    def __init__(self) -> None:
        """Know no norm yet."""
        self._gradient: Vector | None = None
        self._norm = math.nan

    def cache_norm(self, gradient: Vector, norm: float | None = None) -> float:
        """|gradient|, which ``norm`` knows from now on until the gradient is consumed."""
        self._gradient = gradient
        self._norm = super().norm(gradient) if norm is None else norm
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
        for t, u, v in zip(self.target, x, y, strict=True):
            torch.add(u, v, alpha=a, out=t)
        return self.target


def _joined(x: Vector) -> torch.Tensor:
    return _fine(_flatten_dense_tensors(x))


def _flat(u: torch.Tensor) -> torch.Tensor:
    return _fine(u) if u.dim() == 1 else _fine(u).reshape(-1)


def _fine(u: torch.Tensor) -> torch.Tensor:
    """u in single precision at least: sums in a coarser one mean little."""
    return u.float() if u.dtype.itemsize < 4 else u


def _zeros(like: torch.Tensor, count: int) -> torch.Tensor:
    """Stacked zeros, each aligned, that take memory once they are written: few blocks are full."""
    size = like.numel()
    padded = count, -(-size // TUNING.aligned) * TUNING.aligned
    if like.device.type == "cpu" and size:
        room = torch.from_numpy(np.zeros((padded[0], padded[1] * like.itemsize), np.uint8))
        room = room.view(like.dtype)
    else:
        room = like.new_zeros(padded)
    return room[:, :size].view(count, *like.shape)


def _stream(seed: int, episode: int, which: int) -> torch.Generator:
    entropy = np.random.SeedSequence((OWN_STREAM, seed, episode, which))
    return torch.Generator().manual_seed(int(entropy.generate_state(1, np.uint64)[0]) >> 1)


ops = TorchOps()
_conforms: Operations[Vector] = ops  # pyright reports an operation that is missing or misspelt
