"""Somebody else's optimiser as a descent: when to search around it, and how to go on after.

Its steps are its own. A search is due in two cases:

1. *The gradient is small*: |g| has been at most eps at ``patience`` steps, without once exceeding
   2 eps in between. After a search that did not jump, the next one waits until |g| has been above
   2 eps: nothing else would be found at the same place.
2. *The training is stuck on minibatches* (where ``block`` > 0): over a block of steps the mean
   gradient was lost in its noise and the loss was flat (``plateau.py``), and another batch at the
   same parameters has another gradient (``batches.py``). A search is followed by a rest in which no
   block is judged: one block at first, twice as long each time; after a jump, as long as it was.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GO, PhaseName
from unsaddle.descents import plateau
from unsaddle.descents.gd import no_momentum, not_measured
from unsaddle.descents.plateau import Block


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    loud: float = 2.0  # of eps, above 1: a longer gradient belongs to another place


TUNING = Tuning()


class Memory(NamedTuple):
    """How long the gradient has been small, whether the training is stuck, and the last jump."""

    inner: Any  # the optimiser's state, where that is not its own
    kept: Vector  # the sum of a block's gradients; one that was kept; x~, until a jump is confirmed
    loss: Scalar = 0.0  # that went with a gradient that was kept, or where a jump has led
    steps: Scalar = 0  # at which the gradient was small
    armed: Scalar = True  # whether a small gradient is to be searched
    block: Block = Block()
    noise: Scalar = 0.0  # sigma of the last block that was full
    noisy: Scalar = False  # whether batches were seen to differ
    rest: Scalar = 0  # steps before a block is judged again
    wait: Scalar = 0  # the last rest
    refused: Scalar = False  # whether asking twice gave two answers, the last time
    jumped: Scalar = False  # whether x is where a jump has led
    confirmed: Scalar = False  # whether another batch has confirmed it
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    patience: int  # steps for which the gradient must have been small
    block: int  # steps over which it is judged whether the training is stuck; zero: it is not


def memory(ops: Ops, x: Vector, settings: Any = None, inner: Any = None) -> Memory:
    """Nothing was seen yet."""
    return Memory(inner, ops.times(0.0, x))


def search_due(
    ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector, begin: int
) -> tuple[State, Scalar]:
    """Go on to the next phase, ``begin`` if |g| is small, and say whether a step is to be taken."""
    s, small = _small(ops, p, s, ops.norm(gradient))
    s, stuck = _stuck(ops, p, s, value, gradient) if p.descent.block else (s, False)
    left = s.left - 1
    onto = ops.where(stuck, PhaseName.STAY, ops.where(left <= 0, s.report, GO))
    after = s._replace(left=left, phase=ops.where(small, begin, onto))
    return after, ops.where(small, False, True)


def loud(p: Parameters) -> Scalar:
    """Give the norm above which a gradient is loud: x has left the place where it was small."""
    return TUNING.loud * p.tolerance


def waits(p: Parameters, s: State) -> Scalar:
    """Say whether a step whose gradient is loud would leave the state as it is."""
    d, goes_on = s.descent, (s.phase == GO) & (s.left == inf)
    return goes_on & d.armed & (d.steps == 0) & (p.descent.block == 0)


def _small(ops: Ops, p: Parameters, s: State, norm: Scalar) -> tuple[State, Scalar]:
    """Count the steps at which |g| <= eps, anew where |g| > 2 eps, and say whether to search."""
    d, unrest = s.descent, norm > loud(p)
    counted = d.steps + ops.where(norm <= p.tolerance, 1, 0)
    steps = ops.where(unrest, 0, counted)
    armed = d.armed | unrest
    due = armed & (norm <= s.tolerance) & (steps >= p.descent.patience)
    return s._replace(descent=d._replace(steps=steps, armed=armed)), due


def _stuck(
    ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector
) -> tuple[State, Scalar]:
    """Add a step to the block, and judge it if it is full."""
    d = s.descent
    block, total = plateau.extended(ops, d.block, d.kept, value, gradient)
    full = block.steps >= p.descent.block
    block = plateau.averaged(ops, block, total, full)
    stuck = full & (d.rest <= 0) & plateau.stuck(ops, block)
    after = d._replace(
        kept=total,
        block=block._replace(steps=ops.where(full, 0, block.steps)),
        noise=ops.where(full, plateau.noise(ops, block), d.noise),
        rest=ops.where(d.rest > 0, d.rest - 1, 0),
    )
    return s._replace(descent=after), stuck


def arrived(ops: Ops, p: Parameters, s: State) -> State:
    """Descend from the start, or from where a jump has led: after as long a rest as the last."""
    d = s.descent
    rest = ops.where(d.jumped, ops.maximum(d.wait, p.descent.block), d.rest)
    return s._replace(descent=d._replace(block=Block(), rest=rest, jumped=False))


def rested(ops: Ops, p: Parameters, d: Memory) -> Memory:
    """Wait for twice as long as the last time before a block is judged again."""
    wait = ops.maximum(2 * d.wait, p.descent.block)
    return d._replace(block=Block(), rest=wait, wait=wait)


def descend_again(ops: Ops, p: Parameters, s: State) -> State:
    """Go on where a search has ended: the gradient has to grow before the next, or time to pass."""
    rests = rested(ops, p, s.descent)
    quiet = rests._replace(steps=0, armed=False, refused=False, jumped=False)
    return s._replace(
        phase=GO, left=inf, tolerance=p.tolerance, report=BEGIN, stalled=False, descent=quiet
    )
