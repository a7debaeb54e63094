"""The user's own minimiser as a descent: it runs outside, and is judged where it stops.

Whoever owns the loop calls it before phase START; here its point is queried. Where the gradient is
above the tolerance the descent has given up, and x is searched all the same. Where the value is no
lower than where it stopped before, the run ends, as what was left would be left for ever.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.kernel import NoSettings, Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, GO, START, PhaseName
from unsaddle.descents.gd import no_momentum, not_measured

STALLED = PhaseName.STALLED


class Memory(NamedTuple):
    """Where it stopped before."""

    value: Scalar  # f there
    kinetic_energy = no_momentum
    constants_met = not_measured


def arrive(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Escape where f is lower than before, else end; note whether |g(x)| <= eps."""
    return s._replace(
        descent=Memory(value),
        stalled=ops.norm(gradient) > s.tolerance,
        phase=ops.where(value < s.descent.value, s.report, STALLED),
    )


ARRIVE = Phase(iterate, BOTH, arrive)

external = Part({START: ARRIVE, GO: ARRIVE}, NoSettings, lambda ops, x, settings: Memory(inf))
