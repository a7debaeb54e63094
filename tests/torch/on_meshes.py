"""What processes with sharded parameters do in the tests; they are started as in ``on_ranks``."""

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import unsaddle.torch as front
from benchmarks.machines.problem import TO_END, Net, count, escape, makers, spread
from benchmarks.machines.traffic import traffic
from tests.torch import on_ranks
from tests.torch.on_ranks import closure_of, data, train

SAVED = ("auto", "agd-auto", "Escape(Adam)")


def whole_of(params):
    return [v for p in params for v in p.full_tensor().detach().flatten().tolist()]


def ended(opt, net, found):
    with opt.iterate():
        return {**found, "at": whole_of(net.parameters())}


def every():
    """Give all but torch's LBFGS, which takes no sharded parameters."""
    adam = {"Escape(Adam)": lambda params: escape(params, torch.optim.Adam)}
    return {name: it for name, it in {**makers(), **adam}.items() if "LBFGS" not in name}


def sharded_some():
    """What differs most: flat vectors, none, Lanczos, samples, an optimiser inside."""
    return sharded(("auto", "agd-auto", "agd+lanczos", "pgd", "psgd", "Escape(Adam)"))


def sharded_to_the_end():
    return sharded(limits=TO_END)


def sharded_in_orders():
    """Let one process add up its data in other orders, where it decides by differences."""
    return {
        name: [part_of(name, parts, TO_END) for parts in on_ranks.ORDERS]
        for name in ("agd-auto", "cdhs", "Escape(SGD)")
    }


def part_of(name, parts=2, limits=on_ranks.SHORT):
    """One method on FSDP2."""
    net = spread(Net())
    opt = every()[name](net.parameters())
    went = train(opt, closure_of(opt, net, data(parts)), limits.get(name, on_ranks.QUERIES))
    return ended(opt, net, went)


def sharded(names=None, parts=2, limits=on_ranks.SHORT):
    """Every method on FSDP2, and what certify says; one process has the data of two."""
    found = {name: part_of(name, parts, limits) for name in names or every()}
    net = Net()
    with torch.no_grad():
        net.parts[0][0, 0] = 1.0
    spread(net)
    shown = front.certify(closure_of(net, net, data(parts)), net.parameters())
    found["certify"] = {"holds": shown.holds, "gamma": shown.curvature_tol}
    return found


def tensor_parallel(grid=None):
    """Two linear layers at zero, a saddle: one by columns, one by rows, and then by FSDP2."""
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)).double()
    for p in net.parameters():
        torch.nn.init.zeros_(p)
    mesh = init_device_mesh("cpu", (count(),)) if grid is None else grid["tp"]
    parallelize_module(net, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
    if grid is not None:
        fully_shard(net, mesh=grid["dp"])
    draw = torch.Generator().manual_seed(0)
    inputs, targets = (torch.randn(20, n, generator=draw).double() for n in (6, 3))
    opt = front.Auto(net.parameters(), tol=1e-4)

    def closure():
        opt.zero_grad()
        loss = (net(inputs) - targets).square().mean()
        loss.backward()
        return loss

    found = train(opt, closure, 40)
    return ended(opt, net, {**found, "loss": closure().item()})


def grid():
    """Tensors spread in every way over two by two ranks; one process has a grid of one."""
    side = 2 if count() > 1 else 1
    mesh = init_device_mesh("cpu", (side, side), mesh_dim_names=("dp", "tp"))
    ways = [Shard(0), Shard(0)], [Shard(0), Shard(1)], [Replicate(), Shard(0)]
    places = [*ways, [Shard(0), Replicate()], [Replicate(), Replicate()]]
    first = [torch.full((5, 3), 0.3, dtype=torch.float64) for _ in places]
    bent = [torch.linspace(0.5, 2.0, 15, dtype=torch.float64).view(5, 3) for _ in places]
    first[0][0, 0], bent[0][0, 0] = 0.0, -1.0
    first, bent = (
        [distribute_tensor(u, mesh, place) for u, place in zip(each, places, strict=True)]
        for each in (first, bent)
    )
    found = {}
    for name in ("auto", "agd-auto"):
        own = [torch.nn.Parameter(u.clone()) for u in first]
        opt = every()[name](own)

        def closure(opt=opt, own=own):
            opt.zero_grad()
            pairs = zip(own, bent, strict=True)
            loss = sum((c * p**2 / 2 + p**4 / 4).sum().full_tensor() for p, c in pairs)
            loss.backward()
            return loss

        went = train(opt, closure)
        with opt.iterate():
            found[name] = {**went, "at": whole_of(own)}
    return {**found, "both": tensor_parallel(mesh)}


def traffic_some():
    return traffic(["auto"])


def saves(queries=25):
    """Save in the middle, and go on."""
    found = {}
    for name in SAVED:
        net = spread(Net())
        opt = every()[name](net.parameters())
        train(opt, closure_of(opt, net, data()), queries)
        state = {"net": net.state_dict(), "opt": opt.state_dict()}
        dcp.save(state, checkpoint_id=on_ranks.FOLDER / f"checkpoint {name}")
        found[name] = ended(opt, net, train(opt, closure_of(opt, net, data()), queries))
    return found


def loads(queries=25):
    """Go on from there, on another mesh."""
    found = {}
    for name in SAVED:
        net = spread(Net())
        opt = every()[name](net.parameters())
        state = {"net": net.state_dict(), "opt": opt.state_dict()}
        dcp.load(state, checkpoint_id=on_ranks.FOLDER / f"checkpoint {name}")
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
        found[name] = ended(opt, net, train(opt, closure_of(opt, net, every_part()), queries))
    return found


def every_part():
    """The data of the two ranks that saved, also where one goes on."""
    return data(2)


def memory(rows=4096):
    """Numbers that this rank keeps for L-BFGS pairs and the window of Lanczos, and the rest."""
    mesh = init_device_mesh("cpu", (count(),))
    part = torch.nn.Parameter(distribute_tensor(torch.zeros(rows, 8), mesh, [Shard(0)]))
    opt = front.Auto([part])
    opt.state_dict()
    kept = 0

    def walk(it):
        nonlocal kept
        if isinstance(it, torch.Tensor):
            kept += it.numel()
        elif isinstance(it, (tuple, list)):
            for each in it:
                walk(each)

    walk(opt._session.state)
    return kept


for task in (
    traffic,
    traffic_some,
    sharded,
    sharded_some,
    sharded_to_the_end,
    sharded_in_orders,
    tensor_parallel,
    grid,
    saves,
    loads,
    memory,
):
    on_ranks.TASKS[task.__name__] = task
