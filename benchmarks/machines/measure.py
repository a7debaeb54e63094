"""What ranks measure: ``torchrun -m benchmarks.machines.measure TASK``; the last line is JSON."""

import json
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

import unsaddle.torch as front
from benchmarks.clock import ratio
from benchmarks.machines.problem import count
from benchmarks.machines.traffic import traffic

LONG = 2**22  # numbers of single precision: 16 MiB
ROWS = 2**16  # of eight numbers, in the model whose memory is measured
WIDTH, BATCHES = 512, (64, 256)  # of the layers that are trained, and samples on each rank
ROUNDS = 200  # steps, each of which is timed in turns with the other


def seconds(work: Callable[[], Any], times: int) -> float:
    """Give the time of the fastest call, all ranks beginning together: others use the machine."""
    seen = []
    for _ in range(times + 1):
        dist.barrier()
        begin = perf_counter()
        work()
        seen.append(perf_counter() - begin)
    return min(seen[1:])


def links() -> dict[str, float]:
    """Give the seconds of a sum of few numbers, and bytes per second of a sum of many."""
    few, many = torch.zeros(5, dtype=torch.float64), torch.zeros(LONG)
    moved = 2 * (count() - 1) / count() * many.nbytes  # of each rank, in a ring
    return {
        "latency": seconds(lambda: dist.all_reduce(few), 200),
        "bandwidth": moved / seconds(lambda: dist.all_reduce(many), 8),
    }


def memory() -> dict[str, float]:
    """Give the MiB that a rank keeps for ``auto``: by its tensors, and what became resident."""
    mesh = init_device_mesh("cpu", (count(),))
    part = torch.nn.Parameter(distribute_tensor(torch.zeros(ROWS, 8), mesh, [Shard(0)]))
    opt = front.Auto([part])
    before = _resident()
    opt.state_dict()
    assert opt._session is not None
    state = opt._session.state
    kept = {
        "pairs": _touched(state.descent.pairs),
        "window": _touched(state.escape.basis),
        "all": _touched(state),
    }
    return {**kept, "resident": _resident() - before}


def _touched(record: Any) -> float:
    """Give the MiB of all tensors of a record, each counted once, and write to all of them."""
    places = {id(it): it for it in _tensors(record)}
    for tensor in places.values():
        tensor.mul_(1.0)
    return sum(it.nbytes for it in places.values()) / 2**20


def _tensors(record: Any) -> Iterator[torch.Tensor]:
    if isinstance(record, torch.Tensor):
        yield record
    elif isinstance(record, tuple | list):
        for each in record:
            yield from _tensors(each)


def _resident() -> float:
    """Give the largest resident size so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def speed() -> dict[str, Any]:
    """Give the time of a step of Escape(Adam) over that of Adam, with copies and with parts."""
    places = {"copies": DistributedDataParallel, "parts": _sharded}
    return {
        name: {str(batch): _speed(place, batch) for batch in BATCHES}
        for name, place in places.items()
    }


def _sharded(net: torch.nn.Sequential) -> Any:
    mesh = init_device_mesh("cpu", (count(),))
    for layer in net:
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def _speed(place: Callable[[Any], Any], batch: int) -> dict[str, float]:
    """Train two copies of a network in turns; what the processor was busy is less in dispute."""
    clocks = {"seconds": perf_counter, "busy": process_time}
    jobs = {"ours": _training(place, batch, front.Escape), "plain": _training(place, batch)}
    for _ in range(ROUNDS // 4):
        for step in jobs.values():
            step()
    seen: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for name, step in jobs.items():
            dist.barrier()
            begin = [clock() for clock in clocks.values()]
            step()
            for which, at in zip(clocks, begin, strict=True):
                seen.setdefault((which, name), []).append(clocks[which]() - at)
    return {which: ratio(seen[which, "ours"], seen[which, "plain"]) for which in clocks}


def _training(place: Any, batch: int, wrap: Any = lambda inner: inner) -> Callable[[], Any]:
    """Give a step of Adam on four layers."""
    torch.manual_seed(0)
    net = place(torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)]))
    inputs, targets = torch.randn(2, batch, WIDTH)
    opt = wrap(torch.optim.Adam(net.parameters(), lr=1e-4))

    def closure() -> Any:
        opt.zero_grad()
        loss = (net(inputs) - targets).square().mean()
        loss.backward()
        return loss

    return lambda: opt.step(closure)


TASKS: dict[str, Callable[[], Any]] = {it.__name__: it for it in (links, memory, speed, traffic)}


def main(task: str) -> None:
    """Measure, and let the first rank say what all have found."""
    warnings.simplefilter("ignore")  # of torch, on what it does in FSDP2
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found = TASKS[task]()
    if not dist.get_rank():
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
