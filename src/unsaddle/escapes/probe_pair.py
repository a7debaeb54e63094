"""What probes over r and r/2 along one direction show: the error of a difference, and gamma."""

from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import (
    Resolution,
    growth_needed,
    resolve,
    vacuous,
    visible_curvature,
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    clear: float = 1e-2  # of gamma, (0, 1]: 4 e at most, where gamma comes of a measured rho
    shorter: float = 0.25  # per attempt, (0, 1): r while it is shortened
    resolved: float = 0.75  # (1/2, 1): |H v_1| over r/2 by that over r; 1/2 if bending is all
    same: float = 3.0  # 1 to 4: errors within this factor are alike; bending falls by four with r
    longer: float = 4.0  # per attempt, above 1: r while it is lengthened
    noisy: float = 1.5  # (1, 2): |H v_1| over r/2 by that over r; 1 if it is smooth, 2 if noise
    change: float = 4.0  # of the rho seen here, above 1: if a descent met more, it met noise


TUNING = Tuning()


class View(NamedTuple):
    """What probes over r and r/2 along v_1 show."""

    resolution: Resolution
    over_r: Scalar  # |H v_1|
    over_half: Scalar  # |H v_1|, over r/2
    bending: Scalar  # rho r/2: its share of the error, the rest is rounding
    change: Scalar  # rho, as measured


class Judged(NamedTuple):
    """What a pair of probes says of its radius."""

    nothing: Scalar  # whether both differences are zero: flat, or a gradient too coarse for r
    noisy: Scalar  # whether bending hides gamma as noise would
    same: Scalar  # whether the error is about that of the pair before
    back: Scalar  # whether the radius before was better, and will do
    factor: Scalar  # what r is to be multiplied by, zero if it will do


def discern(ops: Ops, p: Parameters, s: State, gradient: Vector) -> View:
    """e = rho r/2 and what rounding adds, and gamma = sqrt(rho eps) if it is not given."""
    e, c, r = s.escape, p.escape, s.escape.resolution.radius
    over_r, over_half, change = compared(ops, p, s, gradient)
    met, changing = s.descent.constants_met()
    rho, met = ops.maximum(c.hessian_lipschitz, change), credible(ops, p, s, met, over_r)
    asked = target(ops, p, over_r, rho, changing)
    least = ops.where(over_r == 0, 2 * p.tolerance / r, e.probe.error_floor)
    resolution = resolve(
        ops, s.x, e.gradient, s.episode, radius=r, bending=rho * r / 2,
        smoothness=ops.maximum(ops.maximum(c.smoothness, met), over_r),
        curvature_tol=ops.maximum(asked, least), failure_probability=c.failure_probability,
        unit=ops.maximum(ops.roundoff(s.x), c.unit), products=p.products,
    )  # fmt: skip
    bending = ops.where(p.products, 0.0, rho * r / 2)
    return View(resolution._replace(asked=asked), over_r, over_half, bending, change)


def credible(ops: Ops, p: Parameters, s: State, met: Scalar, over_r: Scalar) -> Scalar:
    """The l of the descent, but at most |H v_1| sqrt(2n/pi)/delta: noise may have doubled it."""
    # as |H v_1| >= l |<u, v_1>|, a true l is above that with probability at most delta
    most = over_r * growth_needed(ops, s.x, s.episode, p.escape.failure_probability)
    return ops.where((over_r > 0) & (met > most), most, met)


def compared(ops: Ops, p: Parameters, s: State, gradient: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """|H v_1| over r and over r/2, and rho = 4 |g(r) - 2 g(r/2) + g(0)|/r^2."""
    e, r = s.escape, s.escape.resolution.radius
    bend, short = ops.add(gradient, -1.0, e.gradient), ops.add(e.probe.kept, -1.0, e.gradient)
    over_r, alone = ops.norm(bend) / r, e.probe.unpaired | p.products  # without a probe over r/2
    second = ops.where(alone, 0.0, ops.norm(ops.axpy(-2.0, short, bend)))
    seen = 4 * second / ops.maximum(r * r, ops.tiny(s.x))
    over_half = ops.where(alone, over_r, 2 * ops.norm(short) / r)
    return over_r, over_half, ops.where(alone, s.descent.constants_met()[1], seen)


def target(ops: Ops, p: Parameters, over_r: Scalar, rho: Scalar, changing: Scalar) -> Scalar:
    """The gamma given, or sqrt(rho eps) within ``finest`` and ``coarsest`` of the curvature met."""
    c = p.escape
    noisy = (ops.maximum(c.unit, c.gradient_noise) > 0) & (changing > TUNING.change * rho)
    changing = ops.where(noisy, TUNING.change * rho, changing)
    known = ops.where(c.hessian_lipschitz > 0, c.hessian_lipschitz, ops.maximum(rho, changing))
    own = ops.sqrt(known * p.tolerance)
    coarse = (c.finest > 0) & (own > c.coarsest * over_r)
    own = ops.maximum(ops.where(coarse, c.coarsest * over_r, own), c.finest * over_r)
    return ops.where(c.curvature_tol > 0, c.curvature_tol, own)


def bending_hides(ops: Ops, p: Parameters, e: Any, view: View) -> tuple[Scalar, Scalar]:
    """Say whether bending hides gamma, 4 e > gamma; and the share of r that would show it."""
    resolution, over_r, bending = view.resolution, view.over_r, view.bending
    share = ops.where(p.escape.curvature_tol > 0, 1.0, TUNING.clear)
    gamma = share * ops.maximum(resolution.asked, e.probe.error_floor)
    rounding = resolution.error - bending
    bends = ops.maximum(bending, ops.tiny(e.gradient))
    half = gamma / (2 * visible_curvature(bends))  # bending is to be half of the error then
    clear = ops.maximum(half, ops.sqrt(rounding / bends))
    at_once = (clear < TUNING.shorter) & (visible_curvature(bending) < over_r)
    hides = visible_curvature(resolution.error) > gamma
    hides = hides & (bending > visible_curvature(rounding))
    return hides, ops.where(at_once, clear, TUNING.shorter)


def unresolvable(ops: Ops, p: Parameters, view: View) -> Scalar:
    """Say whether no claim can come of r: it is too wide for f, or gamma above all that is seen."""
    resolution, over_r, over_half, bending, _ = view
    curves = over_half > TUNING.resolved * over_r
    wide = (resolution.asked > over_r) & (visible_curvature(bending) > over_r) & curves
    met = ops.where(p.escape.unit > 0, 0.0, resolution.smoothness)  # noise is met as curvature
    most = ops.maximum(over_r, p.escape.finest * met)
    return wide | (vacuous(ops, resolution._replace(smoothness=most)) & (most > 0))


def judge(ops: Ops, p: Parameters, e: Any, view: View) -> Judged:
    """Compare what this pair of probes shows with the pair before."""
    bent, shorter = bending_hides(ops, p, e, view)
    nothing, error, before = view.over_r == 0, view.resolution.error, e.resolution.error
    lengthened = (e.probe.radius_factor > 1) | (p.escape.probe_radius > 0)
    back = bent & (error >= before) & (visible_curvature(before) <= e.resolution.asked)
    as_noise = (error >= before) | lengthened | (view.over_half > TUNING.noisy * view.over_r)
    noisy = bent & as_noise & (view.change > p.escape.hessian_lipschitz)
    longer = ops.where(e.probe.radius_factor < 1, 0.0, TUNING.longer)  # else it goes to and fro
    factor = ops.where(nothing, longer, ops.where(bent, shorter, 0.0))
    ratio = error / ops.maximum(before, ops.tiny(e.gradient))
    same = (ratio > 1 / TUNING.same) & (ratio < TUNING.same)
    return Judged(nothing, noisy, same, back, ops.where(noisy, 0.0, factor))
