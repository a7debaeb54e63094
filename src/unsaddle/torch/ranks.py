"""Several processes that train one model: they answer every query together, and go on alike.

Every rank has the same parameters, as ``DistributedDataParallel`` keeps them, and its own part of
the data. At a query the ranks add up one row of ``ROW`` numbers: the losses, whose mean all of them
go on with, and two marks, by which all of them know at once whether they have the same gradients,
and whether they are at the same query of the same run. Gradients that differ are averaged. What
must be the same and is not is an error on every rank. All else that a run needs is a function of
what is the same.
"""
# pyright: reportPrivateImportUsage=false

import logging
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from math import cos, nan
from time import monotonic, sleep
from typing import Any, NamedTuple
from zlib import crc32

from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from unsaddle.methods.checks import shown
from unsaddle.torch.inputs import gradient_of
from unsaddle.torch.ops import TUNING as OPS_TUNING
from unsaddle.torch.ops import Vector, ops, torch

ROW = 5  # numbers that a query adds up: the loss, and two of each mark
LOST = re.compile(r"closed by peer|reset by peer|broken pipe|timed? ?out|socket|connect", re.I)
KEY = "unsaddle/rank"
log = logging.getLogger("unsaddle")
HINTS = {  # of what must be the same on every rank
    "optimiser": "make the same optimiser on every rank",
    "seed": "pass the same seed= on every rank",
    "settings": "pass the same constants and settings on every rank",
    "parameters": "begin with the same on every rank, as DistributedDataParallel(model) does, or "
    "call torch.distributed.broadcast(p.data, 0) for each of them",
    "meshes": "shard the parameters in the same way on every rank",
    "gradients": "let every rank call backward() on a loss of the same parameters",
    "loss given": "call step(closure) or step(loss=loss), the same on every rank",
    "query": "the ranks must take the same steps: call step equally often on every rank, and run "
    "them on the same kind of processor with the same number of threads",
}


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    bits: int = 18  # 8 to 20: marks are this long; squares of 2^17 of them add up exactly
    patience: float = 60.0  # seconds, above 1: for so long a rank waits to hear who is left
    pause: float = 0.05  # seconds, above 0: between two looks at who is
    block: int = 4096  # numbers, 2^8 to 2^16: so many random weights, which are used again


TUNING = Tuning()


