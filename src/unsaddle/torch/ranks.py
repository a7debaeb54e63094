"""Several processes that train one model: they answer every query together, and go on alike.

Every rank has the same parameters, as ``DistributedDataParallel`` keeps them, and its own part of
the data. At each query the ranks add up one row of ``ROW`` numbers: the loss and two marks. All go
on with the mean loss. One mark says whether all have the same gradients; those that differ are
averaged. The other says whether all are at the same query of the same run. What must be the same
and is not is an error on every rank. All else that a run needs is a function of what is the same.
"""
# pyright: reportPrivateImportUsage=false

import atexit
import json
import logging
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from math import nan
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any, ClassVar, NamedTuple

from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from unsaddle.methods.checks import listed, shown, unlike
from unsaddle.torch.inputs import gradient_of
from unsaddle.torch.marks import fingerprint, mark
from unsaddle.torch.ops import Vector, torch

ROW = 5  # numbers that a query adds up: the loss, and two of each mark
LOST = re.compile(r"closed by peer|reset by peer|broken pipe|timed? ?out|socket|connect", re.I)
LATE = re.compile(r"timed? ?out", re.I)  # without a connection that was closed
KEY = "unsaddle/rank"
HOST = 0  # the rank that mostly has the store
GONE = (
    f"the store of the process group no longer answers: rank {HOST}, which usually hosts it, hangs "
    "or has ended, perhaps because another one had: see what it said"
)
log = logging.getLogger("unsaddle")
HINTS = {  # of what must be the same on every rank
    "optimiser": "make the same optimiser on every rank",
    "seed": "pass the same seed= on every rank",
    "settings": "pass the same constants and settings on every rank",
    "max_gradients": "pass the same max_gradients= on every rank",
    "meshes": "make one mesh of all ranks, or parts of it, and shard them alike on every rank",
    "parameters": "begin with the same on every rank, as DistributedDataParallel(model) does, or "
    "call torch.distributed.broadcast(p.data, 0) for each of them",
    "gradients": "let every rank call backward() on a loss of the same parameters; where a "
    "rank needs fewer of them, use DistributedDataParallel(model, find_unused_parameters=True)",
    "earlier gradients": "load the same state on every rank",
    "loss given": "call step(closure) or step(loss=loss), the same on every rank",
    "query": "the ranks must take the same steps: load the same state on every rank, if one does, "
    "call step equally often, and run them on the same kind of processor with the same number of "
    "threads",
}


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    patience: float = 60.0  # seconds, above 1: the wait for word of several ranks that are silent
    word: float = 5.0  # seconds, above 0: the least wait for word of one, which may be ending now
    grace: float = 30.0  # seconds, above 0: the most, after a time-out: it may come to its own,
    share: float = 0.5  # (0, 1]: but not more than this of the time that was waited already
    answer: float = 10.0  # seconds, above 1: the wait for the store, whose host may hang
    linger: float = 5.0  # seconds, above 0: for so long the host lets others read what was told
    pause: float = 0.05  # seconds, above 0: between two looks at who is
    parting: float = 0.1  # seconds, above 0: threads of gloo's need Python's lock for far less


TUNING = Tuning()


