"""A search that shows what there is and does not move x: the proof behind an escape's own test.

Where the search has found curvature below -gamma/2 it measures it once more from both sides,

    e'He = <e, g(x~ + r e) - g(x~ - r e)>/(2 r),

where a third derivative cancels, and ends: at most two gradients more than the search itself, and
none where products are exact. Where there is only a dip, which does not contradict the claim, the
claim is made. ``certify`` is such a search.
"""

from unsaddle.core.kernel import Parameters, Part, Phase, State, go_to, iterate, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import CERTIFIED, GRADIENT, NOTHING, PROVE, UNCERTIFIED, PhaseName
from unsaddle.escapes.adaptive_anc import adaptive_anc, adaptive_nc
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN, PHASES
from unsaddle.escapes.lanczos import lanczos

DIP, NEGATIVE_CURVATURE = PhaseName.DIP, PhaseName.NEGATIVE_CURVATURE
CENTRAL_AHEAD, CENTRAL_BEHIND = PhaseName.CENTRAL_AHEAD, PhaseName.CENTRAL_BEHIND
CERTIFY_DIP = Phase(iterate, NOTHING, go_to(CERTIFIED))  # a dip does not contradict the claim


def judge(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Measure again what is below -gamma/2 by more than its error."""
    shown = s.escape.resolution.shows(s.escape.curvature)
    again = ops.where(p.products, NEGATIVE_CURVATURE, CENTRAL_AHEAD)
    return s.searched(ops.where(shown, again, UNCERTIFIED), s.escape)


def difference(ops: Ops, s: State, gradient: Vector) -> Scalar:
    """<e, g(x~ +- r e) - g(x~)>/r."""
    bend = ops.axpy(-1.0, s.escape.gradient, gradient)
    return ops.dot(s.escape.direction, bend) / s.escape.resolution.radius


def measure_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take the forward difference."""
    forward = difference(ops, s, gradient)
    return s.searched(CENTRAL_BEHIND, s.escape._replace(curvature=forward))


def measure_behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take the mean of the forward and the backward difference, and end."""
    curvature = (s.escape.curvature - difference(ops, s, gradient)) / 2
    shown = s.escape.resolution.shows(curvature)
    end = ops.where(shown, NEGATIVE_CURVATURE, UNCERTIFIED)
    return s.searched(end, s.escape._replace(curvature=curvature))


def without_dips(search: Part) -> Part:
    """Give a search that jumps only where it has found curvature below -gamma/2."""
    return search._replace(phases={**search.phases, DIP: CERTIFY_DIP})


def without_jump(search: Part) -> Part:
    """Give a search that ends where it would jump."""
    kept = {code: phase for code, phase in search.phases.items() if code not in PHASES}
    phases = {
        **kept,
        DIP: CERTIFY_DIP,
        PROVE: Phase(iterate, NOTHING, go_to(UNCERTIFIED)),  # the memory is full
        JUMP_BEGIN: Phase(iterate, NOTHING, judge),
        CENTRAL_AHEAD: Phase(probing(1.0), GRADIENT, measure_ahead),
        CENTRAL_BEHIND: Phase(probing(-1.0), GRADIENT, measure_behind),
    }
    return search._replace(phases=phases)


proof = without_jump(adaptive_anc)
SEARCHES = {
    "lanczos": without_jump(lanczos),
    "anc": proof,
    "nc": without_jump(adaptive_nc),
}
