"""The phases of all methods by name, and what a phase may ask for."""

from enum import IntEnum

NOTHING, VALUE, GRADIENT, BOTH = 0, 1, 2, 3  # what a phase needs
TRIAL = 4  # added to these: a query that may fail, which is then told value inf and gradient 0
PROBE = 8  # added to GRADIENT: it is for H d only; g(x) + H d will do as well as g(x + d)
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
    STAY = 14  # wrapped: the gradient of a batch at parameters that stay
    OTHER_BATCH = 15
    ASK_ONCE = 16
    ASK_TWICE = 17
    NOISE_FLOOR = 18  # lbfgs, parameter-free agd: is the gradient more than its noise?
    ALMOST_CONVEX = 19  # almost convex agd
    TAKE_STEP = 20  # lbfgs: the trial is taken
    NARROW = 21  # lbfgs: it is not
    CUBIC_SEARCH = 22  # cubic: a vector of the space
    CUBIC_MODEL = 23
    CUBIC_STEP = 24
    SPIDER_BEHIND = 26  # spider
    SPIDER_HERE = 27
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
    RECHECK_BEHIND = 45
    RECHECK = 46
    RAISE = 47  # a larger gamma, where differences turn out to show no less
    SEARCH_BEHIND = 48  # the first half of a step whose difference is central
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
    CLOSE_BY = 59  # the noise of a gradient, and how far to probe because of it
    NOISY_AHEAD = 60
    NOISY_BEHIND = 61
    NOISY_HALF_AHEAD = 62
    NOISY_HALF_BEHIND = 63
    NOISY_CHOICE = 64
    DOUBT = 65  # lanczos: differences err by more than they should
    CONFIRM = 66  # confirmed jump: the value at x~ of another batch
    CONFIRM_AHEAD = 67
    CONFIRM_BEHIND = 68
    REFINE = 69  # lanczos: the lowest direction, where not all of the basis was kept
    RECHECK_CLOSE = 70  # is it noise that a recheck has met?
    CHEBYSHEV_CHECK = 71  # neon2: is what has grown negative curvature?
    CHOOSE_STEP = 72  # adancd: along the gradient, or along negative curvature

    CERTIFIED = -1
    UNCERTIFIED = -2
    JUMP_FAILED = -3
    STALLED = -4
    UNBOUNDED = -5
    UNRESOLVED = -6
    NEGATIVE_CURVATURE = -7
    COARSER = -8  # certified, but for less than was asked


START, GO, BEGIN, PROVE = PhaseName.START, PhaseName.GO, PhaseName.BEGIN, PhaseName.PROVE
CERTIFIED, UNCERTIFIED = PhaseName.CERTIFIED, PhaseName.UNCERTIFIED
PROOF = 64  # added to the phases of a proof
REPORT = 1000  # a query for the result, after the run: the number is no phase's

_PROOFS = {code + PROOF: code for code in PhaseName if code >= BEGIN}
_NAMES = {code: code.name.lower() for code in PhaseName}
_NAMES |= {number: f"proof {code.name.lower()}" for number, code in _PROOFS.items()}
phase_of = {**{code: code for code in PhaseName}, **_PROOFS}.__getitem__  # search of a proof's too
name_of = {**_NAMES, REPORT: "report"}.__getitem__  # search, or proof search of a proof
