"""What an epoch of parameter-free accelerated descent remembers, and how it goes on.

Source: Marumo & Takeda (2024).
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO
from unsaddle.core.resolution import visible_change
from unsaddle.descents.noise_floor import Floor
from unsaddle.descents.progress import Progress


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    less: float = 0.9  # per epoch, (0, 1): the source's factor for L; what is known of rho fades so
    more: float = 2.0  # per failure, above 1: the source's factor for L
    first_probe: float = 1e-4  # of max(|x|, 1), (0, 1): the step that finds the first L
    shortest: float = 4.0  # roundoffs of |x|, 1 to 64: a shorter step does not move x


TUNING = Tuning()


class Epoch(NamedTuple):
    """What changes with every step of an epoch."""

    k: Scalar = 0
    path: Scalar = 0.0  # S, the sum of |x_i - x_{i-1}|^2
    weight: Scalar = 1.0  # Z, the sum of the weights of the mean
    top: Scalar = 0.0  # f(x_0)
    change: Scalar = 0.0  # M


class Memory(NamedTuple):
    """The epoch, and what it has learnt."""

    gradient: Vector  # g(x_k)
    before: Vector  # g(x_{k-1})
    step: Vector  # x_k - x_{k-1}
    ahead: Vector  # x_{k+1} - x_k
    mean: Vector  # of the y, weighted
    value: Scalar = 0.0  # f(x_k)
    smoothness: Scalar = 0.0  # L
    known: Scalar = 0.0  # rho, from the epochs before
    epoch: Epoch = Epoch()
    progress: Progress = Progress()
    floor: Floor = Floor()

    @property
    def direction(self) -> Vector:
        """Along which the noise of the gradient is measured."""
        return self.gradient

    def kinetic_energy(self, ops: Ops, p: Parameters) -> Scalar:
        """L |v|^2/2."""
        return self.smoothness * ops.dot(self.step, self.step) / 2

    def constants_met(self) -> tuple[Scalar, Scalar]:
        """l and rho, as met on the way."""
        return self.smoothness, self.known


def memory(ops: Ops, x: Vector, settings: Any = None) -> Memory:
    """Nothing learnt yet."""
    return Memory(*(ops.times(0.0, x) for _ in range(4)), mean=ops.copy(x))


def renew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin an epoch: x_0 = y_0 = x, S = 0, M = 0."""
    d = s.descent
    fresh = d._replace(
        ahead=ops.times(-1 / d.smoothness, d.gradient),
        mean=ops.copy(s.x),
        known=ops.maximum(d.epoch.change, TUNING.less * d.known),
        epoch=Epoch(top=d.value),
    )
    return s._replace(descent=fresh, phase=GO)


def momentum(d: Memory) -> Scalar:
    """theta = k/(k + 1)."""
    return d.epoch.k / (d.epoch.k + 1)


def trial(ops: Ops, p: Parameters, s: State) -> Vector:
    """x_{k+1} = y_k - g(y_k)/L."""
    return ops.add(s.x, 1.0, s.descent.ahead)


def forward(ops: Ops, p: Parameters, s: State) -> Vector:
    """y_k = x_k + theta (x_k - x_{k-1})."""
    return ops.add(s.x, momentum(s.descent), s.descent.step)


def mean(ops: Ops, p: Parameters, s: State) -> Vector:
    """The mean of y_0, ..., y_{k-1}."""
    return ops.copy(s.descent.mean)


def size(ops: Ops, s: State) -> Scalar:
    """|x|, but at least one."""
    return ops.maximum(ops.norm(s.x), 1.0)


def rounding(ops: Ops, s: State) -> Scalar:
    """What rounding may do to f."""
    return visible_change(ops, s.x, s.descent.value, s.descent.epoch.top)


def moved(
    ops: Ops, d: Memory, value: Scalar, gradient: Vector, path: Scalar, taken: Scalar
) -> Memory:
    """x_k <- x_{k+1} where the step was taken, else L <- 2 L."""
    k = ops.where(taken, d.epoch.k + 1, d.epoch.k)
    return d._replace(
        gradient=ops.switch(taken, ops.retain(gradient), d.gradient),
        before=ops.switch(taken, d.gradient, d.before),
        step=ops.switch(taken, d.ahead, d.step),
        value=ops.where(taken, value, d.value),
        smoothness=ops.where(taken, d.smoothness, TUNING.more * d.smoothness),
        epoch=d.epoch._replace(k=k, path=ops.where(taken, path, d.epoch.path)),
    )


def averaged(ops: Ops, p: Parameters, s: State, gradient: Vector, over: Scalar) -> Memory:
    """x_{k+1} - x_k = theta (x_k - x_{k-1}) - g(y_k)/L, and y_k goes into the mean."""
    d, th = s.descent, momentum(s.descent)
    weight = 1 + th * d.epoch.weight
    share = ops.where(over, 0.0, 1 / weight)  # of y_k in the mean
    return d._replace(
        ahead=ops.axpy(-1 / d.smoothness, gradient, ops.times(th, d.step)),
        mean=ops.axpy(share, forward(ops, p, s), ops.scale(1 - share, d.mean)),
        epoch=d.epoch._replace(weight=weight),
    )


def ended(ops: Ops, d: Memory, value: Scalar) -> Scalar:
    """L <- 0.9 L at the end of an epoch, or 2 L where it left the domain."""
    return ops.where(value < inf, TUNING.less, TUNING.more) * d.smoothness