class Ranks:
    """The processes of a group, or one process alone."""

    def __init__(self, group: Any = None) -> None:
        """Take a process group, all processes if None."""
        every = torch.distributed
        self.on = every.is_available() and every.is_initialized()
        self.group, self.count = group, every.get_world_size(group) if self.on else 1
        if self.count < 1:
            raise ValueError("group must be a process group that this rank is in; pass its own")
        self.averages = False  # whether gradients were seen to differ: then they are averaged
        self.several = self.count > 1

    def members(self) -> list[int]:
        """Give the numbers of the ranks among all processes."""
        if not self.on:
            return [0]
        every = torch.distributed
        return sorted(every.get_process_group_ranks(self.group or every.group.WORLD))

    def together(
        self, loss: float | None, params: Vector, device: Any, same: Mapping[str, Any]
    ) -> float | None:
        """Answer a query as one.

        Args:
            loss: This rank's, if there is one.
            params: Those that have gradients, which are averaged unless they are the same.
            device: Where the parameters are.
            same: What must be the same on every rank, by name.

        Returns:
            The mean of the losses.

        Raises:
            ValueError: If what must be the same is not, on every rank.
        """
        gradient = gradient_of(params)
        seen = 0.0 if self.averages else fingerprint(gradient)
        marks = [mark(struct.pack("d", seen)), mark(repr(same).encode())]
        mine = [0.0 if loss is None else loss, *(float(m**k) for m in marks for k in (1, 2))]
        row = torch.tensor(mine, dtype=torch.float64, device=device)
        self.add_up(row)
        total, *sums = row.tolist()
        pairs = zip(sums[::2], sums[1::2], strict=True)  # equal if and only if all marks are
        alike = [self.count * int(squares) == int(plain) ** 2 for plain, squares in pairs]
        if not alike[1]:
            raise ValueError(self._difference(same))
        if self.averages or not alike[0]:
            self._average(params, gradient)
        return None if loss is None else total / self.count

    def add_up(self, row: torch.Tensor) -> None:
        """Add a tensor up over the ranks, in place."""
        with self.watched():
            torch.distributed.all_reduce(row, group=self.group)

    def _average(self, params: Vector, gradient: Vector) -> None:
        """Average the gradients over the ranks, in place."""
        if not self.averages:
            log.info("gradients differ between ranks: they are averaged at every query")
            self.averages = True
        kinds: dict[torch.dtype, Vector] = {}
        for p, g in zip(params, gradient, strict=True):
            p.grad = g  # zero where there was none
            kinds.setdefault(g.dtype, []).append(g)
        for own in kinds.values():
            joined = _flatten_dense_tensors(own)
            self.add_up(joined)
            torch._foreach_copy_(own, _unflatten_dense_tensors(joined.div_(self.count), own))

    def _difference(self, mine: Mapping[str, Any]) -> str:
        """Say what differs between the ranks, and where; all of them ask."""
        found: list[Any] = [None] * self.count
        with self.watched():
            torch.distributed.all_gather_object(found, dict(mine), group=self.group)
        for name, hint in HINTS.items():
            texts = _apart([each.get(name) for each in found])
            if len({*texts}) > 1:
                where = {text: [r for r, it in enumerate(texts) if it == text] for text in texts}
                got = "; ".join(f"{text} on rank {_listed(r)}" for text, r in where.items())
                return f"{name} must be the same on every rank, got {got}: {hint}"
        return f"the ranks are not in the same run: {HINTS['query']}"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Tell other ranks of an error here, and name the rank where an answer stays away."""
        try:
            yield
        except Exception as error:
            if not self.several or isinstance(error, LostRankError):
                raise
            lost = isinstance(error, RuntimeError) and LOST.search(str(error))
            try:
                said = self._check_in("" if lost else f"{type(error).__name__}: {error}")
            except Exception:
                said = "the store of the process group no longer answers: its host has ended"
            if lost:
                raise LostRankError(f"{said}; go on from the last checkpoint") from error
            raise

    def _check_in(self, own: str) -> str:
        """Tell the others that this rank is there, and what went wrong; hear who else is."""
        every = torch.distributed
        store = every.distributed_c10d._get_default_store()
        ranks = self.members()
        store.set(f"{KEY}/{every.get_rank()}", own)
        end = monotonic() + (0 if own else TUNING.patience)
        while True:
            keys = {rank: f"{KEY}/{rank}" for rank in ranks}
            there = {rank: store.get(k).decode() for rank, k in keys.items() if store.check([k])}
            silent = [rank for rank in ranks if rank not in there]
            broken = [f"rank {rank} ended with {text}" for rank, text in there.items() if text]
            if broken or len(silent) < 2 or monotonic() > end:
                break
            sleep(TUNING.pause)
        gone = [f"rank {_listed(silent)} no longer answers"] if silent and not broken else []
        return "; ".join([*broken, *gone]) or "a rank took longer than the group's time-out"


class LostRankError(RuntimeError):
    """A rank no longer answers."""


def checksum(x: Vector) -> str:
    """Give a fingerprint in words."""
    return f"checksum {fingerprint(x):.17g}"


def fingerprint(x: Vector) -> float:
    """Sum of all numbers with random weights: the same on two ranks only if the numbers are."""
    parts = [u.detach() for u in x]
    if len(parts) > 1 and ops.size(parts) <= OPS_TUNING.joined:
        parts = [_flatten_dense_tensors(parts)]
    return sum(cos(k) * _weighted(u) for k, u in enumerate(parts))


def _weighted(u: torch.Tensor) -> float:
    flat, block = u.reshape(-1), TUNING.block
    flat = flat.float() if flat.dtype.itemsize < 4 else flat
    weights = _weights(flat.dtype, flat.device)
    whole = flat.numel() // block * block
    sums = flat[:whole].view(-1, block) @ weights
    rest = torch.dot(flat[whole:], weights[: flat.numel() - whole])
    return float(rest) + (cos(0.5) * _weighted(sums) if whole else 0.0)


@cache
def _weights(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.randn(TUNING.block, generator=torch.Generator().manual_seed(0)).to(device, dtype)


def mark(data: bytes) -> int:
    """Give a few bits that differ where data does."""
    return crc32(data) >> (32 - TUNING.bits)


def number(loss: Any) -> float:
    """Give a loss as a number, NaN if there is none."""
    if loss is None:
        return nan
    try:
        if isinstance(loss, str | bytes):
            raise TypeError
        return float(loss.detach() if isinstance(loss, torch.Tensor) else loss)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise TypeError(
            f"the loss must be one real number, got {shown(loss)}: let the closure return a tensor "
            "of one number, such as loss.mean()"
        ) from error


def _apart(values: list[Any]) -> list[str]:
    """Give values in words, of dictionaries what differs."""
    if not all(isinstance(each, dict) for each in values):
        return [*map(str, values)]
    names = [name for name in values[0] if len({str(each.get(name)) for each in values}) > 1]
    return [", ".join(f"{name}={each.get(name)}" for name in names) for each in values]


def _listed(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks))
