"""A descent that takes no step of its own: the escape does all there is to do.

For methods that look at the curvature in every iteration, as AdaNCG does: each of them begins with
the gradient at the iterate, whatever its length.
"""

from unsaddle.core.kernel import NoSettings, Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, START
from unsaddle.descents.gd import Memory


def report(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Report at once."""
    return s._replace(phase=s.report)


REPORT = Phase(iterate, GRADIENT, report)

hand_over = Part({START: REPORT, GO: REPORT}, NoSettings, lambda ops, x, settings: Memory())
