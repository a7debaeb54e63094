"""What L-BFGS remembers, and what it learns from a step."""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.records import new
from unsaddle.core.resolution import visible_change
from unsaddle.descents.compact_form import PAIRS, Pairs, add, forget
from unsaddle.descents.gd import no_momentum
from unsaddle.descents.line_search import NO_LINE, Line
from unsaddle.descents.noise_floor import Floor, stepped


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    fade: float = 0.9  # per step, (0, 1): a curvature met ten steps ago counts by a third
    value_noise: float = 2.0**15  # visible changes, 1 to 2^30: f may be noisier than its rounding


TUNING = Tuning()


class Memory(NamedTuple):
    """Where the descent is, and what it has met on the way."""

    gradient: Vector  # g(x)
    direction: Vector  # d
    pairs: Pairs
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

    def along(self, direction: Vector, line: Line) -> "Memory":
        """Give the memory of a search along a direction; faster than ``_replace``."""
        gradient, _, pairs, value, _, idle, curvature, change, floor = self
        return new(
            Memory,
            (gradient, direction, pairs, value, line, idle, curvature, change, floor),
        )


def memory(ops: Ops, x: Vector, settings: Any = None) -> Memory:
    """Nothing met yet; as a form to be filled there are no settings."""
    places = 2 * (PAIRS if settings is None else settings.pairs)
    return Memory(
        gradient=ops.times(0.0, x),
        direction=ops.times(0.0, x),
        pairs=forget(ops, x, ops.vectors(x, places), places),
        value=inf,
        line=NO_LINE,
        idle=0,
        curvature=0.0,
        change=0.0,
        floor=Floor(),
    )


def value_noise(ops: Ops, x: Vector, value: Scalar) -> Scalar:
    """The noise that f is allowed to have."""
    return TUNING.value_noise * visible_change(ops, x, value, value)


def learn(ops: Ops, d: Memory, value: Scalar, gradient: Vector) -> Memory:
    """Keep the step that was taken, and what it has met; consumes direction and gradient."""
    step = ops.scale(-d.line.t, d.direction)
    bend = ops.axpy(-1.0, gradient, d.gradient)
    length, change, norm = ops.norm(step), ops.norm(bend), ops.norm(gradient)
    curvature, rho = constants(ops, d, value, length, change)
    fell = d.value - value > d.line.noise / TUNING.value_noise
    pairs = add(ops, d.pairs, step, bend, change * change, gradient)
    idle, floor = ops.where(fell, 0, d.idle + 1), stepped(ops, d.floor, norm, d.curvature)
    here = ops.copy(gradient)
    return new(Memory, (here, step, pairs, value, d.line, idle, curvature, rho, floor))


def constants(
    ops: Ops, d: Memory, value: Scalar, step: Scalar, bend: Scalar
) -> tuple[Scalar, Scalar]:
    """|y|/|s|, and 12 |f(x + s) - f(x) - s'(g + g_+)/2|/|s|^3 where that is more than noise."""
    length, fade = ops.maximum(step, ops.tiny(d.gradient)), TUNING.fade
    error = abs(value - d.value - d.line.t * (d.line.here.slope + d.line.slope) / 2)
    rho = ops.where(error > d.line.noise, 12 * error / length / length / length, 0.0)
    return ops.maximum(bend / length, fade * d.curvature), ops.maximum(rho, fade * d.change)
