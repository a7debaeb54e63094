"""What goes wrong on ranks, and how it goes on; they are started as in ``on_ranks``."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import unsaddle.torch as front
from benchmarks.machines.problem import Net, count, escape, rank, spread
from tests.torch import on_meshes, on_ranks
from tests.torch.on_meshes import ended
from tests.torch.on_ranks import closure_of, data, error_of, train

DIES = 16  # queries after which a rank is killed; the last checkpoint is of the twelfth
EVERY = 4  # queries, after which there is a checkpoint
PLACES = {"replicated": lambda net: net, "sharded": spread}


def silent(net, opt, closure):
    """The first rank has no gradients."""

    def closed():
        loss = closure()
        if not rank():
            net.zero_grad()
        return loss

    return closed


def later(ranks, parts):
    """Some ranks lose the gradients of some parameters after two queries."""

    def change(net, opt, closure):
        def closed():
            loss = closure()
            if opt.queries > 1 and rank() in ranks:
                for k in parts:
                    net.parts[k].grad = None
            return loss

        return closed

    return change


def one_nan(net, opt, closure):
    return lambda: closure() * (float("nan") if rank() == 1 and opt.queries == 0 else 1)


def other_part(net, opt, closure):
    """Ranks that call backward on losses of other parameters."""

    def closed():
        loss = closure()
        net.parts[rank() % 2].grad = None
        return loss

    return closed


def no_loss(net, opt, closure):
    """A closure that returns its loss, and one that does not."""
    return lambda: closure() if rank() else closure() and None


def moved(net, opt, closure):
    with torch.no_grad():
        net.parts[1] += rank()
    return closure


def drifting(net, opt, closure):
    def drifts():
        with torch.no_grad():
            net.parts[1] += 1e-9 * rank() * (opt.queries > 0)
        return closure()

    return drifts


def bad_input(place=lambda net: net):
    """What must be the same on every rank and is not."""
    found = {}

    def step(name, make=front.Auto, change=None, **settings):
        net = place(Net())
        opt = make(net.parameters(), **settings)
        closure = closure_of(opt, net, data())
        if change is not None:
            closure = change(net, opt, closure)
        found[name] = error_of(lambda: train(opt, closure))

    step("seeds", seed=rank())
    step("settings", tol=1e-3 * (1 + rank()))
    step("methods", (front.Auto, front.AGDAuto)[rank() % 2])
    step("no gradient", change=silent)
    step("other gradients", change=other_part)
    step("no gradient later", change=later([1], [0, 1, 2]))
    step("fewer gradients later", change=later([1], [2]))
    step("no gradient anywhere", change=later([0, 1], [0, 1, 2]))
    step("no loss", change=no_loss)
    step("nan", change=one_nan)
    if place is not spread:  # its parts differ, as they should
        step("moved", change=moved)
        step("drifting", escape, change=drifting, tol=1e-2)
    net = place(Net())
    opt = front.Auto(net.parameters())
    closure = closure_of(opt, net, data())
    given = {"closure": closure} if rank() else {"loss": closure()}
    found["ways"] = error_of(lambda: opt.step(**given))
    net = place(Net())
    opt, new = (front.Auto(net.parameters()) for _ in range(2))
    train(opt, closure_of(opt, net, data()), 3)
    if rank():
        new.load_state_dict(opt.state_dict())
    found["loaded"] = error_of(lambda: train(new, closure_of(new, net, data())))
    net = place(Net())
    nothing = silent(net, net, closure_of(net, net, data()))
    found["certify"] = error_of(lambda: front.certify(nothing, net.parameters()))
    return found


def budgets():
    """Searches that may take so many gradients each."""
    net = Net()
    closure = closure_of(net, net, data())
    return error_of(lambda: front.certify(closure, net.parameters(), max_gradients=9 + rank()))


def bad_input_sharded():
    return bad_input(spread)


def stepped(parts):
    """Give the error of a first step, with the sum of squares as loss."""
    opt = front.Auto(parts)

    def closure():
        opt.zero_grad()
        losses = [p.square().sum() for p in parts]
        loss = sum(it.full_tensor() if hasattr(it, "full_tensor") else it for it in losses)
        loss.backward()
        return loss

    return error_of(lambda: opt.step(closure))


def mixed():
    """Parameters on two meshes, one of them of this rank alone; or spread in two ways."""
    one = init_device_mesh("cpu", (count(),))
    alone = [dist.new_group([r]) for r in range(count())]
    other = DeviceMesh.from_group(alone[rank()], "cpu")

    def placed(mesh, place=None):
        return torch.nn.Parameter(distribute_tensor(torch.ones(4), mesh, [place or Shard(0)]))

    both = [placed(one), placed(one, Replicate())]
    part = [torch.nn.Parameter(p.detach()) for p in (both if rank() else both[::-1])]
    return {"meshes": stepped([placed(one), placed(other)]), "places": stepped(part)}


def unmatched():
    """The closure of one rank waits for what the others never send."""
    net = Net()
    opt = front.Auto(net.parameters())
    plain = closure_of(opt, net, data())

    def closure():
        if rank() == 1 and opt.queries == 3:
            dist.barrier()
        return plain()

    return error_of(lambda: train(opt, closure))


def killed(last=True):
    """The last rank dies in the middle of a training, or the first; the others say so."""
    net = Net()
    opt = front.AGDAuto(net.parameters())
    plain = closure_of(opt, net, data())

    def closure():
        if rank() == (count() - 1 if last else 0) and opt.queries == 5:
            os.kill(os.getpid(), 9)
        return plain()

    return error_of(lambda: train(opt, closure))


def killed_first():
    return killed(last=False)


def failing(fail):
    """Something fails on the second rank, which ends; give what the first one says."""
    net = Net()
    opt = front.AGDAuto(net.parameters())
    plain = closure_of(opt, net, data())

    def closure():
        loss = plain()
        return fail(net) if rank() == 1 and opt.queries == 5 else loss

    try:
        train(opt, closure)
    except Exception as error:
        if rank() == 1:
            os._exit(1)
        return str(error)


def raises():
    """The closure of one rank fails."""

    def fail(net):
        raise KeyError("no such file")

    return failing(fail)


def no_number():
    """The loss of one rank is no number."""
    return failing(lambda net: "none")


def sparse():
    """A gradient of one rank is sparse."""

    def fail(net):
        net.parts[1].grad = net.parts[1].grad.to_sparse()
        return torch.tensor(0.0)

    return failing(fail)


def whole_data():
    """All data on every rank: a run is the same on fewer of them."""
    return [torch.linspace(0.5, 2.0, 24, dtype=torch.float64)]


def made(kind):
    net = PLACES[kind](Net())
    return net, on_meshes.every()["auto"](net.parameters())


def save(kind, net, opt):
    """Write a checkpoint, as a whole or not at all."""
    folder = on_ranks.FOLDER / f"of {kind}"
    state = {"net": net.state_dict(), "opt": opt.state_dict()}
    if kind == "sharded":
        dcp.save(state, checkpoint_id=folder / str(opt.queries))
    elif not rank():
        folder.mkdir(exist_ok=True)
        torch.save(state, on_ranks.FOLDER / "unfinished")
        os.replace(on_ranks.FOLDER / "unfinished", folder / str(opt.queries))


def interrupted(kind):
    """Save every few queries until the last rank dies."""
    net, opt = made(kind)
    plain = closure_of(opt, net, whole_data())

    def closure():
        if rank() == count() - 1 and opt.queries >= DIES:
            os.kill(os.getpid(), 9)
        return plain()

    def trained():
        while True:
            train(opt, closure, EVERY)
            save(kind, net, opt)

    return error_of(trained)


def resumed(kind):
    """Go on from the last checkpoint to the end; without one, from the beginning."""
    net, opt = made(kind)
    folder = on_ranks.FOLDER / f"of {kind}"
    state = {"net": net.state_dict(), "opt": opt.state_dict()}
    if folder.exists():
        last = max((path for path in folder.iterdir()), key=lambda path: int(path.name))
        if kind == "sharded":
            dcp.load(state, checkpoint_id=last)
        else:
            state = torch.load(last, weights_only=False)
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
    went = {"from": opt.queries, **train(opt, closure_of(opt, net, whole_data()), 100)}
    if kind == "sharded":
        return ended(opt, net, went)
    return {**went, "at": on_ranks.flat(net.parameters())}


def interrupted_copies():
    return interrupted("replicated")


def resumed_copies():
    return resumed("replicated")


def interrupted_parts():
    return interrupted("sharded")


def resumed_parts():
    return resumed("sharded")


for task in (
    bad_input, bad_input_sharded, budgets, mixed, unmatched, killed, killed_first, raises,
    no_number, sparse,
    interrupted_copies, interrupted_parts, resumed_copies, resumed_parts,
):  # fmt: skip
    on_ranks.TASKS[task.__name__] = task
