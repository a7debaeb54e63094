"""What L-BFGS remembers, the last pairs (s, y) above all, and the two-loop recursion over them.

Source: Nocedal (1980).
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import visible_change
from unsaddle.descents.gd import no_momentum
from unsaddle.descents.line_search import NO_LINE, Line
from unsaddle.descents.noise_floor import Floor


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    pairs: int = 20  # (s, y), 3 to 50: tier 1 takes fewest gradients with it
    fade: float = 0.9  # per step, (0, 1): a curvature met ten steps ago counts by a third
    value_noise: float = 2.0**15  # visible changes, 1 to 2^30: f may be noisier than its rounding


TUNING = Tuning()


class Memory(NamedTuple):
    """Where the descent is, and what it has met on the way."""

    gradient: Vector  # g(x)
    direction: Vector  # d
    steps: Vector  # the last s, a block
    bends: Vector  # the last y, a block
    inverses: Vector  # their 1/s'y, a row; zero where that is not positive
    count: Scalar  # pairs so far
    value: Scalar  # f(x)
    line: Line
    idle: Scalar  # steps since f last fell visibly
    curvature: Scalar  # l, as met
    change: Scalar  # rho, as met
    floor: Floor
    kinetic_energy = no_momentum

    def constants_met(self) -> tuple[Scalar, Scalar]:
        """l and rho, as met on the way."""
        return self.curvature, self.change


def memory(ops: Ops, x: Vector) -> Memory:
    """Nothing met yet."""
    return Memory(
        gradient=ops.times(0.0, x),
        direction=ops.times(0.0, x),
        steps=ops.vectors(x, TUNING.pairs),
        bends=ops.vectors(x, TUNING.pairs),
        inverses=ops.scalars(x, TUNING.pairs),
        count=0,
        value=inf,
        line=NO_LINE,
        idle=0,
        curvature=0.0,
        change=0.0,
        floor=Floor(),
    )


def value_noise(ops: Ops, d: Memory) -> Scalar:
    """The noise that f is allowed to have."""
    return TUNING.value_noise * visible_change(ops, d.gradient, d.value, d.value)


def learn(
    ops: Ops, d: Memory, value: Scalar, gradient: Vector, slope: Scalar, taken: Scalar
) -> Memory:
    """Where the step s = t d is taken, keep it with y = g(x + s) - g(x)."""
    bend, step = ops.add(gradient, -1.0, d.gradient), ops.times(d.line.t, d.direction)
    i, inverse = d.count % TUNING.pairs, _inverse(ops, ops.dot(step, bend))
    old_step, old_bend = ops.get_vector(d.steps, i), ops.get_vector(d.bends, i)
    known = ops.get_scalar(d.inverses, i)
    curvature, change = constants(ops, d, value, slope, ops.norm(step), ops.norm(bend))
    return d._replace(
        gradient=ops.switch(taken, ops.copy(gradient), d.gradient),
        steps=ops.set_vector(d.steps, i, ops.switch(taken, step, old_step)),
        bends=ops.set_vector(d.bends, i, ops.switch(taken, bend, old_bend)),
        inverses=ops.set_scalar(d.inverses, i, ops.where(taken, inverse, known)),
        count=ops.where(taken, d.count + 1, d.count),
        value=ops.where(taken, value, d.value),
        curvature=ops.where(taken, curvature, d.curvature),
        change=ops.where(taken, change, d.change),
    )


def constants(
    ops: Ops, d: Memory, value: Scalar, slope: Scalar, step: Scalar, bend: Scalar
) -> tuple[Scalar, Scalar]:
    """|y|/|s|, and 12 |f(x + s) - f(x) - s'(g + g_+)/2|/|s|^3 where that is more than noise."""
    length, fade = ops.maximum(step, ops.tiny(d.gradient)), TUNING.fade
    error = abs(value - d.value - d.line.t * (slope + d.line.slope) / 2)
    rho = ops.where(error > value_noise(ops, d), 12 * error / length / length / length, 0.0)
    return ops.maximum(bend / length, fade * d.curvature), ops.maximum(rho, fade * d.change)


def two_loop(ops: Ops, d: Memory) -> Vector:
    """-H g, with H = (s'y/y'y) I updated by each pair that there is."""
    pairs, newest = TUNING.pairs, (d.count - 1) % TUNING.pairs
    known = ops.where(d.count < pairs, d.count, pairs)

    def back(j: int, carry: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        (q, weights), i = carry, (newest - j) % pairs
        weight = ops.get_scalar(d.inverses, i) * ops.dot(ops.get_vector(d.steps, i), q)
        return ops.axpy(-weight, ops.get_vector(d.bends, i), q), ops.set_scalar(weights, i, weight)

    def forth(j: int, q: Vector) -> Vector:
        i = (newest + 1 - known + j) % pairs
        slope = ops.get_scalar(d.inverses, i) * ops.dot(ops.get_vector(d.bends, i), q)
        return ops.axpy(ops.get_scalar(weights, i) - slope, ops.get_vector(d.steps, i), q)

    first = ops.times(-1.0, d.gradient), ops.scalars(d.gradient, pairs)
    q, weights = ops.repeat(known, back, first)
    bend = ops.get_vector(d.bends, newest)
    scale = _inverse(ops, ops.get_scalar(d.inverses, newest) * ops.dot(bend, bend))
    return ops.repeat(known, forth, ops.scale(scale, q))


def _inverse(ops: Ops, a: Scalar) -> Scalar:
    """1/a for positive a, else zero."""
    return ops.where(a > 0, 1 / ops.where(a > 0, a, 1.0), 0.0)
