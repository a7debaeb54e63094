"""What a difference of gradients can resolve, and what a search therefore may claim.

**The growth certificate.** Let xi be uniform on the unit sphere and y_k = p_k(H) xi the offset
that a search has reached, where p_k is the product of steps ``I - eta H`` and of momentum. Each
p_k is positive and falls as lambda rises to 0, so an eigenvalue at or below -gamma with unit
eigenvector u makes

    |y_k| >= |<u, y_k>| = p_k(lambda) |<u, xi>| >= p_k(-gamma) |<u, xi>|.

Running the same recursion on the scalar -gamma gives p_k(-gamma), and the *growth*
p_k(-gamma)/|y_k| bounds 1/|<u, xi>| from below. As P(|<u, xi>| <= t) <= t sqrt(2n/pi), a growth of
sqrt(2n/pi)/delta is wrong with probability at most delta: one event for all k, so the search may
stop whenever it likes. Neither l nor rho enters; step sizes that are too long only delay it.

**The error floor.** A gradient difference over the radius r misses H u by at most

    e = rho r/2 + 2 e_g/r,        e_g = 4 unit (|g| + l (|x| + r)),

smallest at r = 2 sqrt(e_g/rho). Here unit is the roundoff, or the relative error of a gradient
that is itself made of differences. Curvature below 4 e cannot be resolved: gamma is raised to it,
and the certificate says so. Where that is above l, nothing is claimed. A curvature that is below
what was asked for by more than e is reported in any case. An adversary may hide the component
along u at the rate e sqrt(2n/pi)/delta per step. Where that is at most gamma/4 it is subtracted
from gamma in the recursion, and the certificate is *rigorous*. Elsewhere e itself is subtracted:
the certificate is *practical*: errors are taken to be random, as those of rounding are.

**Repeats.** The j-th search of a run spends 6 delta/(pi^2 j^2), which sums to at most delta.
"""

from math import inf, pi
from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    visible: float = 16.0  # roundoffs of f, 4 to 256: the sums of a few terms err by less
    found: float = 0.5  # share of gamma, (0, 1): the share that the theorems of the papers find


TUNING = Tuning()


class Resolution(NamedTuple):
    """What a search at one point can resolve."""

    radius: Scalar  # r, as probed
    error: Scalar  # e, of a Rayleigh quotient
    curvature_tol: Scalar  # gamma, as certified
    rate: Scalar  # the curvature that the growth counts with
    needed: Scalar  # the growth that certifies
    asked: Scalar  # gamma, before floating point had its say
    smoothness: Scalar  # l, as far as it is known

    def shows(self, curvature: Scalar, share: float = TUNING.found) -> Scalar:
        """Say whether a measured curvature is for sure below -share of the gamma asked for."""
        return curvature + self.error < -share * self.asked


NO_RESOLUTION = Resolution(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def visible_change(ops: Ops, x: Vector, value: Scalar, other: Scalar) -> Scalar:
    """The least change between two values of f at points like x that is more than rounding."""
    return TUNING.visible * ops.roundoff(x) * ops.maximum(abs(value), abs(other))


def resolve(
    ops: Ops,
    x: Vector,
    gradient: Vector,
    episode: Scalar,  # the number j of this search in its run, from 1
    *,
    radius: Scalar,  # r, over which gradients are differenced
    smoothness: Scalar,  # l
    hessian_lipschitz: Scalar,  # rho
    curvature_tol: Scalar,  # the gamma to certify
    failure_probability: Scalar,  # delta, of the whole run
    unit: Scalar,  # relative error of a gradient: the roundoff, or more for numerical ones
) -> Resolution:
    """Work out what a search around x, where the gradient is given, can resolve."""
    rounding = _rounding(ops, x, gradient, radius, smoothness, unit)
    error = hessian_lipschitz * radius / 2 + 2 * rounding / radius
    asked, curvature_tol = curvature_tol, ops.maximum(curvature_tol, 4 * error + ops.tiny(x))
    share = failure_probability * 6 / (pi * episode) ** 2
    needed = ops.sqrt(2 * ops.size(x) / pi) / share
    rigorous = error * needed <= curvature_tol / 4
    rate = curvature_tol - ops.where(rigorous, error * needed, error)
    return Resolution(radius, error, curvature_tol, rate, needed, asked, smoothness)


def finest_resolution(
    ops: Ops, settings: Any, x: Vector, gradient: Vector, episode: Scalar
) -> Resolution:
    """Resolve with the settings' radius, or with the least radius that floating point allows.

    Returns:
        The resolution; nothing certifies where gamma would have to be above l, or where the square
        of the radius is zero in floating point.
    """
    l, rho = settings.smoothness, settings.hessian_lipschitz  # noqa: E741
    unit = ops.roundoff(x)
    rounding = _rounding(ops, x, gradient, settings.radius, l, unit)
    resolution = resolve(
        ops,
        x,
        gradient,
        episode,
        radius=ops.maximum(settings.radius, 2 * ops.sqrt(rounding / rho)),
        smoothness=l,
        hessian_lipschitz=rho,
        curvature_tol=settings.curvature_tol,
        failure_probability=settings.failure_probability,
        unit=unit,
    )
    useless = vacuous(ops, resolution) | (resolution.radius * resolution.radius < ops.tiny(x))
    return resolution._replace(needed=ops.where(useless, inf, resolution.needed))


def vacuous(ops: Ops, resolution: Resolution) -> Scalar:
    """Say whether gamma had to be raised above l, so that a claim would say nothing."""
    return resolution.curvature_tol > ops.maximum(resolution.asked, resolution.smoothness)


def _rounding(
    ops: Ops, x: Vector, gradient: Vector, radius: Scalar, smoothness: Scalar, unit: Scalar
) -> Scalar:
    """e_g = 4 unit (|g| + l (|x| + r))."""
    return 4 * unit * (ops.norm(gradient) + smoothness * (ops.norm(x) + radius))
