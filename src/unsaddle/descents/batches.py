"""Do batches differ, and is one batch the same when it is asked again? Asked before a search.

================  =========  ==================================================================
phase             batch      the gradient at x
================  =========  ==================================================================
``STAY``          another    of a training that is stuck; it is kept, and no step is taken
``OTHER_BATCH``   another    has to differ from that one, or sigma was no noise; it is kept instead
``ASK_ONCE``      another    where nobody promises that a batch stays; it is kept
``ASK_TWICE``     the same   has to be the one that was kept, or the queries of a search would be
                             of several functions: there is none then
================  =========  ==================================================================
"""

from math import sqrt
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, Update, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, BOTH, GO, START, PhaseName
from unsaddle.core.resolution import visible_change
from unsaddle.descents.wrapped import rested

STAY, OTHER_BATCH = PhaseName.STAY, PhaseName.OTHER_BATCH
ASK_ONCE, ASK_TWICE = PhaseName.ASK_ONCE, PhaseName.ASK_TWICE
NEXT_BATCH = (START, GO, STAY, OTHER_BATCH, ASK_ONCE)  # the phases that want another batch


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    noisy: float = 0.1  # of sigma, (0, 1): between batches; a program's own noise is far below
    same: float = 1e-2  # of sigma or eps, (0, 1): within a batch; sums in any order are far below


TUNING = Tuning()


def remember(phase: int) -> Update:
    """Give the update that keeps the gradient at x and its loss, and goes on to a phase."""

    def update(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        d = s.descent._replace(kept=ops.copy(gradient), loss=value)
        return s._replace(descent=d, phase=phase)

    return update


def compare(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Go on to a search if another batch has another gradient; descend if it is x that moved."""
    apart = ops.norm(ops.add(gradient, -1.0, s.descent.kept)) / sqrt(2)
    noisy = apart >= TUNING.noisy * s.descent.noise
    d = s.descent._replace(kept=ops.copy(gradient), loss=value)
    waits = rested(ops, p, d)
    d = d._replace(
        noisy=d.noisy | noisy,
        rest=ops.where(noisy, d.rest, waits.rest),
        wait=ops.where(noisy, d.wait, waits.wait),
    )
    return s._replace(descent=d, phase=ops.where(noisy, ASK_TWICE, GO))


def same_again(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Search if the same gradient and loss came again, as far as that can be told."""
    d = s.descent
    apart = ops.norm(ops.add(gradient, -1.0, d.kept))
    near = apart <= TUNING.same * ops.maximum(d.noise, p.tolerance)
    same = near & (abs(value - d.loss) <= visible_change(ops, s.x, value, d.loss))
    after = d._replace(refused=ops.where(same, False, True))
    return s._replace(descent=after, phase=ops.where(same, BEGIN, PhaseName.UNRESOLVED))


BATCH_PHASES = {
    STAY: Phase(iterate, BOTH, remember(OTHER_BATCH)),
    OTHER_BATCH: Phase(iterate, BOTH, compare),
    ASK_ONCE: Phase(iterate, BOTH, remember(ASK_TWICE)),
    ASK_TWICE: Phase(iterate, BOTH, same_again),
}
