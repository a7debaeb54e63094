"""What processes of a group do in the tests, ``python -m tests.torch.on_ranks FOLDER STAGES``.

The stages are lists of groups in JSON: those of a list run at once. A group is
``TASK,TASK:RANKS:TIME-OUT:tcp``; a task is a function that gives what JSON can hold. With ``tcp``
the first rank hosts the store, as without torchrun; else it is a file.
"""

import contextlib
import datetime
import json
import os
import socket
import subprocess
import sys
import traceback
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

import unsaddle.torch as front
from benchmarks.machines.problem import TO_END, Net, count, makers, rank
from tests import orphans

ROOT = Path(__file__).parents[2]
LIMIT = 40  # seconds: the time-out of a group
PATIENCE = 150  # seconds after which a rank is ended; a test takes a few
QUERIES = 60  # of a method that takes many to its end
ORDERS = (1, 3, 4, 6, 8, 12, 24)  # parts over which one process adds up its data, beside two
LONGEST = {"pagd": 800, "cdhs": 1000, "sgd+nc": 600, "neon2-online": 800, "pgd": 1300}
SHORT = {"auto": 100, "Escape(SGD)": 400, "Escape(LBFGS)": 400}


def data(parts=1):
    """Each rank has its own part; one process has all of them."""
    every = torch.linspace(0.5, 2.0, 24, dtype=torch.float64)
    return [every[rank() :: count()]] if count() > 1 else [every[k::parts] for k in range(parts)]


def closure_of(opt, model, own):
    def closure():
        opt.zero_grad()
        loss = sum(model(part) for part in own) / len(own)
        loss.backward()
        return loss

    return closure


def flat(params):
    return [v for p in params for v in p.detach().flatten().tolist()]


class EnoughError(Exception):
    """A test has seen enough."""


def train(opt, closure, queries=QUERIES):
    """Train until there is a certificate or for so many queries, and say how it went."""
    first = opt.queries

    def counted():
        if opt.queries - first >= queries:
            raise EnoughError
        return closure()

    with contextlib.suppress(EnoughError):
        while opt.certificate is None:
            opt.step(counted)
    shown = opt.certificate
    return {
        "holds": None if shown is None else shown.holds,
        "gamma": None if shown is None else shown.curvature_tol,
        "outcome": None if opt.outcome is None else opt.outcome.name,
        "queries": opt.queries,
    }


def replicated(parts=1, limits=SHORT):
    """Every method, each rank with its own loss; every other one under DDP."""
    queries = {name: limits.get(name, QUERIES) for name in makers()}
    found = {
        name: copied(name, parts, queries[name], ddp=k % 2 and count() > 1)
        for k, name in enumerate(makers())
    }
    net = Net()
    with torch.no_grad():
        net.parts[0][0, 0] = 1.0
    shown = front.certify(closure_of(net, net, data(parts)), net.parameters())
    found["certify"] = {"holds": shown.holds, "gamma": shown.curvature_tol}
    return found


def copied(name, parts, queries=QUERIES, ddp=False):
    """One method on a copy of the model."""
    net = Net()
    model = torch.nn.parallel.DistributedDataParallel(net) if ddp else net
    opt = makers()[name](net.parameters())
    found = train(opt, closure_of(opt, model, data(parts)), queries)
    with opt.iterate():
        return {**found, "at": flat(net.parameters())}


class Experts(Net):
    """Of which some data needs some parts only."""

    def forward(self, chosen):
        return sum((self.parts[k] - 1).square().sum() for k in chosen)


def experts(parts=1):
    """Each rank needs a part of its own, and none of them the third after three queries."""
    net = Experts()
    several = count() > 1
    model = (
        torch.nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
        if several
        else net
    )
    opt = front.Auto(net.parameters())

    def closure():
        opt.zero_grad()
        third = [2] if opt.queries < 3 else []
        own = [rank()] if several else range(parts)
        loss = sum(model([k, *third]) for k in own) / len(own)
        loss.backward()
        return loss

    return {**train(opt, closure), "at": flat(net.parameters())}


def to_the_end(parts=1):
    return replicated(parts, TO_END)


def to_the_last_end(parts=1):
    return replicated(parts, {**TO_END, **LONGEST})


def error_of(work):
    try:
        work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def own_runs():
    """A group of one: each rank trains for itself."""
    groups = [dist.new_group([r]) for r in range(count())]
    net = Net()
    opt = front.Auto(net.parameters(), seed=rank(), group=groups[rank()])
    found = train(opt, closure_of(opt, net, data()))
    wrong = front.Auto(net.parameters(), group=groups[rank() - 1])
    found["error"] = error_of(lambda: wrong.step(closure_of(wrong, net, data())))
    return found


TASKS = {it.__name__: it for it in (replicated, experts, to_the_end, to_the_last_end, own_runs)}
FOLDER = Path()  # in which tasks may write


def spawn(folder, *groups, patience=PATIENCE):
    """Run groups such as ``killed:3:10``, and give what each rank found; no process is left.

    One process imports torch, which takes seconds, and forks all others. Groups run one after
    another, but those of a tuple at once.
    """
    local = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    stages = [each if isinstance(each, tuple) else (each,) for each in groups]
    words = [sys.executable, "-m", "tests.torch.on_ranks", str(folder), json.dumps(stages)]
    with orphans.held() as stdin:
        first = subprocess.Popen(words, cwd=ROOT, env=local, stdin=stdin, start_new_session=True)
        try:
            assert first.wait(patience) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(first.pid, 9)
            first.wait()
    return {each: json.loads((Path(folder) / each).read_text()) for part in stages for each in part}


def forked(*works):
    """Do each in a process of its own, and wait for all."""
    children = []
    for work in works:
        if not (child := os.fork()):
            with contextlib.suppress(BaseException):
                work()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def run_group(folder, group):
    """Fork the ranks of one group, and write what they found."""
    tasks, ranks, *more = group.split(":")
    limit = int(more[0]) if more else LIMIT
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1] if "tcp" in more else None
    given = Path(folder) / group, tasks, int(ranks), limit, port
    forked(*(partial(run_rank, *given, own) for own in range(int(ranks))))
    paths = [Path(folder) / f"{group}-{own}" for own in range(int(ranks))]
    found = [json.loads(path.read_text()) if path.exists() else None for path in paths]
    (Path(folder) / group).write_text(json.dumps(found))


def run_rank(path, tasks, ranks, limit, port, own):
    global FOLDER
    FOLDER = path.parent
    store = f"file://{path}-store" if port is None else f"tcp://127.0.0.1:{port}"
    dist.init_process_group(
        "gloo", init_method=store, rank=own, world_size=ranks,
        timeout=datetime.timedelta(seconds=limit),
    )  # fmt: skip
    found = {}
    for task in tasks.split(","):
        try:
            found[task] = TASKS[task]()
        except Exception:
            found[task] = traceback.format_exc()
        path.with_name(f"{path.name}-{own}").write_text(json.dumps(found))


def main(folder, stages):
    orphans.end_with_parent()
    torch.set_num_threads(1)
    front.Auto([torch.nn.Parameter(torch.zeros(1))])  # imports what torch imports at last
    for groups in json.loads(stages):
        forked(*(partial(run_group, folder, group) for group in groups))


if __name__ == "__main__":
    from tests.torch import on_failures, on_meshes, on_ranks  # noqa: F401

    on_ranks.main(*sys.argv[1:])
