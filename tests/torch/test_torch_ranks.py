"""Several processes go through one run: as one would, or to the same error on every rank."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

from benchmarks.machines.problem import TO_END  # noqa: E402
from tests.torch import on_ranks  # noqa: E402
from unsaddle.torch import ranks  # noqa: E402
from unsaddle.torch.marks import fingerprint  # noqa: E402
from unsaddle.torch.ranks import Ranks  # noqa: E402

SHARED = "replicated,experts,own_runs:2"
DIFFERENCES = {  # at most, between ranks and one process, where rounding over a short step decides
    "cdhs": 1e-8,  # of x, to which a jump along a difference has led: 8e-10 in 60 orders of a sum
    "agd-auto": 1e-4,  # of gamma = sqrt(rho eps), rho a second difference over 2e-6: 2e-5 in 60
    "Escape(SGD)": 0.4,  # likewise over 2e-8, all rounding: 1.52e-3 to 2.00e-3 in 90, x to 1e-16
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return on_ranks.spawn(tmp_path_factory.mktemp("ranks"), SHARED)


def as_one(ranks, alone, orders=None):
    """Every rank found the same, and what one process finds from the mean of their losses.

    Iterates agree to 1e-10, and gammas to 1e-6. Three methods go by differences over short steps,
    in which rounding is divided by the step or by its square, so that one process is further apart
    from itself where it adds up its data in other ``orders``. Ranks may be so by four times as
    much, but not by more than ``DIFFERENCES`` says. All else is the same also there: outcomes,
    whether there is a certificate, and the number of queries.
    """
    assert all(each == ranks[0] for each in ranks)
    assert ranks[0].keys() == alone.keys()
    for name, one in alone.items():
        there, others = ranks[0][name], (orders or {}).get(name, [])
        for key, (apart, least) in {"at": (gap, 1e-10), "gamma": (change, 1e-6)}.items():
            if one.get(key) is not None:
                own = max((apart(one, each) for each in others), default=0.0)
                most = max(least, min(4 * own, DIFFERENCES.get(name, 0.0)))
                assert apart(one, there) <= most, (name, key, own)
        for key in one.keys() - {"at"}:
            found = [each[key] is None if key == "gamma" else each[key] for each in (one, there)]
            assert found[0] == found[1], (name, key)


def gap(one, other):
    """Largest difference of two iterates."""
    return max(abs(a - b) for a, b in zip(one["at"], other["at"], strict=True))


def change(one, other):
    """Relative difference of two gammas."""
    return abs(other["gamma"] / one["gamma"] - 1)


def in_orders(name, queries=on_ranks.QUERIES):
    """One process adds up its data in other orders."""
    return [on_ranks.copied(name, parts, queries) for parts in on_ranks.ORDERS]


@pytest.mark.slow
def test_two_ranks_are_one_run_for_every_method(found):
    one = on_ranks.replicated(2)
    orders = {"cdhs": in_orders("cdhs")}
    assert max(gap(one["cdhs"], each) for each in orders["cdhs"]) > 1e-10
    as_one([each["replicated"] for each in found[SHARED]], one, orders)


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
    orders = {name: in_orders(name, ends[name]) for name in ("agd-auto", "Escape(SGD)")}
    for name, others in orders.items():
        assert max(change(one[name], each) for each in others) > 1e-6
    if "last" not in task:
        orders["cdhs"] = in_orders("cdhs")
    as_one([each[task] for each in there], one, orders)


@pytest.mark.slow
def test_parameters_that_only_some_ranks_need_have_gradients_by_ddp(found):
    """One that none of them needs has none, which is zero."""
    as_one([{"auto": each["experts"]} for each in found[SHARED]], {"auto": on_ranks.experts(2)})


@pytest.mark.slow
def test_a_group_of_its_own_trains_for_itself(found):
    one, other = (each["own_runs"] for each in found[SHARED])
    assert one["outcome"] == other["outcome"] == "CERTIFIED"
    assert one["gamma"] != other["gamma"]  # their data differs
    assert "group must be a process group that this rank is in" in one["error"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_gradients_that_differ_in_a_number_or_in_its_place_have_other_fingerprints(dtype):
    """Also in a small tensor beside a large one, whose rounding would hide the change."""
    draw = torch.Generator().manual_seed(0)
    shapes, sizes = [(100, 100), (7,), (64, 64), (0, 3), (64, 64), (5000,)], [1, 1e-6, 1, 1, 1, 1e6]
    whole = [
        (size * torch.randn(shape, generator=draw)).to(dtype)
        for shape, size in zip(shapes, sizes, strict=True)
    ]
    same = fingerprint(whole)
    assert fingerprint([u.clone() for u in whole]) == same
    for i, u in enumerate(whole):
        for place in (0, u.numel() - 1) if u.numel() else ():
            other = [v.clone() for v in whole]
            other[i].view(-1)[place] *= 1.25
            assert fingerprint(other) != same
    assert fingerprint([whole[k] for k in (0, 1, 4, 3, 2, 5)]) != same
    assert fingerprint([u.flip(0) for u in whole]) != same
    assert fingerprint([]) == fingerprint([torch.zeros(0)]) == 0


def test_what_is_computed_while_ranks_add_up_is_not_of_gradients_before_their_mean(monkeypatch):
    """Two ranks, of which the other one has the same gradient, then another, then any."""
    two, apart, calls = Ranks(), 0.0, []
    two.several, two.count = True, 2

    def all_reduce(row, group=None, async_op=False):
        row.mul_(2)
        row[1] += apart
        calls.append("sum")
        return SimpleNamespace(wait=lambda: calls.append("wait"))

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.ones(3)

    def answer():
        return two.together(5.0, [parameter], "cpu", {"query": "1"}, lambda: calls.append("norm"))

    def number():
        return two.together(5.0, [parameter], "cpu", {"query": "1"}, lambda: 7.0)

    assert number() == (5.0, 7.0)
    answer()
    assert calls[2:] == ["sum", "norm", "wait"]
    apart = 2.0
    assert number() == (5.0, None)
    calls.clear()
    answer()
    assert calls == ["sum", "wait", "sum"]


def test_python_gives_threads_of_gloo_time_before_it_ends(monkeypatch):
    """Without it 2 of 10 runs of the script in machines.md on two ranks were aborted at the end."""
    at_end = []
    monkeypatch.setattr("atexit.register", lambda *words: at_end.append(words))
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda group: 2)
    ranks._wait_at_exit.cache_clear()
    assert Ranks().several
    assert Ranks().several
    ranks._wait_at_exit.cache_clear()
    assert at_end == [(ranks.sleep, ranks.TUNING.parting)]
