"""A descent within bounds, which runs outside like the user's own, and is judged where it stops.

The first query is told the projected gradient, which tells whether the descent has arrived. The
second, at the same point, is told the gradient of the free variables, with which the search begins.
"""

from unsaddle.core.kernel import NoSettings, Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, CERTIFIED, GO, GRADIENT, START, PhaseName
from unsaddle.descents.external import Memory, external


def arrive(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Go on where f is lower than before, else end; note whether |x - P(x - g)| <= eps."""
    lower = value < s.descent.value
    return s._replace(
        descent=Memory(value),
        stalled=ops.norm(gradient) > s.tolerance,
        phase=ops.where(lower, GO, PhaseName.STALLED),
    )


def hand_over(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Report with the gradient of the free variables; without any there is nothing to search."""
    return s._replace(phase=ops.where(ops.size(s.x) > 0, s.report, CERTIFIED))


bounded = Part(
    {START: Phase(iterate, BOTH, arrive), GO: Phase(iterate, GRADIENT, hand_over)},
    NoSettings,
    external.memory,
)
