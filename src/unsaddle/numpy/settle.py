"""A search that is to end within a budget claims what it can: the least gamma shown by then.

The event on which Lanczos's certificate rests, <u, xi>^2 <= 1/K, is one for all gamma, so that it
may be chosen when T is known (``escapes/doubt.py``). K(-gamma) rises with gamma, and the least one
whose sqrt(K) is as large as needed is found by bisection, over rows of T that are there already: it
takes no gradient. Where none below half of all curvature is shown yet, the search goes on.
"""

from math import inf, sqrt
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops
from unsaddle.core.resolution import Resolution
from unsaddle.escapes.krylov import Memory
from unsaddle.escapes.lanczos import next_phase
from unsaddle.escapes.probe import next_step
from unsaddle.escapes.recurrence import Recurrence, again


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    fine: float = 1.05  # between gammas, above 1: closer is not worth another pass over T
    most: float = 0.5  # of the curvature met, (0, 1): a claim for more hardly says anything
    after: int = 2  # gradients, 1 to 4: those that a recheck takes before the claim


TUNING = Tuning()


def spent(share: float, searched: int, gradients: int) -> bool:
    """Say whether a search that took so many of all gradients has to end, with its recheck."""
    return searched + TUNING.after >= share * (gradients + TUNING.after)


def settle(ops: Ops, p: Parameters, s: State) -> State:
    """Give the state in which a claim for the least gamma shown is next; else the same state."""
    e: Memory = s.escape
    row = e.recurrence
    waits = s.phase != next_step(ops, e.resolution) or row.refining > 0 or e.found < inf
    if waits or row.steps == 0 or row.growth >= e.resolution.needed:
        return s
    low = e.resolution.curvature_tol
    high = TUNING.most * ops.tridiagonal_bound(*e.basis[1:], row.steps)
    claim = _claiming(ops, p, e, high)
    if not (high > low and _grown(claim)):
        return s
    while high > TUNING.fine * low:
        middle = sqrt(low * high)
        closer = _claiming(ops, p, e, middle)
        low, high, claim = (low, middle, closer) if _grown(closer) else (middle, high, claim)
    after = e._replace(resolution=claim[0], recurrence=claim[1])
    return s.searched(next_phase(ops, s, after), after)


def _claiming(ops: Ops, p: Parameters, e: Memory, gamma: float) -> tuple[Resolution, Recurrence]:
    """Read T for another gamma."""
    resolution = e.resolution.claiming(ops, gamma)
    rows = e.basis.diagonal, e.basis.offdiagonal
    return resolution, again(
        ops, p.escape.enough, e.recurrence, resolution, *rows, ops.tiny(e.gradient)
    )


def _grown(claim: tuple[Resolution, Recurrence]) -> bool:
    """Say whether this gamma is shown."""
    resolution, row = claim
    return row.growth >= resolution.needed
