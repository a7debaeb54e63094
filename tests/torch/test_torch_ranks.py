"""Several processes go through one run: as one would, or to the same error on every rank."""

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

from benchmarks.machines.problem import TO_END  # noqa: E402
from tests.torch import on_ranks  # noqa: E402

SHARED = "replicated,own_runs:2"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return on_ranks.spawn(tmp_path_factory.mktemp("ranks"), SHARED)


def as_one(ranks, alone, near=None):
    """Every rank found the same, and what one process finds from the mean of their losses.

    Iterates agree to 1e-10, and gammas, which some methods measure by differences, to 1e-6.
    """
    assert all(each == ranks[0] for each in ranks)
    assert ranks[0].keys() == alone.keys()
    for name, one in alone.items():
        one, other = dict(one), dict(ranks[0][name])
        if "at" in one:
            most = (near or {}).get(name, 1e-10)
            assert other.pop("at") == pytest.approx(one.pop("at"), rel=0, abs=most), name
        gammas = [each.pop("gamma") for each in (one, other)]
        if gammas[0] is not None:
            assert gammas.pop() == pytest.approx(gammas.pop(), rel=1e-6), name
        assert other == one, name


def reordered(name, one, parts=(1, 3, 4, 8)):
    """Say how far one process is from itself where the sums over its data are in other orders."""
    others = [on_ranks.copied(name, each)["at"] for each in parts]
    return max(abs(a - b) for at in others for a, b in zip(at, one["at"], strict=True))


@pytest.mark.slow
def test_two_ranks_are_one_run_for_every_method(found):
    """But for cdhs: after so few queries it is where a jump along differences has brought it.

    A difference of gradients has their rounding over the radius, so that one process is apart from
    itself by 6e-10 there if it adds up in another order. To its end it agrees (nightly).
    """
    one = on_ranks.replicated(2)
    own = reordered("cdhs", one["cdhs"])
    assert 1e-10 < own < 1e-8
    as_one([each["replicated"] for each in found[SHARED]], one, {"cdhs": 1e-8})


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("ranks", "task"), [(2, "to_the_last_end"), (4, "to_the_end"), (8, "to_the_end")]
)
def test_ranks_are_one_run_to_the_end_of_every_method(tmp_path, ranks, task):
    group = f"{task}:{ranks}"
    there = on_ranks.spawn(tmp_path, group, patience=1500)[group]
    one = on_ranks.TASKS[task](ranks)
    ends = {**TO_END, **(on_ranks.LONGEST if "last" in task else {})}
    assert all(one[name]["outcome"] or one[name]["holds"] for name in ends)
    near = {} if "last" in task else {"cdhs": 1e-8}
    as_one([each[task] for each in there], one, near)


@pytest.mark.slow
def test_a_group_of_its_own_trains_for_itself(found):
    one, other = (each["own_runs"] for each in found[SHARED])
    assert one["outcome"] == other["outcome"] == "CERTIFIED"
    assert one["gamma"] != other["gamma"]  # their data differs
    assert "group must be a process group that this rank is in" in one["error"]
