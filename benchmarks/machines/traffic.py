"""Count what a run sends: every collective of torch.distributed between two calls of a closure."""

from collections import Counter
from itertools import groupby, takewhile
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.machines.problem import TO_END, Net, lbfgs, makers, spread
from unsaddle.core.phases import BEGIN

FEW, MOST = 60, 250  # queries of a method that takes thousands to its end, and of any other
COPIED = ("auto", "pgd+nc")  # of which it is seen that copies send the same
SETS = ("c10d", "_c10d_functional")  # of operations that talk to other ranks


class EnoughError(Exception):
    """A run has been watched for long enough."""


class Sent(TorchDispatchMode):
    """Keeps the bytes of every collective, but for those of the closure."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.bytes, self.ours = list[int](), True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take note of a collective."""
        if any(hasattr(it, "device_mesh") for it in types):
            return NotImplemented  # a DTensor: its parts come again
        if self.ours and func.namespace in SETS:
            tensors = [it for it in tree_leaves(args) if isinstance(it, torch.Tensor)]
            self.bytes.append(sum(it.numel() * it.itemsize for it in tensors))
        return func(*args, **(kwargs or {}))


def queries(name: str, sharded: bool) -> list[dict[str, Any]]:
    """Run a method, and give kind, calls and bytes of each of its queries."""
    net = spread(Net()) if sharded else Net()
    opt, rows, last = makers()[name](net.parameters()), list[dict[str, Any]](), ""
    limit = MOST if name in TO_END else FEW
    same = torch.ones(1, dtype=torch.float64)  # all ranks have the same gradients

    with Sent() as sent:

        def note() -> None:
            if last:
                sums = {"calls": len(sent.bytes), "bytes": sum(sent.bytes)}
                rows.append({"kind": last, "over": True, **sums})
            sent.bytes.clear()

        def closure() -> Any:
            nonlocal last
            note()
            if opt.queries >= limit:
                raise EnoughError
            query = opt._query
            last = "search" if query is not None and query.phase >= BEGIN else "descent"
            sent.ours = False
            opt.zero_grad()
            loss = net(same)
            loss.backward()
            sent.ours = True
            return loss

        try:
            while opt.certificate is None:
                opt.step(closure)
            note()
        except EnoughError:
            for row in takewhile(lambda row: row["kind"] == "search", reversed(rows)):
                row["over"] = False
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Give calls and bytes of the most common queries, and of the last whole search."""
    found: dict[str, Any] = {}
    for kind in ("descent", "search"):
        own = [row for row in rows if row["kind"] == kind]
        if own:
            calls = Counter(row["calls"] for row in own).most_common(1)[0][0]
            sizes = [row["bytes"] for row in own if row["calls"] == calls]
            found[kind] = {"calls": calls, "least": min(sizes), "most": max(sizes)}
    blocks = [[*own] for kind, own in groupby(rows, lambda row: (row["kind"], row["over"]))
              if kind == ("search", True)]  # fmt: skip
    whole = blocks[-1] if blocks else []
    if whole:
        sums = {key: sum(row[key] for row in whole) for key in ("calls", "bytes")}
        found["whole"] = {"queries": len(whole), **sums}
    return found


def traffic(names: list[str] | None = None) -> dict[str, Any]:
    """Give what methods send where every rank has a part, and what two of them do with copies."""
    every = names or [name for name, make in makers().items() if make is not lbfgs]
    return {
        "parts": {name: summary(queries(name, sharded=True)) for name in every},
        "copies": {name: summary(queries(name, sharded=False)) for name in COPIED},
    }
