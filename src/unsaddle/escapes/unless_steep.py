"""A search that is made wherever a descent reports, whether the gradient is small there or not.

The methods of Carmon et al. (2018) and of Liu et al. (2018) look for negative curvature at points
that are not stationary. What a search shows there ends nothing: where it would end the run, and
|g| is above eps, the method goes on. Only a jump that fails against theory ends it. After a jump it
searches again before it descends.
"""

from functools import cache

from unsaddle.core.kernel import Parameters, Part, Phase, State, Update, iterate, watch
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GO, NOTHING, PROVE, PhaseName

LANDED, JUMP_BEGIN = PhaseName.LANDED, PhaseName.JUMP_BEGIN
JUMP_FAILED = PhaseName.JUMP_FAILED


def search_again(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin where the jump has landed: the descent has reported from there at once."""
    return watch(ops, p, s, value, gradient)._replace(phase=BEGIN)


@cache  # phases that share an update share this one too: it is compiled once
def going_on(update: Update, onto: int, found: int) -> Update:
    """Give an update that goes on where |g| is above eps, and does not end the run or prove."""

    def call(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        after = update(ops, p, s, value, gradient)
        ends = ((after.phase < 0) & (after.phase != JUMP_FAILED)) | (after.phase == PROVE)
        steep = ops.norm(after.escape.gradient) > p.tolerance
        phase = ops.where(ends & steep, onto, after.phase)
        return after._replace(phase=ops.where(phase == JUMP_BEGIN, found, phase))

    return call


def unless_steep(search: Part, onto: int = GO, found: int = JUMP_BEGIN) -> Part:
    """Give the search; on a slope it goes on to ``onto``, with what it has found to ``found``."""
    wrapped = {
        code: phase._replace(update=going_on(phase.update, onto, found))
        for code, phase in search.phases.items()
    }
    landed = Phase(iterate, NOTHING, search_again)
    return search._replace(phases={**wrapped, LANDED: landed})
