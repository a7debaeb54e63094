"""What L-BFGS remembers, the last pairs (s, y) above all, and the two-loop recursion over them.

Source: Nocedal (1980).
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.descents.wolfe import Line, along
from unsaddle.kernel import Ops, Scalar, Vector

PAIRS, FADE = 20, 0.9
HAZE = 2.0**16  # how much more noise than rounding of its value a function may have


class Memory(NamedTuple):
    """Where the descent is, and what it has seen on the way."""

    gradient: Vector  # g(x)
    direction: Vector  # d
    steps: Vector  # the last s
    bends: Vector  # the last y
    products: Vector  # their s'y
    count: Scalar  # pairs so far
    value: Scalar  # f(x)
    line: Line
    idle: Scalar  # steps since f last fell visibly
    curvature: Scalar  # l, as met
    change: Scalar  # rho, as met

    def kinetic(self, ops: Ops, p: Any) -> Scalar:
        """Zero: there is no momentum."""
        return 0.0

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho, as met on the way."""
        return self.curvature, self.change


def memory(ops: Ops, x: Vector) -> Memory:
    """Nothing seen yet."""
    zero, room, row = ops.times(0.0, x), ops.shelf(x, PAIRS), ops.blank(x, PAIRS)
    line = along(0.0, 0.0, 0.0)
    return Memory(zero, zero, room, ops.times(0.0, room), row, 0, inf, line, 0, 0.0, 0.0)


def learn(
    ops: Ops, d: Memory, value: Scalar, gradient: Vector, slope: Scalar, taken: Scalar
) -> Memory:
    """Keep s = t d and y = g(x + s) - g(x), and how the curvature is, and changes, along s."""
    line = d.line
    bend, step = ops.add(gradient, -1.0, d.gradient), ops.times(line.t, d.direction)
    i, product = d.count % PAIRS, ops.dot(step, bend)
    length, rise = ops.maximum(ops.norm(step), ops.tiny(step)), ops.norm(bend)
    error = abs(value - d.value - line.t * (slope + line.slope) / 2)
    change = ops.where(error > haze(ops, d), 12 * error / length / length / length, 0.0)
    return d._replace(
        gradient=ops.switch(taken, ops.keep(gradient), d.gradient),
        steps=ops.put(d.steps, i, ops.switch(taken, step, ops.keep(ops.pick(d.steps, i)))),
        bends=ops.put(d.bends, i, ops.switch(taken, bend, ops.keep(ops.pick(d.bends, i)))),
        products=ops.record(d.products, i, ops.where(taken, product, ops.read(d.products, i))),
        count=ops.where(taken, d.count + 1, d.count),
        value=ops.where(taken, value, d.value),
        curvature=ops.where(taken, ops.maximum(rise / length, FADE * d.curvature), d.curvature),
        change=ops.where(taken, ops.maximum(change, FADE * d.change), d.change),
    )


def haze(ops: Ops, d: Memory) -> Scalar:
    """The noise that f is allowed to have; of an infinite trial too."""
    return HAZE * 8 * ops.roundoff(d.gradient) * abs(d.value)


def steer(ops: Ops, d: Memory) -> Vector:
    """-H g, with H = (s'y/y'y) I updated by each pair; a place that is empty changes nothing."""
    newest = [(d.count - 1 - j) % PAIRS for j in range(PAIRS)]
    pairs = [(ops.pick(d.steps, i), ops.pick(d.bends, i)) for i in newest]
    inverse = [_inverse(ops, ops.read(d.products, i)) for i in newest]
    q, weights = ops.times(-1.0, d.gradient), []
    for (step, bend), r in zip(pairs, inverse, strict=True):
        weights.append(r * ops.dot(step, q))
        q = ops.axpy(-weights[-1], bend, q)
    _, bend = pairs[0]
    q = ops.scale(ops.read(d.products, newest[0]) * _inverse(ops, ops.dot(bend, bend)), q)
    for (step, bend), r, w in reversed([*zip(pairs, inverse, weights, strict=True)]):
        q = ops.axpy(w - r * ops.dot(bend, q), step, q)
    return q


def _inverse(ops: Ops, a: Scalar) -> Scalar:
    """1/a for positive a, else zero."""
    return ops.where(a > 0, 1 / ops.where(a > 0, a, 1.0), 0.0)
