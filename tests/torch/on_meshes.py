"""What processes with sharded parameters do in the tests; they are started as in ``on_ranks``."""

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import unsaddle.torch as front
from tests.torch import on_ranks
from tests.torch.on_ranks import Net, closure_of, count, data, error_of, makers, rank, train
from unsaddle.core.phases import BEGIN, name_of

SAVED = ("auto", "agd-auto", "Escape(Adam)")


def spread(net):
    """FSDP2 over all ranks: tensors of 5, 7 and 3 rows, of which some ranks have none."""
    return fully_shard(net, mesh=init_device_mesh("cpu", (count(),)))


def whole(params):
    return [v for p in params for v in p.full_tensor().detach().flatten().tolist()]


def ended(opt, net, found):
    with opt.iterate():
        return {**found, "at": whole(net.parameters())}


def every():
    """Give all but torch's LBFGS, which takes no sharded parameters."""
    adam = {"Escape(Adam)": lambda params: on_ranks.escape(params, torch.optim.Adam)}
    return {name: it for name, it in {**makers(), **adam}.items() if "LBFGS" not in name}


def sharded_some():
    """What differs most: flat vectors, none, Lanczos, samples, an optimiser inside."""
    return sharded(("auto", "agd-auto", "agd+lanczos", "pgd", "psgd", "Escape(Adam)"))


def sharded(names=None, parts=2):
    """Every method on FSDP2, and what certify says; one process has the data of two."""
    found = {}
    for name, make in every().items():
        if names is not None and name not in names:
            continue
        net = spread(Net())
        opt = make(net.parameters())
        found[name] = ended(opt, net, train(opt, closure_of(opt, net, data(parts))))
    net = Net()
    with torch.no_grad():
        net.parts[0][0, 0] = 1.0
    spread(net)
    shown = front.certify(closure_of(net, net, data(parts)), net.parameters())
    found["certify"] = {"holds": shown.holds, "gamma": shown.curvature_tol}
    return found


def tensor_parallel():
    """Two linear layers at zero, a saddle: one by columns, one by rows, one bias whole."""
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)).double()
    for p in net.parameters():
        torch.nn.init.zeros_(p)
    mesh = init_device_mesh("cpu", (count(),))
    parallelize_module(net, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
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


def mixed():
    """Parameters on two meshes, one of which is this rank alone."""
    one = init_device_mesh("cpu", (count(),))
    alone = [dist.new_group([r]) for r in range(count())]
    other = DeviceMesh.from_group(alone[rank()], "cpu")
    parts = [
        torch.nn.Parameter(distribute_tensor(torch.ones(4), mesh, [Shard(0)]))
        for mesh in (one, other)
    ]
    opt = front.Auto(parts)

    def closure():
        opt.zero_grad()
        loss = sum(p.square().sum().full_tensor() for p in parts)
        loss.backward()
        return loss

    return error_of(lambda: opt.step(closure))


def traffic():
    """Count what unsaddle adds up over the ranks: calls and numbers of a query, by its kind."""
    found, log, plain = {}, [], dist.all_reduce

    def counted(tensor, *args, **given):
        log.append(tensor.numel())
        return plain(tensor, *args, **given)

    torch.distributed.all_reduce = counted
    for name, make in every().items():
        for kind, place in {"sharded": spread, "replicated": lambda net: net}.items():
            net = place(Net())
            opt, seen = make(net.parameters()), {}
            closure = closure_of(opt, net, [data()[0] * 0 + 1.0])  # the same gradients on all ranks

            def between(opt=opt, closure=closure, seen=seen):
                if log and between.last is not None:
                    seen.setdefault(between.last, []).append([len(log), sum(log)])
                log.clear()
                between.last = "search" if opt.phase in searching(opt) else "descent"
                return closure()

            between.last = None
            train(opt, between, 80)
            log.clear()
            found[f"{name} {kind}"] = {
                which: {"most": max(each[1] for each in rows), "calls": max(r[0] for r in rows),
                        "mean": round(sum(each[1] for each in rows) / len(rows), 1)}
                for which, rows in seen.items()
            }  # fmt: skip
    torch.distributed.all_reduce = plain
    return found


def searching(opt):
    """Give the names of the phases that belong to escapes and proofs."""
    return {name_of(code) for code in opt.solver.phases if code >= BEGIN}


for task in (traffic, sharded, sharded_some, tensor_parallel, saves, loads, memory, mixed):
    on_ranks.TASKS[task.__name__] = task
