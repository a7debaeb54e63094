"""Which difference of noisy gradients is better: forward or central, over this radius or that.

With s the noise of a gradient, a difference over r is off by

    rho r/2 + rho_4 r^2/6 + 2 s/r    forward:  least near r = 2 sqrt(s/rho),
    rho_4 r^2/6 + s/r                central:  least at r = (3 s/rho_4)^(1/3).

Noise need not be the same over all distances: a program that starts from its last answer is less
noisy close by. So these terms are measured over each r that is tried, and the least sum is chosen;
s is at least what was declared, or measured for the best difference so far.
A central difference takes twice the gradients: it is taken where the forward one hides gamma and it
is at least twice as good; a rho_4 that noise hides is then left out on both sides.
"""

from math import sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import Resolution, resolve, visible_curvature
from unsaddle.escapes.probe import Probe
from unsaddle.escapes.probe_pair import target


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    visible: float = 6.0  # s/r, above 2: three deviations of what noise alone shows as rho_4 r^2/6
    enough: float = 1e-3  # of the curvature, (0, 1): the gamma that will do if none is given
    finer: float = 0.5  # (0, 1): central by forward error at which twice the gradients pay


TUNING = Tuning()


class Measured(NamedTuple):
    """What gradients at x~ +- r v_1 and x~ +- (r/2) v_1 show."""

    radius: Scalar  # r
    noise: Scalar  # s/r
    bending: Scalar  # rho r/2
    quartic: Scalar  # rho_4 r^2/6
    gamma: Scalar  # that is asked for
    enough: Scalar  # the gamma that will do


def measured(ops: Ops, p: Parameters, e: Any, gradient: Vector) -> Measured:
    """rho_4 r^2/6 = (4/3) |H v_1 over r - H v_1 over r/2|, s = |the fourth difference|/sqrt(70)."""
    probe, r = e.probe, e.resolution.radius
    odd = ops.add(probe.kept, 1 / r, gradient)
    even = ops.add(ops.add(probe.behind, -4.0, gradient), 8.0, e.gradient)
    noise = ops.maximum(probe.noise, ops.norm(even) / sqrt(70)) / r
    rho = ops.where(probe.held > TUNING.visible * noise, 2 * probe.held / r, 0.0)
    curvature, given = e.resolution.smoothness, p.escape.curvature_tol > 0
    gamma = target(ops, p, curvature, rho, 0.0)
    enough = ops.maximum(gamma, ops.where(given, 0.0, TUNING.enough * curvature))
    return Measured(r, noise, probe.held, ops.norm(odd) * 4 / 3, gamma, enough)


def hides(m: Measured) -> Scalar:
    """Say whether bending cannot be told from noise over this r."""
    return m.quartic <= TUNING.visible * m.noise


def error_over(ops: Ops, m: Measured) -> tuple[Scalar, Scalar]:
    """The error of the difference over r that is to be taken, and whether that is the central."""
    forward, central = m.bending + m.quartic + 2 * m.noise, m.quartic + m.noise
    quartic = ops.where(hides(m), 0.0, m.quartic)
    finer = quartic + m.noise <= TUNING.finer * (m.bending + quartic + 2 * m.noise)
    twice = (visible_curvature(forward) > m.enough) & finer
    return ops.where(twice, central, forward), twice


def better(ops: Ops, probe: Probe, error: Scalar, m: Measured) -> tuple[Probe, Scalar]:
    """Give the best difference so far, of which the error is given, or the better one over r."""
    off, twice = error_over(ops, m)
    improves = off < error
    found = {
        "radius": m.radius,
        "bending": m.quartic + ops.where(twice, 0.0, m.bending),
        "noise": m.noise * m.radius,
        "sides": ops.where(twice, 2, 1),
    }
    kept = {name: ops.where(improves, a, getattr(probe, name)) for name, a in found.items()}
    return probe._replace(**kept), ops.where(improves, off, error)


def as_chosen(ops: Ops, p: Parameters, s: State, probe: Probe) -> Resolution:
    """What differences as they were chosen can resolve in this search."""
    c, before = p.escape, s.escape.resolution
    resolution = resolve(
        ops, s.x, probe.behind, s.episode, radius=ops.maximum(probe.radius, ops.tiny(s.x)),
        bending=probe.bending, smoothness=ops.maximum(c.smoothness, before.smoothness),
        curvature_tol=ops.maximum(before.asked, probe.error_floor), noise=probe.noise,
        failure_probability=c.failure_probability, sides=probe.sides,
        unit=ops.maximum(ops.roundoff(s.x), c.unit),
    )  # fmt: skip
    return resolution._replace(asked=before.asked)