class Ranks:
    """The processes of a group, or one process alone."""

    told: ClassVar[bool] = False  # whether this rank has told the others of an error
    caught: ClassVar[int] = 0  # errors that it has told of, and gone on after

    def __init__(self, group: Any = None) -> None:
        """Take a process group, all processes if None."""
        every = torch.distributed
        self.on = every.is_available() and every.is_initialized()
        self.group, self.count = group, every.get_world_size(group) if self.on else 1
        if self.count < 1:
            raise ValueError("group must be a process group that this rank is in; pass its own")
        self.averages = False  # whether gradients were seen to differ: then they are averaged
        self.several = self.count > 1
        if self.several:
            _wait_at_exit()

    def members(self) -> list[int]:
        """Give the numbers of the ranks among all processes."""
        if not self.on:
            return [0]
        every = torch.distributed
        return sorted(every.get_process_group_ranks(self.group or every.group.WORLD))

    def together(
        self,
        loss: float | None,
        params: Vector,
        device: Any,
        same: Mapping[str, Any],
        meanwhile: Callable[[], float | None] = lambda: None,
    ) -> tuple[float | None, float | None]:
        """Answer a query as one.

        Args:
            loss: This rank's, if there is one.
            params: Those whose gradients are averaged unless they are the same.
            device: Where the parameters are.
            same: What must be the same on every rank, by name.
            meanwhile: Gives a number that is made of the gradients, while the ranks add up.

        Returns:
            The mean of the losses, and that number, or None if the gradients had to be averaged.

        Raises:
            ValueError: If what must be the same is not, on every rank.
        """
        gradient = gradient_of(params)
        seen = 0.0 if self.averages else fingerprint(gradient)
        marks = [mark(struct.pack("d", seen)), mark(repr(same).encode())]
        mine = [0.0 if loss is None else loss, *(float(m**k) for m in marks for k in (1, 2))]
        row = torch.tensor(mine, dtype=torch.float64, device=device)
        with self.watched(f"at query {same['query']}"):
            sent: Any = torch.distributed.all_reduce(row, group=self.group, async_op=True)
            found = None if self.averages else meanwhile()
            sent.wait()
        total, *sums = row.tolist()
        pairs = zip(sums[::2], sums[1::2], strict=True)  # equal if and only if all marks are
        alike = [self.count * int(squares) == int(plain) ** 2 for plain, squares in pairs]
        if not alike[1]:
            raise ValueError(self._difference(same))
        if self.averages or not alike[0]:
            self._average(gradient)
            found = None
        return None if loss is None else total / self.count, found

    def add_up(self, row: torch.Tensor) -> None:
        """Add a tensor up over the ranks, in place."""
        with self.watched("at a sum"):
            torch.distributed.all_reduce(row, group=self.group)

    def _average(self, gradient: Vector) -> None:
        """Average a gradient over the ranks, in place."""
        if not self.averages:
            log.info("gradients differ between ranks: they are averaged at every query")
            self.averages = True
        kinds: dict[torch.dtype, Vector] = {}
        for g in gradient:
            kinds.setdefault(g.dtype, []).append(g)
        for own in kinds.values():
            joined = _flatten_dense_tensors(own)
            self.add_up(joined)
            torch._foreach_copy_(own, _unflatten_dense_tensors(joined.div_(self.count), own))

    def _difference(self, mine: Mapping[str, Any]) -> str:
        """Say what differs between the ranks, and where; all of them ask."""
        found: list[Any] = [None] * self.count
        with self.watched("at what differs"):
            torch.distributed.all_gather_object(found, dict(mine), group=self.group)
        for name, hint in HINTS.items():
            values = {rank: each[name] for rank, each in enumerate(found) if name in each}
            if len(values) == self.count and (said := unlike(name, values, "rank", hint)):
                return said
        return f"the ranks are not in the same run: {HINTS['query']}"

    @contextmanager
    def watched(self, place: str = "in its closure") -> Iterator[None]:
        """Tell the others of an error in this block, and say who it is that does not answer."""
        if Ranks.told:
            self._take_back()
        begin = monotonic()
        try:
            yield
        except Exception as error:
            if not self.several or Ranks.told:  # alone, or it was told of within
                raise
            lost = isinstance(error, RuntimeError) and LOST.search(str(error))
            own = "" if lost else f"{type(error).__name__}: {error}"
            late = LATE.search(str(error)) is not None
            longest = min(TUNING.grace, TUNING.share * (monotonic() - begin)) if late else 0.0
            try:
                said = self._check_in(own, place, max(TUNING.word, longest))
            except Exception:
                said = GONE
            if lost:
                raise LostRankError(f"{said}; go on from the last checkpoint") from error
            raise

    def _take_back(self) -> None:
        """Go on after an error that this rank has told of: the user has caught it."""
        Ranks.told, Ranks.caught = False, Ranks.caught + 1
        with suppress(Exception):  # of a store that is no more
            _store().set(f"{KEY}/{torch.distributed.get_rank()}", "")  # who reads it may not wait

    def _check_in(self, own: str, place: str, grace: float) -> str:
        """Tell the others where this rank is and what went wrong, and hear the same of them.

        Args:
            own: What went wrong here, if anything did.
            place: Where this rank is.
            grace: Seconds to wait for a single rank that is silent; several are waited for longer,
                and none once a rank has told of an error, or that it knows of the others.

        Returns:
            What became of the ranks.
        """
        Ranks.told = True
        store, ranks, begin = _store(), self.members(), monotonic()
        rank = torch.distributed.get_rank()
        word = Word(place, own, False, Ranks.caught)
        _soon(lambda: (_tell(store, rank, word), _told(store, ranks)))
        while True:
            told = _told(store, ranks)
            old = {rank for rank, it in told.items() if it.error and it.caught < Ranks.caught}
            unsure = [rank for rank in ranks if rank not in told or rank in old]
            fresh = [it for rank, it in told.items() if rank not in old]
            broken = any(it.error for it in fresh)  # then who is silent is late, not gone
            known = broken or any(it.heard for it in fresh)
            waits = (0.0, grace)[len(unsure)] if len(unsure) < 2 else TUNING.patience
            if known or monotonic() - begin >= waits:
                break
            sleep(TUNING.pause)
        _tell(store, rank, word._replace(heard=True))
        end = monotonic() + TUNING.linger
        late_too = broken and not own  # others see that this one has failed only once it has ended
        while rank == HOST and not _all_heard(store, ranks, late_too) and monotonic() < end:
            sleep(TUNING.pause)
        return _heard(told, [rank for rank in ranks if rank not in told])


