"""Several processes go through one run: as one would, or to the same error on every rank."""

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

from tests.torch import on_ranks  # noqa: E402

SHARED, KILLED, RAISED = "replicated,bad_input,own_runs:2", "killed:3:10", "raises:2:10"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return on_ranks.spawn(tmp_path_factory.mktemp("ranks"), SHARED, KILLED, RAISED)


ROUNDED = ("Escape(SGD)", "Escape(LBFGS)")  # jump along a direction that differences have shown
NEAR = {"cdhs": 1e-8}  # likewise, and it ends at tol = 1e-2, where no descent has made up for that


def as_one(ranks, alone, rounded=()):
    """Every rank found the same, and what one process finds from the mean of their losses.

    Where sums are in another order, differences of gradients differ by rounding over the radius.
    """
    assert all(each == ranks[0] for each in ranks)
    assert ranks[0].keys() == alone.keys()
    for name, one in alone.items():
        one, other = dict(one), dict(ranks[0][name])
        if name in rounded:
            assert other["holds"] == one["holds"], name
            assert other["at"] == pytest.approx(one["at"], rel=0, abs=1e-4), name
            continue
        if "at" in one:
            near = NEAR.get(name, 1e-10)
            assert other.pop("at") == pytest.approx(one.pop("at"), rel=0, abs=near), name
        gammas = [each.pop("gamma") for each in (one, other)]
        if gammas[0] is not None:
            assert gammas.pop() == pytest.approx(gammas.pop(), rel=1e-6), name
        assert other == one, name


@pytest.mark.slow
def test_two_ranks_are_one_run_for_every_method(found):
    as_one([each["replicated"] for each in found[SHARED]], on_ranks.replicated(2))


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [3, 4, 8])
def test_more_ranks_are_one_run_for_every_method(tmp_path, ranks):
    group = f"replicated:{ranks}"
    there = on_ranks.spawn(tmp_path, group, patience=900)[group]
    as_one([each["replicated"] for each in there], on_ranks.replicated(ranks), ROUNDED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("seeds", "ValueError: seed must be the same on every rank, got 0 on rank 0; 1 on rank 1"),
        ("settings", "got tolerance=0.001 on rank 0; tolerance=0.002 on rank 1: pass the same"),
        ("methods", "optimiser must be the same on every rank, got Auto on rank 0; AGDAuto on"),
        ("no gradient", "gradients must be the same on every rank, got [] on rank 0; [0, 1, 2] on"),
        ("nan", "NotFiniteError: the loss is nan: the parameters are as they were"),
        ("moved", "parameters must be the same on every rank, got checksum"),
        ("drifting", "or call torch.distributed.broadcast(p.data, 0) for each of them"),
        ("ways", "loss given must be the same on every rank, got as it is on rank 0; by a closure"),
        ("certify", "let every rank call backward() on a loss of the same parameters"),
    ],
)
def test_what_is_not_the_same_is_an_error_on_every_rank(found, case, words):
    one, other = (each["bad_input"][case] for each in found[SHARED])
    assert one == other
    assert words in one


@pytest.mark.slow
def test_a_group_of_its_own_trains_for_itself(found):
    one, other = (each["own_runs"] for each in found[SHARED])
    assert one["outcome"] == other["outcome"] == "CERTIFIED"
    assert one["gamma"] != other["gamma"]  # their data differs
    assert "group must be a process group that this rank is in" in one["error"]


@pytest.mark.slow
def test_a_rank_that_was_killed_is_named_by_all_others(found):
    *others, last = found[KILLED]
    assert last is None
    said = "LostRankError: rank 2 no longer answers; go on from the last checkpoint"
    assert [each["killed"] for each in others] == [said] * len(others)


@pytest.mark.slow
def test_a_rank_whose_closure_fails_is_quoted(found):
    assert found[RAISED][0]["raises"] == (
        "rank 1 ended with KeyError: 'no such file'; go on from the last checkpoint"
    )
