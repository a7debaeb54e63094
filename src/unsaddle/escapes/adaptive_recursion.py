"""What adaptive ANC remembers, and one step of its recursion with the l and the theta of now."""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.evidence import Evidence, of_search
from unsaddle.core.kernel import Parameters
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import NO_RESOLUTION, Resolution
from unsaddle.escapes import anc
from unsaddle.escapes.backtracking_jump import NO_BACKTRACKING, Backtracking
from unsaddle.escapes.probe import Probe


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    exceeds: float = 1.05  # of l, above 1: a curvature met that changes l; less is rounding
    margin: float = 1.3  # of |H u|, above 1: l, where it was exceeded; the next may be larger


TUNING = Tuning()


class Scheme(NamedTuple):
    """With momentum or without."""

    momentum: bool

    def friction(self, ops: Ops, ratio: Scalar) -> Scalar:
        """theta, where gamma is this share of l."""
        return ops.sqrt(ratio) / 2 if self.momentum else 1.0

    def steps(self, ops: Ops, ratio: Scalar) -> Scalar:
        """How many steps a decade of growth takes then."""
        return 1 / ops.sqrt(ratio) if self.momentum else 1 / ratio


class Memory(NamedTuple):
    """The search at x~."""

    direction: Vector  # xi, then the direction of lowest curvature so far
    probe: Probe
    recursion: anc.Memory  # x_t, z_t and the growth; its gradient is g(x~)
    curvature: Scalar  # lowest Rayleigh quotient so far
    smoothness: Scalar  # l
    found: Scalar  # after how many steps curvature enough was found
    resolution: Resolution
    jump: Backtracking

    def largest_error(self, ops: Ops) -> Scalar:
        """The largest error of a curvature that was measured."""
        return self.resolution.error

    def evidence(self, ops: Ops, x: Vector) -> Evidence:
        """What the search has measured."""
        found = of_search(self, ops, x)
        return found._replace(noise=self.probe.noise, growth=self.recursion.growth)

    @property
    def gradient(self) -> Vector:
        """g(x~)."""
        return self.recursion.gradient

    @property
    def steps(self) -> Scalar:
        """How many there were."""
        return self.recursion.steps

    @property
    def slowest(self) -> tuple[Vector, Scalar]:
        """What decayed slowest, z_t - x~, and how long it is."""
        return self.recursion.ahead, self.recursion.extent


class Step(NamedTuple):
    """What a step of ``anc.py`` asks for; no end of its own."""

    search_step: Scalar  # eta
    search_friction: Scalar  # theta
    enough: float = inf


def advance(
    ops: Ops, p: Parameters, e: Memory, smoothness: Scalar, friction: Scalar, bend: Vector
) -> Memory:
    """Take one step of ``anc.py`` with this l and theta, and keep the lowest curvature met."""
    u = ops.times(1 / e.recursion.extent, e.recursion.ahead)
    now = Step(1 / smoothness, friction)
    start = at_radius(ops, e.recursion, e.resolution)
    recursion, _ = anc.step(ops, p._replace(escape=now), start, bend)
    lower = recursion.curvature < e.curvature
    enough = e.resolution.shows(recursion.curvature, p.escape.enough)
    return e._replace(
        direction=ops.switch(lower, u, e.direction),
        recursion=recursion,
        curvature=recursion.curvature,
        smoothness=smoothness,
        found=ops.where(enough & (e.found == inf), recursion.steps, e.found),
    )


def smoothness_met(ops: Ops, e: Memory, bend: Vector) -> Scalar:
    """l = 1.3 |H u| where |H u| is above the l of before; at least gamma; bend is r H u."""
    curvature = ops.norm(bend) / e.resolution.radius
    exceeds = curvature > TUNING.exceeds * e.smoothness
    met = ops.where(exceeds, TUNING.margin * curvature, e.smoothness)
    return ops.maximum(met, e.resolution.curvature_tol)


def at_radius(ops: Ops, recursion: anc.Memory, resolution: Resolution) -> anc.Memory:
    """Scale x_t and z_t such that |z_t - x~| = r, where the gradient was queried."""
    scale = resolution.radius / recursion.extent
    return recursion._replace(
        direction=ops.scale(scale, recursion.direction),
        ahead=ops.scale(scale, recursion.ahead),
        extent=resolution.radius,
        resolution=resolution,
    )


def memory(ops: Ops, x: Vector, settings: Any = None) -> Memory:
    """Nothing known yet."""
    recursion = anc.memory(ops, x)
    probe = Probe(x, x)
    return Memory(x, probe, recursion, inf, 0.0, inf, NO_RESOLUTION, NO_BACKTRACKING)
