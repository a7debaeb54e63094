"""Vectors as lists of torch tensors, updated in place through ``torch._foreach_*``.

Scalars are Python floats: every ``dot`` waits for its result. Nothing is flattened: a shelf has a
stack of places for each tensor. A row of scalars is a tensor in double precision on the CPU, where
noise is drawn too, so that it does not depend on the device.
"""
# pyright: reportPrivateImportUsage=false

import math
from typing import Any

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("unsaddle.torch needs PyTorch: pip install 'unsaddle[torch]'") from error

from unsaddle.ops import numpy as host

Vector = list[torch.Tensor]

sqrt = math.sqrt
log = math.log
maximum = max
repeat = host.repeat


def dot(x: Vector, y: Vector) -> float:
    """Inner product, summed over the tensors in double precision."""
    parts = [torch.dot(_flat(u), _flat(v)).double() for u, v in zip(x, y, strict=True)]
    return float(parts[0] if len(parts) == 1 else torch.stack(parts).sum())


def norm(x: Vector | torch.Tensor) -> float:
    """Euclidean length, of a vector or of a row of scalars."""
    whole = [x] if isinstance(x, torch.Tensor) else x
    return math.sqrt(dot(whole, whole))


def axpy(a: float, x: Vector, y: Vector) -> Vector:
    """y + a x, in y's storage."""
    torch._foreach_add_(y, x, alpha=a)
    return y


def scale(a: float, x: Vector) -> Vector:
    """a x, in x's storage."""
    torch._foreach_mul_(x, a)
    return x


def times(a: float, x: Vector) -> Vector:
    """a x, as a new vector."""
    return list(torch._foreach_mul(x, a))


def add(x: Vector, a: float, y: Vector) -> Vector:
    """x + a y, as a new vector."""
    return list(torch._foreach_add(x, y, alpha=a))


def keep(x: Vector) -> Vector:
    """Copy x."""
    return [u.clone() for u in x]


def copy(x: Vector, y: Vector) -> Vector:
    """y's numbers in x's storage."""
    torch._foreach_copy_(x, y)
    return x


hold = keep


def switch(condition: bool, x: Vector, y: Vector) -> Vector:
    """Choose the vector x where the condition holds, else y."""
    return x if condition else y


def where(condition: bool, a: Any, b: Any) -> Any:
    """Choose the scalar a where the condition holds, else b."""
    return a if condition else b


def noise(like: Vector, seed: int, episode: int) -> Vector:
    """Standard normal vector of like's shapes and precisions, a function of (seed, episode)."""
    stream = _stream(seed, episode, 0)
    return [
        torch.randn(u.shape, generator=stream, dtype=_fine(u.dtype)).to(u.device, u.dtype)
        for u in like
    ]


def uniform(like: Vector, seed: int, episode: int) -> float:
    """Scalar in (0, 1), a function of (seed, episode), independent of the noise."""
    drawn = torch.rand((), generator=_stream(seed, episode, 1), dtype=torch.float64)
    return 1.0 - float(drawn)


def size(x: Vector) -> int:
    """How many numbers x has."""
    return sum(u.numel() for u in x)


def roundoff(x: Vector) -> float:
    """Unit roundoff of the coarsest precision in x."""
    return max(torch.finfo(u.dtype).eps for u in x) / 2


def tiny(x: Vector) -> float:
    """Smallest normal number of the coarsest precision in x."""
    return max(torch.finfo(u.dtype).tiny for u in x)


def shelf(x: Vector, places: int) -> Vector:
    """Room for so many vectors like x, all zero."""
    return [u.new_zeros((places, *u.shape)) for u in x]


def put(shelf: Vector, i: int, x: Vector) -> Vector:
    """The shelf with x in place i; consumes the shelf."""
    torch._foreach_copy_(pick(shelf, i), x)
    return shelf


def pick(shelf: Vector, i: int) -> Vector:
    """The vector in place i, to be read only."""
    return [places[i] for places in shelf]


def against(shelf: Vector, filled: int, x: Vector) -> torch.Tensor:
    """Inner products of x with the first vectors of a shelf, the other places zero."""
    products = blank(x, len(shelf[0]))
    for places, u in zip(shelf, x, strict=True):
        matrix = places[:filled].to(_fine(u.dtype)).reshape(filled, -1)
        products[:filled] += (matrix @ _flat(u)).to(products)
    return products


def mix(shelf: Vector, filled: int, weights: torch.Tensor) -> Vector:
    """Weighted sum of the first vectors of a shelf, as a new vector."""
    mixed = []
    for places in shelf:
        first = places[:filled].to(_fine(places.dtype))
        mixed.append(torch.tensordot(weights[:filled].to(first), first, 1).to(places.dtype))
    return mixed


def blank(like: Vector, places: int) -> torch.Tensor:
    """Room for so many scalars, all zero."""
    return torch.zeros(places, dtype=torch.float64)


def record(row: torch.Tensor, i: int, a: float) -> torch.Tensor:
    """The row with a in place i; consumes the row."""
    row[i] = a
    return row


def read(row: torch.Tensor, i: int) -> float:
    """The scalar in place i."""
    return float(row[i])


def ritz(diagonal: torch.Tensor, beside: torch.Tensor, filled: int) -> tuple[float, torch.Tensor]:
    """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
    value, weights = host.ritz(diagonal.numpy(), beside.numpy(), filled)
    return value, torch.from_numpy(weights)


def _flat(u: torch.Tensor) -> torch.Tensor:
    return u.to(_fine(u.dtype)).reshape(-1)


def _fine(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _stream(seed: int, episode: int, which: int) -> torch.Generator:
    word = int(np.random.SeedSequence((seed, episode, which)).generate_state(1, np.uint64)[0])
    return torch.Generator().manual_seed(word >> 1)
