"""What an epoch of parameter-free accelerated descent remembers, and what it learns of rho.

Source: Marumo & Takeda (2024).
"""

from math import inf
from typing import NamedTuple

from unsaddle.kernel import GO, Ops, Parameters, Scalar, State, Vector

LESS = 0.9  # what L is multiplied by after an epoch, and what is known of rho
RISES = 64


class Memory(NamedTuple):
    """The epoch, and what it has learnt."""

    gradient: Vector  # g(x_k)
    before: Vector  # g(x_{k-1})
    step: Vector  # x_k - x_{k-1}
    ahead: Vector  # x_{k+1} - x_k
    mean: Vector  # of the y, weighted
    weight: Scalar  # Z, the sum of the weights
    k: Scalar
    path: Scalar  # S, the sum of |x_i - x_{i-1}|^2
    value: Scalar  # f(x_k)
    top: Scalar  # f(x_0)
    smoothness: Scalar  # L
    change: Scalar  # M
    known: Scalar  # rho, from the epochs before
    least: Scalar  # smallest |g|
    idle: Scalar  # steps since f or |g| last fell
    far: Scalar  # length of a step that is an endless fall
    rises: Scalar  # how many more epochs may end where f rises

    def kinetic(self, ops: Ops, p: Parameters) -> Scalar:
        """L |v|^2/2."""
        return self.smoothness * ops.dot(self.step, self.step) / 2

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho, as met on the way."""
        return self.smoothness, self.known


def memory(ops: Ops, x: Vector) -> Memory:
    """Nothing learnt yet."""
    zero = ops.times(0.0, x)
    return Memory(
        zero, zero, zero, zero, ops.keep(x), 1.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0,
        RISES,
    )  # fmt: skip


def renew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin an epoch: x_0 = y_0 = x, S = 0, M = 0."""
    d = s.descent
    fresh = d._replace(
        ahead=ops.times(-1 / d.smoothness, d.gradient),
        mean=ops.keep(s.x),
        weight=1.0,
        k=0,
        path=0.0,
        top=d.value,
        change=0.0,
        known=ops.maximum(d.change, LESS * d.known),
    )
    return s._replace(descent=fresh, phase=GO)


def trial(ops: Ops, p: Parameters, s: State) -> Vector:
    """x_{k+1} = y_k - g(y_k)/L."""
    return ops.add(s.x, 1.0, s.descent.ahead)


def forward(ops: Ops, p: Parameters, s: State) -> Vector:
    """y_k = x_k + theta (x_k - x_{k-1}), theta = k/(k + 1)."""
    return ops.add(s.x, s.descent.k / (s.descent.k + 1), s.descent.step)


def mean(ops: Ops, p: Parameters, s: State) -> Vector:
    """The mean of y_0, ..., y_{k-1}."""
    return ops.keep(s.descent.mean)


def size(ops: Ops, s: State) -> Scalar:
    """|x|, but at least one."""
    return ops.maximum(ops.norm(s.x), 1.0)


def error(ops: Ops, s: State) -> Scalar:
    """What rounding may do to f."""
    return 8 * ops.roundoff(s.x) * ops.maximum(abs(s.descent.value), abs(s.descent.top))


def bound(ops: Ops, s: State, th: Scalar, value: Scalar, gradient: Vector) -> Scalar:
    """Bound rho from below, by f and g at y = x + theta (x - x_-).

    Args:
        ops: The backend.
        s: At x.
        th: Theta.
        value: f(y); infinite where there is none.
        gradient: g(y).

    Returns:
        The larger of 12 (f(y) - f(x) - <g(y) + g(x), y - x>/2)/|y - x|^3, the error of the
        trapezoidal rule, and |g(y) + theta g(x_-) - (1 + theta) g(x)|/(theta |x - x_-|^2); zero
        for either that rounding could have made.
    """
    d, inside = s.descent, value < inf
    square = ops.maximum(ops.dot(d.step, d.step), ops.tiny(s.x))
    cube = ops.maximum(th**3 * square * ops.sqrt(square), ops.tiny(s.x))
    bow = value - d.value - th * (ops.dot(gradient, d.step) + ops.dot(d.gradient, d.step)) / 2
    skew = ops.norm(ops.axpy(-1 - th, d.gradient, ops.add(gradient, th, d.before)))
    haze = 32 * ops.roundoff(s.x) * (ops.norm(gradient) + d.smoothness * size(ops, s))
    return ops.maximum(
        ops.where(inside & (bow > 24 * error(ops, s)), 12 * bow / cube, 0.0),
        ops.where(inside & (skew > haze), skew / (th * square), 0.0),
    )
