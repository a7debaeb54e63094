"""How a run ended: the sentences, SciPy's numbers, the former names, and what a stall hides."""

from typing import Any

import numpy as np
import pytest

import unsaddle
from unsaddle.core.evidence import TUNING, last_phase
from unsaddle.core.kernel import Parameters, State, compose
from unsaddle.core.outcome import BY_STATUS, ENDS, FORMER, STATUS, Outcome
from unsaddle.core.phases import PhaseName
from unsaddle.core.resolution import Resolution
from unsaddle.descents.gd import gd
from unsaddle.escapes.nc import nc
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
LARGEST = 2.0
SHOWN = TUNING.weak * LARGEST  # above it a gamma that nobody gave is too coarse


def ended(phase: PhaseName, stalled: bool = False, *, gamma: float = 0.1, asked: float = 0.1):
    """Give a state that ended in this phase, for this gamma."""
    resolution = Resolution(1e-6, 1e-9, gamma, gamma, 1e3, asked, LARGEST)
    state: Any = compose(gd, nc).start(ops, told(asked), np.ones(2), 0)
    escape = state.escape._replace(resolution=resolution)
    return state._replace(phase=phase, stalled=stalled, escape=escape)


def told(curvature_tol: float) -> Parameters:
    """Give the parameters of a run whose caller gave this gamma, or none if it is zero."""
    return Parameters(0.0, None, None, None, curvature_tol, 1e-3)


def told_end(state: State, curvature_tol: float = 0.1) -> PhaseName:
    return PhaseName(last_phase(ops, told(curvature_tol), state))


@pytest.mark.parametrize("stalled", [False, True])
@pytest.mark.parametrize("end", [code for code in PhaseName if code < 0])
def test_a_descent_that_stalled_is_no_success(end: PhaseName, stalled: bool) -> None:
    """Whatever the search found where it gave up; negative curvature says more than the stall."""
    expected = PhaseName.STALLED if stalled and end in TOLD_AS_A_STALL else end
    end_told = told_end(ended(end, stalled))
    assert end_told == expected
    assert not (stalled and ENDS[end_told] is Outcome.CERTIFIED)


@pytest.mark.parametrize(
    ("given", "gamma", "asked", "short"),
    [
        (0.1, 0.1, 0.1, False),
        (0.1, 0.1001, 0.1, True),  # any raise, if gamma was given
        (1e-9, SHOWN / 2, 1e-9, True),
        (0.0, 0.5, 0.5, False),  # its own choice, and shown
        (0.0, 0.9 * SHOWN, 1e-3, False),
        (0.0, 1.1 * SHOWN, 1e-3, True),
    ],
)
def test_less_than_was_asked_is_no_success(
    given: float, gamma: float, asked: float, short: bool
) -> None:
    """Any raise of a gamma that was given; of one that was not, above .01 of the largest."""
    state = ended(PhaseName.CERTIFIED, gamma=gamma, asked=asked)
    assert told_end(state, given) == (PhaseName.COARSER if short else PhaseName.CERTIFIED)
    assert told_end(state._replace(stalled=True), given) == PhaseName.STALLED
    found = ended(PhaseName.JUMP_FAILED, gamma=gamma, asked=asked)
    assert told_end(found, given) == PhaseName.JUMP_FAILED
