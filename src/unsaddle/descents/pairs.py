"""What L-BFGS remembers, the last pairs (s, y) above all, and the two-loop recursion over them.

Source: Nocedal (1980).
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.descents.wolfe import Line, along
from unsaddle.kernel import Ops, Scalar, Vector

PAIRS = 20


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


def steer(ops: Ops, d: Memory) -> Vector:
    """-H g, with H = (s'y/y'y) I updated by each pair; a place that is empty changes nothing."""
    newest = (d.count - 1) % PAIRS

    def back(j: int, carry: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        (q, weights), i = carry, (newest - j) % PAIRS
        weight = _inverse(ops, ops.read(d.products, i)) * ops.dot(ops.pick(d.steps, i), q)
        return ops.axpy(-weight, ops.pick(d.bends, i), q), ops.record(weights, i, weight)

    def forth(j: int, q: Vector) -> Vector:
        i = (newest + 1 + j) % PAIRS
        slope = _inverse(ops, ops.read(d.products, i)) * ops.dot(ops.pick(d.bends, i), q)
        return ops.axpy(ops.read(weights, i) - slope, ops.pick(d.steps, i), q)

    first = ops.times(-1.0, d.gradient), ops.blank(d.gradient, PAIRS)
    q, weights = ops.repeat(PAIRS, back, first)
    bend = ops.pick(d.bends, newest)
    scale = ops.read(d.products, newest) * _inverse(ops, ops.dot(bend, bend))
    return ops.repeat(PAIRS, forth, ops.scale(scale, q))


def _inverse(ops: Ops, a: Scalar) -> Scalar:
    """1/a for positive a, else zero."""
    return ops.where(a > 0, 1 / ops.where(a > 0, a, 1.0), 0.0)
