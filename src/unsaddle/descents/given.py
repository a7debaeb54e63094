"""The user's own minimiser as a descent: it runs outside, and is judged where it stops.

Whoever owns the loop calls it before phase START; here its point is looked at. A gradient above the
tolerance means that it gave up, and so does the run; and so does a value no lower than where it
stopped before, as what was left would be left for ever.
"""

from math import inf
from typing import NamedTuple

from unsaddle.kernel import (
    BOTH,
    GO,
    STALLED,
    START,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)


class Memory(NamedTuple):
    """Where it stopped before."""

    value: Scalar  # f there

    def kinetic(self, ops: Ops, p: "Settings") -> Scalar:
        """Zero: its momentum is its own."""
        return 0.0

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho as met on the way: not measured."""
        return 0.0, 0.0


class Settings(NamedTuple):
    """None."""


def arrive(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Escape where |g(x)| <= eps and f is lower than before, else give up."""
    fine = (ops.norm(gradient) <= s.tolerance) & (value < s.descent.value)
    return s._replace(descent=Memory(value), phase=ops.where(fine, s.report, STALLED))


ARRIVE = Phase(iterate, BOTH, arrive)

given = Part({START: ARRIVE, GO: ARRIVE}, Settings, lambda ops, x: Memory(inf))
