"""Sharded parameters: the same run whatever the mesh, and checkpoints that another mesh loads."""

import json
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

from benchmarks.machines.__main__ import RESULTS  # noqa: E402
from tests.torch import on_ranks  # noqa: E402
from tests.torch.test_torch_ranks import as_one  # noqa: E402

ONE, TWO, FEWER, MORE = (
    "sharded_some:1",
    "sharded_some,memory,saves,traffic_some:2",
    "loads:1",
    "loads:3",
)
LINEAR = "memory,tensor_parallel:1", "tensor_parallel:2"
END = "sharded_to_the_end"
ALONE = f"{END},sharded_in_orders:1"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    return on_ranks.spawn(folder, (ONE, *LINEAR), TWO, (FEWER, MORE), patience=400)


@pytest.mark.slow
def test_two_ranks_of_fsdp_are_one(found):
    as_one([each["sharded_some"] for each in found[TWO]], found[ONE][0]["sharded_some"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process finds to the end of every method."""
    return on_ranks.spawn(tmp_path_factory.mktemp("alone"), ALONE, patience=600)[ALONE][0]


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_any_number_of_ranks_is_one_for_every_method(tmp_path, alone, ranks):
    """With four and more, some have no part of a tensor of three rows.

    Eight wake each other some hundred times at a query, for FSDP2 more than for us: on two cores a
    query takes 45 ms of theirs, and there are 2,200.
    """
    group = f"{END}:{ranks}"
    there = on_ranks.spawn(tmp_path, group, patience=1500)[group]
    as_one([each[END] for each in there], alone[END], alone["sharded_in_orders"])


@pytest.mark.slow
def test_tensor_parallel_layers_leave_their_saddle_as_one_process_does(found):
    """Products of matrices add up in another order; their minima are no points, but a surface."""
    one = found[LINEAR[0]][0]["tensor_parallel"]
    for each in found[LINEAR[1]]:
        other = each["tensor_parallel"]
        assert other["at"] == pytest.approx(one["at"], rel=0, abs=1e-8)
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-10)
        assert one["loss"] < 0.65  # of about 1 at the saddle


@pytest.mark.nightly
def test_tensors_spread_over_two_by_two_ranks_are_one_run(tmp_path):
    """Also FSDP2 over tensor parallel layers, whose parts are strided."""
    there = on_ranks.spawn(tmp_path, "grid:1", "grid:4", patience=600)
    (one,), others = there["grid:1"], [each["grid"] for each in there["grid:4"]]
    both = [each.pop("both") for each in (one["grid"], *others)]
    as_one(others, one["grid"])
    for each in both[1:]:
        assert each["at"] == pytest.approx(both[0]["at"], rel=0, abs=1e-8)
        assert each["loss"] == pytest.approx(both[0]["loss"], rel=1e-10)


@pytest.mark.slow
def test_a_checkpoint_goes_on_to_the_same_end_on_fewer_and_on_more_ranks(found):
    kept = found[TWO][0]["saves"]
    for group in (FEWER, MORE):
        for each in found[group]:
            for name, went in each["loads"].items():
                assert went["at"] == pytest.approx(kept[name]["at"], rel=0, abs=1e-10), name
                assert went["queries"] == kept[name]["queries"], name
                assert went["holds"] == kept[name]["holds"], name


@pytest.mark.slow
def test_memory_falls_with_the_number_of_ranks(found):
    alone = found[LINEAR[0]][0]["memory"]
    assert [each["memory"] for each in found[TWO]] == [alone // 2] * 2


def as_on_the_page(sent):
    """What is sent at most queries, and in a search of as many queries, is what the page says."""
    page = json.loads(RESULTS.read_text())["traffic"]["2"]
    for kind, methods in sent.items():
        for name, own in methods.items():
            there = page[kind][name]
            for which in ("descent", "search"):
                assert (which in own) == (which in there)
                for key in ("calls", "least") if which in own else ():
                    assert own[which][key] == there[which][key], name
            if "whole" in own and own["whole"]["queries"] == there["whole"]["queries"]:
                assert own["whole"] == there["whole"], name


@pytest.mark.slow
def test_what_ranks_send_is_what_the_page_says(found):
    """Counted at every collective: copies send 40 bytes in one call at every query."""
    for each in found[TWO]:
        as_on_the_page(each["traffic_some"])
        for own in each["traffic_some"]["copies"].values():
            for which in ("descent", "search"):
                assert own[which] == {"calls": 1, "least": 40, "most": 40}
            assert own["whole"]["bytes"] == 40 * own["whole"]["queries"]


@pytest.mark.nightly
def test_what_every_method_sends_is_what_the_page_says(tmp_path):
    (one, other) = on_ranks.spawn(tmp_path, "traffic:2", patience=1500)["traffic:2"]
    assert one == other
    as_on_the_page(one["traffic"])


def test_noise_is_a_function_of_the_place(monkeypatch):
    from unsaddle.torch import shards

    whole = torch.zeros(6, 5, 4, dtype=torch.float64)
    drawn = shards.normal(whole, 3, 7, 11)
    assert torch.equal(drawn, shards.normal(whole, 3, 7, 11))
    assert not torch.equal(drawn, shards.normal(whole, 3, 7, 12))
    assert abs(float(shards.normal(torch.zeros(10**5), 0, 0, 0).var()) - 1) < 0.03
    for offset, shape in [((2, 0, 0), (3, 5, 4)), ((0, 1, 0), (6, 2, 4)), ((1, 2, 1), (4, 3, 2))]:
        monkeypatch.setattr(shards, "_place", lambda p, at=(shape, offset): at)
        monkeypatch.setattr(shards, "local", lambda p, s=shape: torch.zeros(s, dtype=p.dtype))
        monkeypatch.setattr(shards, "TUNING", shards.Tuning(chunk=7))
        i, j, k = (slice(a, a + n) for a, n in zip(offset, shape, strict=True))
        assert torch.equal(shards.normal(whole, 3, 7, 11), drawn[i, j, k])


def test_a_rank_without_a_part_of_a_tensor_has_empty_vectors():
    from unsaddle.torch.ops import ops

    none, two = torch.zeros(0, 3, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    block = ops.set_vector(ops.vectors([none, two], 4), 1, [none, two])
    assert [tuple(part.shape) for part in block] == [(4, 0, 3), (4, 2)]
    assert [*ops.inner_products(block, 2, [none, two])] == [0, 2, 0, 0]


def test_parts_of_fsdp_over_tensor_parallel_layers_are_each_on_one_rank():
    """FSDP2 calls them strided, which torch does not count among the shards."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.placement_types import _StridedShard

    from unsaddle.torch import shards

    strided = _StridedShard(0, split_factor=2)
    mesh, four = SimpleNamespace(size=lambda k: 2), SimpleNamespace(count=4)
    for places, times in (
        ([strided, Shard(0)], 1),
        ([Shard(0), Replicate()], 2),
        ([Replicate(), Replicate()], 4),
    ):
        assert shards.copies(SimpleNamespace(device_mesh=mesh, placements=places), four) == times
    moved = shards._behind(strided, 1)
    assert (moved.dim, moved.split_factor) == (1, 2)
    assert shards._behind(Shard(0), 1) == Shard(1)
