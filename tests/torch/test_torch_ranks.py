"""Two ranks: what they do not share is refused on both at once, and what they share works."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

RANKS = 2
PATIENCE = 120  # seconds after which a rank is ended; it takes a few
WORKER = """
import datetime, json, sys
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
import unsaddle.torch as front

torch.set_num_threads(1)
rank, store = int(sys.argv[1]), sys.argv[2]
limit = datetime.timedelta(seconds=60)
dist.init_process_group(
    "gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=limit
)
data = torch.linspace(0.5, 2.0, 8, dtype=torch.float64)[rank::2]  # each rank has half of it


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.at = torch.nn.Parameter(torch.tensor([1.0, 0.0], dtype=torch.float64))

    def forward(self, data):
        x, y = self.at
        return (data * x**2 / 2 - y**2 / 2 + data * y**4 / 4).mean()


def train(make, averaged, reduced):
    net = Net()
    model = torch.nn.parallel.DistributedDataParallel(net) if averaged else net
    opt = make(net.parameters())

    def closure():
        opt.zero_grad()
        loss = model(data)
        loss.backward()
        loss = loss.detach()
        if reduced:
            dist.all_reduce(loss, op=dist.ReduceOp.AVG)
        return loss

    try:
        for _ in range(500):
            opt.step(closure)
            if opt.certificate is not None:
                break
    except ValueError as error:
        return str(error)
    return [opt.certificate.holds, opt.queries, [v.hex() for v in net.at.tolist()]]


def sharded():
    mesh = init_device_mesh("cpu", (2,))
    part = torch.nn.Parameter(distribute_tensor(torch.ones(4), mesh, [Shard(0)]))
    try:
        front.Auto([part])
    except TypeError as error:
        return str(error)


def escape(params):
    return front.Escape(torch.optim.SGD(params, lr=0.2), tol=1e-2)


def constants(params):
    return front.PGDNC(params, smoothness=6.0, hessian_lipschitz=9.0, tol=1e-2)


found = {"sharded": sharded()}
for make in (front.Auto, constants, escape):
    for averaged, reduced in ((True, True), (True, False), (False, True)):
        found[f"{make.__name__} {averaged} {reduced}"] = train(make, averaged, reduced)
dist.destroy_process_group()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What both ranks found; no process is left, whatever happens."""
    store = tmp_path_factory.mktemp("ranks") / "store"
    local = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(store)],
            env=local,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    try:
        told = [rank.communicate(timeout=PATIENCE) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert [rank.returncode for rank in ranks] == [0] * RANKS, told
    return [json.loads(out) for out, _ in told]


each = pytest.mark.parametrize("make", ["Auto", "constants", "escape"])


@pytest.mark.slow
@each
def test_a_loss_that_is_reduced_works_bit_for_bit(found, make):
    one, other = (each[f"{make} True True"] for each in found)
    assert one == other
    assert one[0] is True
    assert abs(abs(float.fromhex(one[2][1])) - 0.894) < 0.02  # y^2 = 1 / (the mean of the data)


@pytest.mark.slow
@each
@pytest.mark.parametrize(
    ("case", "what"), [("True False", "loss"), ("False True", "gradient norm")]
)
def test_what_ranks_do_not_share_is_refused_on_both(found, make, case, what):
    one, other = (each[f"{make} {case}"] for each in found)
    assert one == other
    assert f"the {what} must be the same on every rank, got" in one
    assert "torch.distributed.all_reduce(loss, op=ReduceOp.AVG)" in one


@pytest.mark.slow
def test_sharded_parameters_are_refused(found):
    for each in found:
        assert "got a DTensor" in each["sharded"]
        assert "DistributedDataParallel" in each["sharded"]