class Word(NamedTuple):
    """What a rank tells the others."""

    place: str  # where it is
    error: str  # what went wrong there, if not by others
    heard: bool  # whether it knows what became of the others
    caught: int  # errors that it had told of before: an error of fewer may be one of these


@cache
def _wait_at_exit() -> None:
    """Let threads of gloo's give back what they summed before Python ends, or they abort it.

    They ask for Python's lock to do so. What they have not given back holds the group, so that
    ``destroy_process_group`` does not wait for them.
    """
    atexit.register(sleep, TUNING.parting)


def _soon(ask: Callable[[], Any]) -> None:
    """Ask the store, but do not wait for ever, as it does where its host hangs."""
    over, answered = Event(), []

    def work() -> None:
        with suppress(Exception):  # there is no answer: that is all that is said of it
            ask()
            answered.append(True)
        over.set()

    Thread(target=work, daemon=True).start()
    over.wait(TUNING.answer)
    if not answered:
        raise TimeoutError


def _tell(store: Any, rank: int, word: Word) -> None:
    store.set(f"{KEY}/{rank}", json.dumps(word))


def _told(store: Any, ranks: list[int]) -> dict[int, Word]:
    """Give what ranks have told so far."""
    keys = {rank: f"{KEY}/{rank}" for rank in ranks}
    there = {rank: store.get(k).decode() for rank, k in keys.items() if store.check([k])}
    return {rank: Word(*json.loads(text)) for rank, text in there.items() if text}


def _all_heard(store: Any, ranks: list[int], late_too: bool) -> bool:
    """Say whether all that have told anything have heard, and if ``late_too`` all ranks."""
    told = _told(store, ranks)
    return all(word.heard for word in told.values()) and (len(told) == len(ranks) or not late_too)


def _store() -> Any:
    """Give what all ranks can write to, also where a connection is lost."""
    return torch.distributed.distributed_c10d._get_default_store()


def _heard(told: dict[int, Word], silent: list[int]) -> str:
    """Say what became of the ranks, by what they told."""
    broken = [f"rank {rank} ended with {it.error}" for rank, it in told.items() if it.error]
    if broken:
        return "; ".join(broken)
    if len(silent) == 1:
        return f"rank {silent[0]} no longer answers"
    if silent:
        return f"one or more of the ranks {listed(silent)} no longer answer, others wait for them"
    places = {
        word.place: [r for r, it in told.items() if it.place == word.place]
        for word in told.values()
    }
    alike = "let the closures of all ranks make the same calls of torch.distributed"
    if len(places) < 2:
        return (
            f"every rank waited {next(iter(places))}, and the group's time-out was over: {alike}, "
            "or raise the time-out where one of them only takes longer"
        )
    waits = "; ".join(f"rank {listed(ranks)} {place}" for place, ranks in places.items())
    return f"ranks wait for each other, {waits}: {alike}, and call step equally often"


class LostRankError(RuntimeError):
    """A rank no longer answers."""


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
