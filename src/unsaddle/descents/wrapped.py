"""Somebody else's optimiser as a descent: when to search around it, and how to go on after.

Its steps are its own. A search is due when |g| has been at most eps at ``patience`` steps, without
once exceeding 2 eps in between. After a search that did not jump, the next one waits until |g| has
been above 2 eps: nothing else would be found at the same place.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar
from unsaddle.core.phases import BEGIN, GO
from unsaddle.descents.gd import no_momentum, not_measured


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    loud: float = 2.0  # of eps, above 1: a longer gradient belongs to another place
    finest: float = 1e-3  # of the curvature met, (0, 1): the gamma if none is given: short searches


TUNING = Tuning()


class Memory(NamedTuple):
    """How long the gradient has been small, and whether a search is allowed."""

    inner: Any  # the optimiser's state, where that is not its own
    steps: Scalar
    armed: Scalar
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    patience: int  # steps for which the gradient must have been small


def search_due(ops: Ops, p: Parameters, s: State, norm: Scalar) -> tuple[Memory, Scalar]:
    """Count the steps at which |g| <= eps, anew where |g| > 2 eps, and say whether to search."""
    d, loud = s.descent, norm > TUNING.loud * p.tolerance
    counted = d.steps + ops.where(norm <= p.tolerance, 1, 0)
    steps = ops.where(loud, 0, counted)
    armed = d.armed | loud
    due = armed & (norm <= s.tolerance) & (steps >= p.descent.patience)
    return d._replace(steps=steps, armed=armed), due


def onward(ops: Ops, s: State, due: Scalar) -> State:
    """Search, or count the step that was taken, and report after the last of those granted."""
    left = s.left - 1
    phase = ops.where(due, BEGIN, ops.where(left <= 0, s.report, GO))
    return s._replace(left=left, phase=phase)


def descend_again(p: Parameters, s: State) -> State:
    """Go on where a search has ended, and wait for the gradient to grow before the next."""
    quiet = s.descent._replace(steps=0, armed=False)
    return s._replace(
        phase=GO, left=inf, tolerance=p.tolerance, report=BEGIN, stalled=False, descent=quiet
    )
