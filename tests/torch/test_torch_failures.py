"""What goes wrong on one rank is an error on every rank, and a checkpoint goes on without it."""

import json
import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

from tests.torch import on_ranks  # noqa: E402
from unsaddle.torch import ranks  # noqa: E402

SHARED, KILLED, RAISED = "bad_input,bad_input_sharded,budgets,mixed:2", "killed:3", "raises:2"
HOSTED, FIRST = "killed:4:15:tcp", "killed_first:3:15:tcp"  # the first rank hosts the store
WRONG = "no_number:2", "sparse:2"
UNMATCHED, COPIES, PARTS = "unmatched:2:10", "interrupted_copies:3", "interrupted_parts:3"
FEWER = "resumed_copies,resumed_parts:2", "resumed_parts:1"
ALONE = "resumed_copies,resumed_parts:1"  # at first: there is no checkpoint to begin with
WAITING = (
    KILLED,
    RAISED,
    *WRONG,
    HOSTED,
    FIRST,
    UNMATCHED,
    COPIES,
    PARTS,
)  # at once: they wait for who never comes
BOTH, MIXED = ("bad_input", "bad_input_sharded"), ["mixed"]
LOST = "LostRankError: rank 2 no longer answers; go on from the last checkpoint"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return on_ranks.spawn(tmp_path_factory.mktemp("failures"), ALONE, SHARED, WAITING, FEWER)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "words", "kinds"),
    [
        ("seeds", "ValueError: seed must be the same on every rank, got 0 on rank 0; 1 on", BOTH),
        ("settings", "got tolerance=0.001 on rank 0; tolerance=0.002 on rank 1: pass the", BOTH),
        ("methods", "optimiser must be the same on every rank, got Auto on rank 0; AGDAuto", BOTH),
        ("no gradient", "gradients must be the same on every rank, got [] on rank 0; [0, 1", BOTH),
        ("other gradients", "got [1, 2] on rank 0; [0, 2] on rank 1: let every rank call", BOTH),
        ("no gradient later", "got [0, 1, 2] on rank 0; [] on rank 1: let every rank call", BOTH),
        ("fewer gradients later", "got [0, 1, 2] on rank 0; [0, 1] on rank 1: let every", BOTH),
        ("no gradient anywhere", "RuntimeError: Auto.step() found no gradient: call", BOTH),
        ("no loss", "loss given must be the same on every rank, got none on rank 0; by a", BOTH),
        ("nan", "NotFiniteError: the loss is nan: the parameters are as they were", BOTH),
        ("moved", "parameters must be the same on every rank, got checksum", BOTH[:1]),
        ("drifting", "or call torch.distributed.broadcast(p.data, 0) for each of them", BOTH[:1]),
        ("ways", "loss given must be the same on every rank, got as it is on rank 0; by a", BOTH),
        ("loaded", "query must be the same on every rank, got 0, start on rank 0; 3, line", BOTH),
        ("certify", "let every rank call backward() on a loss of the same parameters", BOTH),
        ("meshes", "1=(Shard(dim=0),) on a mesh (1) of ranks 1 to 1 on rank 1: make one", MIXED),
        ("places", "meshes must be the same on every rank, got parameter 0=(Replicate", MIXED),
    ],
)  # fmt: skip
def test_what_is_not_the_same_is_an_error_on_every_rank(found, case, words, kinds):
    for kind in kinds:
        one, other = (each[kind][case] for each in found[SHARED])
        assert one == other
        assert words in one


@pytest.mark.slow
def test_a_rank_that_was_killed_is_named_by_all_others(found):
    *others, last = found[KILLED]
    assert last is None
    assert [each["killed"] for each in others] == [LOST] * len(others)


@pytest.mark.slow
def test_the_rank_that_hosts_the_store_ends_after_all_others_have_heard(found):
    """Two of the ranks see at once that one is gone, and the third at its time-out."""
    *others, last = found[HOSTED]
    assert last is None
    assert [each["killed"] for each in others] == [LOST.replace("2", "3")] * 3


@pytest.mark.slow
def test_the_rank_that_hosts_the_store_is_named_where_it_was_killed(found):
    first, *others = found[FIRST]
    assert first is None
    for each in others:
        assert "rank 0, which usually hosts it, hangs or has ended" in each["killed_first"]


@pytest.fixture
def alone(monkeypatch):
    """One rank of several by a clock of its own, and a store through which they tell each other."""
    there = SimpleNamespace(now=0.0, words={}, due=[])
    there.store = SimpleNamespace(
        set=lambda key, text: there.words.update({key: text.encode()}),
        get=there.words.get,
        check=lambda keys: {*keys} <= {*there.words},
    )

    def wait(seconds):
        there.now += seconds
        for rank, word in [it[1:] for it in there.due if it[0] < there.now]:
            tells(rank, word)

    def tells(rank, word):
        there.store.set(f"{ranks.KEY}/{rank}", json.dumps(word))

    def rank(number, count):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda: number)
        several = ranks.Ranks()
        several.several, several.members = True, lambda: [*range(count)]
        return several

    there.tells, there.rank = tells, rank
    monkeypatch.setattr(ranks, "monotonic", lambda: there.now)
    monkeypatch.setattr(ranks, "sleep", wait)
    monkeypatch.setattr(ranks, "_store", lambda: there.store)
    monkeypatch.setattr(ranks.Ranks, "told", False)
    monkeypatch.setattr(ranks.Ranks, "caught", 0)
    return there


