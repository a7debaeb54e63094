"""The phases of all methods by name, and what a phase may ask for."""

from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any

NOTHING, VALUE, GRADIENT, BOTH = 0, 1, 2, 3  # what a phase needs
TRIAL = 4  # added to these: a query that may fail, which is then told value inf and gradient 0
EXACT, NEW, SAME = 0, 1, 2  # which sample it wants: none, another, or the last one again


class PhaseName(IntEnum):
    """Every phase of every descent and escape, and every end; ``result.history`` shows the names.

    In the phases of a proof, ``PROOF`` is added to the number.
    """

    START = 0  # of every descent: from rest
    GO = 1  # of every descent: with the momentum there is
    NCE_TEST = 2  # agd: value and gradient at x_t
    NCE_TEST_VALUE = 3  # agd: the value at x_t
    NCE = 4  # agd: negative curvature exploitation
    NCE_REST = 5
    NCE_PLUS = 6
    NCE_MINUS = 7
    AGD_REPORT = 8
    LINE_SEARCH = 9  # lbfgs
    FIRST_SMOOTHNESS = 10  # parameter-free agd
    NEW_EPOCH = 11
    EXTRAPOLATED = 12
    EPOCH_MEAN = 13
    GIVE_UP = 31  # of every descent: it cannot go on, and reports all the same

    BEGIN = 32  # of every escape: the descent reports here
    SEARCH = 33  # a step of a search
    JUMP_BEGIN = 34  # the value at x~
    JUMP = 35  # a trial of a jump
    LANDED = 36
    PROVE = 37  # nothing is proved yet
    ENERGY_TEST = 38  # perturbation
    HALF_RADIUS = 39  # probe radius
    WHOLE_RADIUS = 40
    FIRST_STEP = 41  # a step of a search whose gradient is known already
    RITZ_VECTOR = 42  # lanczos
    SEARCH_ANEW = 43
    DIP = 44  # a claim can be made, but some negative curvature is visible
    RECHECK_HALF = 45
    RECHECK_WHOLE = 46
    RECHECK_LOWEST_HALF = 47
    RECHECK_LOWEST_WHOLE = 48
    CONVEXITY_TEST = 49  # neon+
    CONVEXITY_CHECK = 50
    NEON_STEP = 51
    CENTRAL_AHEAD = 52  # proof
    CENTRAL_BEHIND = 53
    SAMPLE_CENTRE = 54  # snc
    TEST_CENTRE = 55  # sample test
    TEST_CURVATURE = 56
    TEST_NEAR = 57
    TEST_FAR = 58

    CERTIFIED = -1
    UNCERTIFIED = -2
    JUMP_FAILED = -3
    STALLED = -4
    UNBOUNDED = -5
    UNRESOLVED = -6
    NEGATIVE_CURVATURE = -7


START, GO, BEGIN, PROVE = PhaseName.START, PhaseName.GO, PhaseName.BEGIN, PhaseName.PROVE
CERTIFIED, UNCERTIFIED = PhaseName.CERTIFIED, PhaseName.UNCERTIFIED
PROOF = 32  # added to the phases of a proof


def among(phase: Any, codes: Sequence[PhaseName]) -> Any:
    """Say whether a phase, which may be traced, is one of these."""
    hit = phase == codes[0]
    for code in codes[1:]:
        hit = hit | (phase == code)
    return hit


@cache
def name_of(code: int) -> str:
    """Give the name of a phase, such as ``search``, or ``proof search`` for one of a proof."""
    lifted = code >= BEGIN + PROOF
    name = PhaseName(code - PROOF * lifted).name.lower()
    return f"proof {name}" if lifted else name
