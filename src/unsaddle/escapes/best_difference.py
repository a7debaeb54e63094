"""Which difference of noisy gradients is better: forward or central, over this radius or that.

With s the noise of a gradient, a difference over r is off by

    rho r/2 + rho_4 r^2/6 + 2 s/r    forward:  least near r = 2 sqrt(s/rho),
    rho_4 r^2/6 + s/r                central:  least at r = (3 s/rho_4)^(1/3).

Noise need not be the same over all distances: a program that starts from its last answer is less
noisy close by. So these terms are measured over each r that is tried, and the least sum is chosen;
s is at least what was declared, or measured for the best difference so far. Bending that shows, and
is more than all error over the best r so far, tells how much shorter r should be; noise may look
like bending over one r, but not over two.
A central difference takes twice the gradients: it is taken where the forward one hides gamma and it
is at least twice as good.
"""

from math import sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import Resolution, resolve
from unsaddle.escapes.probe import Probe
from unsaddle.escapes.probe_pair import target


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    visible: float = 6.0  # s/r, above 2: three deviations of what noise alone shows as rho_4 r^2/6
    enough: float = 1e-3  # of the curvature, (0, 1): the gamma that will do if none is given
    shortest: float = 1 / 16  # of r, (0, 1): derivatives are not the same over longer distances
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
    free: Scalar  # whether r is to be chosen


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
    free = p.escape.probe_radius == 0
    return Measured(r, noise, probe.held, ops.norm(odd) * 4 / 3, gamma, enough, free)


def bends(ops: Ops, error: Scalar, bending: Scalar, noise: Scalar) -> Scalar:
    """Say whether it is bending: more than noise, and than all error over the best r so far."""
    return bending > ops.maximum(TUNING.visible * noise, error)


def at_best(
    ops: Ops, m: Measured, error: Scalar, bending: Scalar, noise: Scalar, power: int
) -> tuple[Scalar, Scalar]:
    """The share of r at which b share^power + noise/share is least, if f bends; and the error."""
    seen = m.free & bends(ops, error, bending, noise)
    least = (noise / (power * ops.where(seen, bending, 1.0))) ** (1 / (1 + power))
    share = ops.where(seen, ops.maximum(least, TUNING.shortest), 1.0)
    return share, bending * share**power + noise / share


def better(ops: Ops, probe: Probe, error: Scalar, m: Measured) -> tuple[Probe, Scalar]:
    """Give the best difference so far, of which the error is given, or the better one by this r."""
    ahead, forward = at_best(ops, m, error, m.bending + m.quartic, 2 * m.noise, 1)
    both, central = at_best(ops, m, error, m.quartic, m.noise, 2)
    twice = (4 * forward > m.enough) & (central <= TUNING.finer * forward)
    share, off = ops.where(twice, both, ahead), ops.where(twice, central, forward)
    improves = off < error
    found = {
        "radius": share * m.radius,
        "bending": off - ops.where(twice, 1, 2) * m.noise / share,
        "noise": m.noise * m.radius,
        "sides": ops.where(twice, 2, 1),
    }
    kept = {name: ops.where(improves, a, getattr(probe, name)) for name, a in found.items()}
    return probe._replace(**kept), ops.where(improves, off, error)


def as_chosen(ops: Ops, p: Parameters, s: State, probe: Probe) -> Resolution:
    """What differences as they were chosen can resolve in this search."""
    c, before = p.escape, s.escape.resolution
    resolution = resolve(
        ops,
        s.x,
        probe.behind,
        s.episode,
        radius=ops.maximum(probe.radius, ops.tiny(s.x)),
        bending=probe.bending,
        smoothness=ops.maximum(c.smoothness, before.smoothness),
        curvature_tol=ops.maximum(before.asked, probe.error_floor),
        failure_probability=c.failure_probability,
        unit=ops.maximum(ops.roundoff(s.x), c.unit),
        noise=probe.noise,
        sides=probe.sides,
    )
    return resolution._replace(asked=before.asked)
