"""How a run ended: the sentences, SciPy's numbers, the former names, and what a stall hides."""

import pytest

import unsaddle
from unsaddle.core.outcome import BY_STATUS, ENDS, FORMER, STATUS, Outcome, last_phase
from unsaddle.core.phases import PhaseName
from unsaddle.numpy.ops import ops

each_former = pytest.mark.parametrize(("old", "new"), FORMER.items())


def test_the_former_names_are_these() -> None:
    assert {*FORMER} == {"TESTED", "BLIND", "REFUTED"}


@each_former
def test_a_former_name_works_and_says_the_new_one(old: str, new: str) -> None:
    said = rf"Outcome\.{old} is now Outcome\.{new}; .* next release"
    with pytest.warns(DeprecationWarning, match=said) as by_attribute:
        assert getattr(unsaddle.Outcome, old) is Outcome[new]
    with pytest.warns(DeprecationWarning, match=said) as by_name:
        assert unsaddle.Outcome[old] is Outcome[new]
    for caught in (by_attribute, by_name):
        assert caught[0].filename == __file__, "a warning points to who used the name"


def test_a_new_name_says_nothing() -> None:
    for name in FORMER.values():  # warnings are errors here
        assert getattr(Outcome, name) is Outcome[name]


def test_a_name_that_never_was_is_refused() -> None:
    with pytest.raises(AttributeError, match="FINISHED"):
        _ = Outcome.FINISHED
    with pytest.raises(KeyError, match="FINISHED"):
        _ = Outcome["FINISHED"]


def test_a_former_name_is_no_member() -> None:
    assert not {*FORMER} & {*Outcome.__members__}
    assert len({outcome.value for outcome in Outcome}) == len(Outcome)


def test_every_end_has_its_outcome_and_every_outcome_its_number() -> None:
    assert {*ENDS} == {code for code in PhaseName if code < 0}
    assert all(ENDS[code].name == code.name for code in ENDS)
    assert STATUS[Outcome.CERTIFIED] == 0
    assert sorted(STATUS.values()) == [*range(len(Outcome))]
    assert {BY_STATUS[number] for number in STATUS.values()} == {*Outcome}


TOLD_AS_A_STALL = {PhaseName.CERTIFIED, PhaseName.UNCERTIFIED, PhaseName.UNRESOLVED}


@pytest.mark.parametrize("stalled", [False, True])
@pytest.mark.parametrize("end", [code for code in PhaseName if code < 0])
def test_a_descent_that_stalled_is_no_success(end: PhaseName, stalled: bool) -> None:
    """Whatever the search found where it gave up; negative curvature says more than the stall."""
    expected = PhaseName.STALLED if stalled and end in TOLD_AS_A_STALL else end
    assert last_phase(ops, end, stalled) == expected
    assert not (stalled and ENDS[last_phase(ops, end, stalled)] is Outcome.CERTIFIED)
