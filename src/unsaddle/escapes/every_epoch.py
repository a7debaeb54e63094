"""A search that is made after every epoch of a descent, on slopes too, as SPIDER-SFO+ does.

Source: Fang, Li, Lin & Zhang (2018). The descent reports at the end of an epoch with ``stalled``
set, and without where the gradient is small. Difference from the source: it returns x^k as soon as
the gradient is small there, on the word of the search at the beginning of the epoch, which lets it
speak of curvature -2 d only. Here x^k is searched itself. For this the searches on slopes need not
be sure, and are not repeated: what they show ends nothing, and the descent goes on.
"""

from functools import cache

from unsaddle.core.kernel import Parameters, Part, State, Update, watch
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import PROVE, PhaseName

SEARCH_ANEW = PhaseName.SEARCH_ANEW


@cache  # phases that share an update share this one too: it is compiled once
def going_on(update: Update) -> Update:
    """Give an update that goes on descending where it would end or repeat a search on a slope."""

    def call(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        after = update(ops, p, s, value, gradient)
        over = (after.phase < 0) | (after.phase == PROVE) | (after.phase == SEARCH_ANEW)
        descends = watch(ops, p, after, value, gradient)
        leaves = over & after.stalled
        return after._replace(
            phase=ops.where(leaves, descends.phase, after.phase),
            left=ops.where(leaves, descends.left, after.left),
            tolerance=ops.where(leaves, descends.tolerance, after.tolerance),
            report=ops.where(leaves, descends.report, after.report),
            stalled=ops.where(leaves, False, after.stalled),
        )

    return call


def every_epoch(search: Part) -> Part:
    """Give the search, with a descent that goes on where a slope has nothing to show."""
    wrapped = {
        code: phase._replace(update=going_on(phase.update)) for code, phase in search.phases.items()
    }
    return search._replace(phases=wrapped)
