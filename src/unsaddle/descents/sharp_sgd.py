"""SGD in balls: where it stays in one for long, the mean of its iterates is the answer.

Source: Fang, Lin & Zhang (2019), "Sharp analysis for nonconvex SGD escaping from saddle points", by
way of its descriptions elsewhere. From x^0, x^{k+1} = x^k - eta (g(x^k; theta) + xi). Where
|x^{k+1} - x^0| > B, x^{k+1} is the next x^0. After K_0 steps in one ball the mean of x^0, ...,
x^{K_0 - 1} is second-order.

Differences from the source:

1. xi is normal, of root mean square length ``noise``; uniform on a ball in print, where it may be
   left out if the samples themselves are noisy in every direction.
2. A step takes the mean over ``batch`` samples, one in print.

Noise is a function of (seed, t), through the number ``first`` + t: those below are of searches, and
that of a proof must be independent of x.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, NEW, START
from unsaddle.descents.gd import no_momentum, not_measured
from unsaddle.descents.sgd import batch


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    first: int = 1000  # number of a stream, above 100: more than there are searches in a proof


TUNING = Tuning()


class Memory(NamedTuple):
    """The ball."""

    centre: Vector  # x^0
    mean: Vector  # of x^0 to x^{k-1}, less x^0
    steps: Scalar = 0  # k
    drawn: Scalar = 0  # xi so far, in all balls
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta
    batch: int  # samples in each gradient
    noise: float  # root mean square length of xi
    ball: float  # B
    window: float  # K_0


def step(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x^{k+1} = x^k - eta (g(x^k; theta) + xi); then leave the ball, go on, or report the mean."""
    d, t = s.descent, s.descent.drawn + 1
    k, spread = d.steps + 1, p.descent.noise / ops.size(s.x) ** 0.5
    here = ops.add(s.x, -1.0, d.centre)
    mean = ops.axpy(1 / k, here, ops.scale((k - 1) / k, d.mean))
    move = ops.axpy(1.0, gradient, ops.scale(spread, ops.normal(s.x, s.seed, TUNING.first + t)))
    x = ops.axpy(-p.descent.step, move, s.x)
    left = ops.norm(ops.add(x, -1.0, d.centre)) > p.descent.ball
    over = ops.where(left, False, k >= p.descent.window)
    x = ops.switch(over, ops.add(d.centre, 1.0, mean), x)
    centre = ops.switch(left, ops.copy(x), d.centre)
    after = Memory(centre, mean, ops.where(left | over, 0, k), t)
    return s.descended(ops.where(over, s.report, GO), x, s.left, after)


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """The first ball, about the start."""
    return Memory(ops.copy(x), ops.times(0.0, x))


STEP = Phase(iterate, GRADIENT, step, NEW, batch)

sharp_sgd = Part(
    {START: STEP, GO: STEP},
    Settings,
    memory,
)
