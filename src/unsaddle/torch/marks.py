"""Marks: a few numbers by which ranks know whether they have the same gradients and settings."""

from functools import cache
from typing import NamedTuple
from zlib import crc32

from unsaddle.torch.ops import Vector, torch


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    bits: int = 18  # 8 to 20: marks are this long; squares of 2^17 of them add up exactly
    block: int = 4096  # numbers, 2^8 to 2^16: so many random weights, which are used again


TUNING = Tuning()


def checksum(x: Vector) -> str:
    """Give a fingerprint in words."""
    return f"checksum {fingerprint(x):.17g}"


def fingerprint(x: Vector) -> float:
    """Sum of all numbers with random weights: the same on two ranks only if the numbers are."""
    return _weighted([u.detach().reshape(-1) for u in x])


def _weighted(parts: Vector) -> float:
    """Add blocks of numbers up, each with weights, and then likewise the row of their sums."""
    block, row = TUNING.block, []
    for part in parts:
        flat = part.float() if part.dtype.itemsize < 4 else part
        whole = flat.numel() // block * block
        if whole:
            row.append(flat[:whole].view(-1, block) @ _weights(flat.dtype, flat.device))
        if whole < flat.numel():
            row.append(flat[whole:])
    if not row:
        return 0.0
    sums = torch.cat(row).double()  # as small ones may stand beside large ones
    if sums.numel() > block:
        return _weighted([sums])
    return float(torch.dot(sums, _weights(sums.dtype, sums.device)[: sums.numel()]))


@cache
def _weights(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.randn(TUNING.block, generator=torch.Generator().manual_seed(0)).to(device, dtype)


def mark(data: bytes) -> int:
    """Give a few bits, which are hardly ever the same where data differs."""
    return crc32(data) >> (32 - TUNING.bits)
