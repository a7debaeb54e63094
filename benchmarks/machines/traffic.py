"""Count what a run sends: every collective of torch.distributed between two calls of a closure."""

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.machines.problem import TO_END, Net, lbfgs, makers, spread
from unsaddle.core.phases import BEGIN

FEW = 60  # queries of a method that takes thousands to its end
SETS = ("c10d", "_c10d_functional")  # of operations that talk to other ranks


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
    same = torch.ones(1, dtype=torch.float64)  # all ranks have the same gradients

    with Sent() as sent:

        def closure() -> Any:
            nonlocal last
            if last:
                rows.append({"kind": last, "calls": len(sent.bytes), "bytes": sum(sent.bytes)})
            sent.bytes.clear()
            query = opt._query
            last = "search" if query is not None and query.phase >= BEGIN else "descent"
            sent.ours = False
            opt.zero_grad()
            loss = net(same)
            loss.backward()
            sent.ours = True
            return loss

        while opt.certificate is None and opt.queries < TO_END.get(name, FEW):
            opt.step(closure)
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
    last = [*rows]
    while last and last[-1]["kind"] == "descent":
        last.pop()
    begin = max((i for i, row in enumerate(last) if row["kind"] == "descent"), default=-1)
    whole = last[begin + 1 :]
    if whole:
        sums = {key: sum(row[key] for row in whole) for key in ("calls", "bytes")}
        found["whole"] = {"queries": len(whole), **sums}
    return found


def traffic(names: list[str] | None = None) -> dict[str, Any]:
    """Give what every method sends, with copies on every rank and with parts."""
    kinds = {"parts": True, "copies": False}
    takes = {name for name in makers() if makers()[name] is not lbfgs}
    return {
        kind: {name: summary(queries(name, sharded)) for name in names or sorted(takes)}
        for kind, sharded in kinds.items()
    }
