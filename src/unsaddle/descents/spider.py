"""SPIDER: steps of one length along an estimate of the gradient that differences keep up to date.

Source: Fang, Li, Lin & Zhang (2018), SPIDER-SFO and, for its epochs, SPIDER-SFO+, by way of their
descriptions elsewhere. Every q steps v is the mean gradient over S_1 samples; in between it is
corrected by S_2 samples, which are queried at both ends of the last step.

Differences from the source:

1. S_2 and q are real numbers in print, and are rounded up.
2. An epoch of K steps begins with a search for negative curvature in print. Here it ends with one:
   after K steps the descent reports with ``stalled`` set. None is made at x^0 or right after a
   jump, unless v is small there: no point is returned that was not searched.
3. After a jump v is drawn anew, from S_1 samples. Print goes the same way in K steps and corrects v
   at each, for 2 K S_2 gradients.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, NEW, NOTHING, SAME, START, PhaseName
from unsaddle.descents.gd import no_momentum, not_measured
from unsaddle.descents.sgd import batch

SPIDER_BEHIND, SPIDER_HERE = PhaseName.SPIDER_BEHIND, PhaseName.SPIDER_HERE


class Memory(NamedTuple):
    """The estimate, and where it comes from."""

    estimate: Vector  # v^k
    before: Vector  # x^{k-1}
    behind: Vector  # g(x^{k-1}) over the S_2 samples in force
    steps: Scalar = 0  # since v was drawn anew
    taken: Scalar = 0  # steps of this epoch
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta, the length of a step
    first_batch: int  # S_1
    batch: int  # S_2
    period: float  # q
    epoch: float  # K


def draw(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """v^k = g(x^k; S_1)."""
    anew = s.descent._replace(estimate=ops.copy(gradient), steps=0)
    return moved(ops, p, s._replace(descent=anew))


def choose(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw v anew every q steps, else correct it."""
    anew = s.descent.steps >= p.descent.period
    return s._replace(phase=ops.where(anew, START, SPIDER_BEHIND))


def remember_behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x^{k-1}; S_2)."""
    return s._replace(phase=SPIDER_HERE, descent=s.descent._replace(behind=ops.retain(gradient)))


def correct(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """v^k = g(x^k; S_2) - g(x^{k-1}; S_2) + v^{k-1}."""
    v = ops.axpy(-1.0, s.descent.behind, ops.axpy(1.0, gradient, s.descent.estimate))
    return moved(ops, p, s._replace(descent=s.descent._replace(estimate=v)))


def moved(ops: Ops, p: Parameters, s: State) -> State:
    """x^{k+1} = x^k - eta v^k/|v^k|, unless v^k is small; report then, or after K steps."""
    d, left = s.descent, s.left - 1
    size = ops.norm(d.estimate)
    small, over = size <= s.tolerance, d.taken + 1 >= p.descent.epoch
    eta = ops.where(small, 0.0, p.descent.step / ops.maximum(size, ops.tiny(s.x)))
    before = ops.copy(s.x)
    x = ops.axpy(-eta, d.estimate, s.x)
    reports = small | over | (left <= 0)
    memory = d._replace(
        before=before, steps=d.steps + 1, taken=ops.where(small | over, 0, d.taken + 1)
    )
    after = s.descended(ops.where(reports, s.report, GO), x, left, memory)
    return after._replace(stalled=ops.where(small, False, over))


def previous(ops: Ops, p: Parameters, s: State) -> Vector:
    """x^{k-1}."""
    return ops.copy(s.descent.before)


def first_batch(p: Parameters) -> int:
    """S_1 samples."""
    return p.descent.first_batch


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """No estimate yet."""
    return Memory(ops.copy(x), ops.copy(x), ops.copy(x))


spider = Part(
    {
        START: Phase(iterate, GRADIENT, draw, NEW, first_batch),
        GO: Phase(iterate, NOTHING, choose),
        SPIDER_BEHIND: Phase(previous, GRADIENT, remember_behind, NEW, batch),
        SPIDER_HERE: Phase(iterate, GRADIENT, correct, SAME, batch),
    },
    Settings,
    memory,
)
