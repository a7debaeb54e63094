"""Which difference of noisy gradients is best: forward or central, over this radius or that.

With s the noise of a gradient, a difference over r is off by

    rho r/2 + rho_4 r^2/6 + 2 s/r    forward:  least near r = 2 sqrt(s/rho),
    rho_4 r^2/6 + s/r                central:  least at r = (3 s/rho_4)^(1/3).

What these terms are is seen as r is lengthened by factors of f, in ``noisy_radius.py``. Let H_k be
the central difference over r_k. |H_k - H_{k-1}| is rho_4 r_k^2/6, or the noise of H_{k-1}, which is
s/(sqrt(2) r_{k-1}): the s that would explain it is

    s_k = sqrt(2) r_{k-1} |H_k - H_{k-1}|.

It is the same for all k while it is noise, and is multiplied by f^3 where it is bending. So it is
noise if it is that which is known of, or if the next one is not larger. Where it rises after that,
r_k bends too much, and a radius up to r_{k-1} is best. Noise need not be what was declared, or seen
close by: a program that starts from its last answer is less noisy there. So where s_k was not
understood before it rises, it may be noise; if it rises once more, f bends from the first r on.

A central difference takes twice the gradients: it is taken where the forward one hides gamma and it
is at least twice as good.
"""

from math import inf, sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import Resolution, resolve
from unsaddle.escapes.probe import Probe
from unsaddle.escapes.probe_pair import target


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    visible: float = 6.0  # noises, above 2: three deviations of what noise alone shows as bending
    rises: float = 4.0  # of s_{k-1}, (2, 64): by more it is bending
    stiffer: float = 8.0  # above 1: bending along a stiff direction by that along a random one
    shortest: float = 1 / 64  # of r_{k-1}, (0, 1): as far as bending is foretold
    enough: float = 1e-3  # of the curvature, (0, 1): the gamma that will do if none is given
    finer: float = 0.5  # (0, 1): central by forward error at which twice the gradients pay


TUNING = Tuning()


class Measured(NamedTuple):
    """What differences over r_k and over the radius before it show."""

    radius: Scalar  # r_k
    before: Scalar  # r_{k-1}
    off: Scalar  # |H_k - H_{k-1}|
    explains: Scalar  # s_k
    noise: Scalar  # s
    again: Scalar  # whether s_k is s_{k-1}
    bends: Scalar  # whether f bends over r_k more than is good
    doubtful: Scalar  # whether it may do so, or noise that was not known of rises
    even: Scalar  # rho r_k/2
    gamma: Scalar  # that is asked for
    enough: Scalar  # the gamma that will do


class Difference(NamedTuple):
    """A difference of gradients, and its error."""

    radius: Scalar
    bending: Scalar  # its share of the error
    noise: Scalar  # s
    sides: Scalar
    error: Scalar


def measured(
    ops: Ops, p: Parameters, e: Any, bend: Vector, even: Scalar, longest: Scalar
) -> Measured:
    """Compare H_k with H_{k-1}; the first has none before it."""
    r, probe, last, known = e.resolution.radius, e.probe, e.resolution.error, e.probe.noise
    before, first = r / probe.radius_factor, probe.stage == 0
    off = ops.where(first, 0.0, ops.norm(ops.add(bend, -1.0, probe.kept)))
    explains = ops.where(first, inf, sqrt(2) * before * off)
    again = ops.where(last < inf, explains <= TUNING.rises * last, False)  # as before: noise
    noisy, sure = again | (explains <= TUNING.visible * known), last <= TUNING.visible * known
    rises = ops.where(first | noisy, False, last < inf)
    bends = (rises & (sure | (probe.held > 0))) | ops.where(first | noisy, False, longest)
    noise = ops.where(again, ops.maximum(known, last), known)
    rho = ops.where(even * r > TUNING.visible * noise, 2 * even / r, 0.0)
    curvature, given = ops.norm(bend), p.escape.curvature_tol > 0
    gamma = target(ops, p, curvature, rho, 0.0)
    enough = ops.maximum(gamma, ops.where(given, 0.0, TUNING.enough * curvature))
    bends, doubtful = bends & (p.escape.probe_radius == 0), ops.where(bends, False, rises)
    return Measured(r, before, off, explains, noise, again, bends, doubtful, even, gamma, enough)


def best(ops: Ops, e: Any, m: Measured) -> Difference:
    """The difference over r_k, or over less than r_{k-1} where f bends too much over r_k."""
    share, bends = before_bending(ops, e, m)
    bending = ops.maximum(m.off - m.noise / (sqrt(2) * m.before), 0.0)
    radius = ops.where(m.bends, share * m.before, m.radius)
    bending = ops.where(m.bends, share * share * bends, bending)
    noise = m.noise / radius
    even = ops.maximum(m.even * m.radius - sqrt(1.5) * m.noise, 0.0) / m.radius
    even = stiffer(ops, e) * even * radius / m.radius
    central, forward = bending + noise, even + bending + 2 * noise
    twice = (4 * forward > m.enough) & (central <= TUNING.finer * forward)
    bending = ops.where(twice, bending, even + bending)
    error = ops.where(twice, central, forward)
    return Difference(radius, bending, m.noise, ops.where(twice, 2, 1), error)


def stiffer(ops: Ops, e: Any) -> Scalar:
    """How much more f bends along a stiff direction; v_k is one, and v_1 is not."""
    return ops.where(e.steps > 0, 1.0, TUNING.stiffer)


def before_bending(ops: Ops, e: Any, m: Measured) -> tuple[Scalar, Scalar]:
    """The best share of r_{k-1}, and what bends over r_{k-1} by what bends over r_k."""
    bends = stiffer(ops, e) * m.off / (e.probe.radius_factor * e.probe.radius_factor)
    share = (m.noise / ops.maximum(2 * bends * m.before, ops.tiny(e.gradient))) ** (1 / 3)
    return ops.where(share < 1, ops.maximum(share, TUNING.shortest), 1.0), bends


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
