"""Vectors as lists of torch tensors, updated in place through ``torch._foreach_*``.

Scalars are Python floats: every ``dot`` waits for its result. Nothing is flattened, and noise is
drawn on the CPU, so that it does not depend on the device.
"""
# pyright: reportPrivateImportUsage=false

import math
from typing import Any

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("unsaddle.torch needs PyTorch: pip install 'unsaddle[torch]'") from error

Vector = list[torch.Tensor]

sqrt = math.sqrt
log = math.log
maximum = max


def dot(x: Vector, y: Vector) -> float:
    """Inner product, summed over the tensors in double precision."""
    parts = [torch.dot(_flat(u), _flat(v)).double() for u, v in zip(x, y, strict=True)]
    return float(parts[0] if len(parts) == 1 else torch.stack(parts).sum())


def norm(x: Vector) -> float:
    """Euclidean length."""
    return math.sqrt(dot(x, x))


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


def _flat(u: torch.Tensor) -> torch.Tensor:
    return u.to(_fine(u.dtype)).reshape(-1)


def _fine(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _stream(seed: int, episode: int, which: int) -> torch.Generator:
    word = int(np.random.SeedSequence((seed, episode, which)).generate_state(1, np.uint64)[0])
    return torch.Generator().manual_seed(word >> 1)