def test_a_store_whose_host_hangs_is_not_waited_for(alone, monkeypatch):
    """A host that was stopped keeps its connections, and the store waits for its answer."""
    never = threading.Event()
    monkeypatch.setattr(ranks, "TUNING", ranks.TUNING._replace(answer=0.01))
    alone.store.check = lambda keys: never.wait()

    @alone.rank(1, 2).watched()
    def late():
        raise RuntimeError("Timed out waiting 10000ms for recv operation to complete")

    try:
        with pytest.raises(ranks.LostRankError, match="rank 0, which usually hosts it, hangs or"):
            late()
    finally:
        never.set()


@pytest.mark.parametrize(("waited", "longer"), [(2.0, 5.0), (20.0, 10.0), (1800.0, 30.0)])
def test_a_rank_that_hangs_is_named_soon_after_the_time_out(alone, waited, longer):
    @alone.rank(0, 2).watched()
    def late():
        alone.now += waited
        raise RuntimeError(f"Timed out waiting {1e3 * waited:g}ms for recv operation to complete")

    with pytest.raises(ranks.LostRankError, match="rank 1 no longer answers; go on from the last"):
        late()
    assert alone.now == pytest.approx(waited + longer, abs=0.1)


def test_an_error_that_ranks_have_gone_on_after_is_not_what_ends_a_later_query(alone):
    """All have caught the same one; one of them takes 20 seconds to say that it goes on."""
    ranks.Ranks.caught = 1
    alone.tells(1, ranks.Word("in its closure", "StopIteration: ", heard=True, caught=0))
    alone.due.append((20.0, 1, ranks.Word("at query 17", "", heard=False, caught=1)))

    @alone.rank(0, 3).watched()
    def lost():
        raise RuntimeError("Connection closed by peer")

    with pytest.raises(ranks.LostRankError, match="rank 2 no longer answers; go on from the last"):
        lost()


@pytest.mark.parametrize(("late", "waited"), [(2.0, 2.0), (60.0, 5.0)])
def test_the_host_of_the_store_waits_until_a_late_rank_has_heard_of_an_error(alone, late, waited):
    """Else that rank finds no store, and says that the host is what has ended."""
    word = ranks.Word("in its closure", "OSError: disk is full", heard=True, caught=0)
    alone.tells(2, word)
    alone.due.append((late, 1, word._replace(error="")))

    @alone.rank(0, 3).watched()
    def lost():
        raise RuntimeError("Connection closed by peer")

    with pytest.raises(ranks.LostRankError, match="rank 2 ended with OSError: disk is full; go on"):
        lost()
    assert alone.now == pytest.approx(waited, abs=0.11)


def test_ranks_that_may_be_waiting_are_not_said_to_have_ended():
    """Of several that are silent, some may wait for this one, which has a connection less."""
    words = {0: ranks.Word("at query 3", "", heard=False, caught=0)}
    said = ranks._heard(words, [1, 2])
    assert said == "one or more of the ranks 1, 2 no longer answer, others wait for them"


def test_ranks_that_all_wait_in_their_closures_are_told_what_to_look_for():
    """Under DDP a rank whose closure waits for nobody keeps the others in their ``backward``."""
    word = ranks.Word("in its closure", "", heard=True, caught=0)
    said = ranks._heard({0: word, 1: word}, [])
    assert said.startswith("every rank waited in its closure, and the group's time-out was over")
    assert "let the closures of all ranks make the same calls of torch.distributed, or" in said


@pytest.mark.slow
def test_another_budget_of_a_search_is_named(found):
    for each in found[SHARED]:
        assert (
            "max_gradients must be the same on every rank, got 9 on rank 0; 10 on"
            in (each["budgets"])
        )


@pytest.mark.slow
def test_a_rank_whose_closure_fails_is_quoted(found):
    assert found[RAISED][0]["raises"] == (
        "rank 1 ended with KeyError: 'no such file'; go on from the last checkpoint"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "words"),
    [
        (WRONG[0], "TypeError: the loss must be one real number, got 'none': let the closure"),
        (WRONG[1], "TypeError: sparse gradients are not supported: pass sparse=False to"),
    ],
)
def test_a_rank_whose_answer_cannot_be_taken_is_quoted(found, group, words):
    said = found[group][0][group.split(":")[0]]
    assert said.startswith(f"rank 1 ended with {words}")


@pytest.mark.slow
def test_closures_that_wait_for_different_things_are_named_with_their_places(found):
    """Who comes first to his time-out closes the connection, and waits for the other's word."""
    for each in found[UNMATCHED]:
        said = each["unmatched"]
        assert said.startswith("LostRankError: ranks wait for each other, rank 0 at query 3, line")
        assert "; rank 1 in its closure: let the closures of all ranks make the same calls" in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["copies", "parts"])
def test_the_last_checkpoint_goes_on_without_the_rank_that_was_killed(found, kind):
    """Three ranks, of which the last dies; then two, and where there are parts also one."""
    *others, last = found[f"interrupted_{kind}:3"]
    assert last is None
    assert [each[f"interrupted_{kind}"] for each in others] == [LOST] * 2
    name = f"resumed_{kind}"
    one = found[ALONE][0][name]
    assert (one["from"], one["outcome"]) == (0, "CERTIFIED")
    for each in (each for group in FEWER for each in found[group] if name in each):
        went = each[name]
        assert went["from"] == 16
        assert (went["outcome"], went["queries"]) == (one["outcome"], one["queries"])
        assert went["at"] == pytest.approx(one["at"], rel=0, abs=1e-10)
        assert went["gamma"] == pytest.approx(one["gamma"], rel=1e-6)
