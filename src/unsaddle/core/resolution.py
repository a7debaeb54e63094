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

**The error floor.** Let every gradient be off by at most e_g. A difference over the radius r then
misses H u by at most

    e = rho r/2 + 2 e_g/r         forward,  (g(x + r u) - g(x))/r,
    e = rho_4 r^2/6 + e_g/r       central,  (g(x + r u) - g(x - r u))/(2 r),

where e_g is the noise of the gradient, as declared or measured, or its rounding,
4 unit (|g| + l (|x| + r)), whichever is larger. Here unit is the roundoff, or the relative error of
a gradient that is itself made of differences. Curvature below 4 e cannot be resolved: gamma is
raised to it, and the certificate says so. Where that is above l, nothing is claimed. A curvature
that is below -1/2 of the gamma asked for by more than e is reported in any case. An adversary may
hide the component along u at the rate e sqrt(2n/pi)/delta per step. Where that is at most gamma/4
it is subtracted from gamma in the recursion, and the certificate is *rigorous*. Elsewhere e itself
is subtracted, and the certificate is *practical*: errors are taken to be random, as those of
rounding are.

**Exact products.** Where probes are answered by g(x) + H d, e = 2 e_g/r is all there is, with
e_g = 4 unit (|g| + l r): neither bending nor the length of x enters, and r is chosen such that |g|
does not count either.

**Repeats.** The j-th search of a run spends 6 delta/(pi^2 j^2), which sums to at most delta.
"""

from math import inf, pi
from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    close: float = 2.0  # roundoffs of x, 2 to 1000: as close as x can tell
    visible: float = 16.0  # roundoffs of f, 4 to 256: the sums of a few terms err by less
    found: float = 0.5  # share of gamma, (0, 1): the share that the theorems of the papers find
    errors: float = 4.0  # to a gamma, 4 and up: what curves by -gamma then measures as at most
    # -3/4 gamma, and so is below -gamma/2 for sure
    rounding: float = 4.0  # roundoffs, 1 to 16: gradients are good to a few units in the last place
    floor: float = 4.0  # noises, above 1: a gradient as short shows no direction to speak of


TUNING = Tuning()


class Resolution(NamedTuple):
    """What a search at one point can resolve."""

    radius: Scalar  # r, as probed
    error: Scalar  # e, of a Rayleigh quotient
    curvature_tol: Scalar  # gamma, as certified
    rate: Scalar  # the curvature that the growth counts with
    needed: Scalar  # the growth that certifies
    asked: Scalar  # gamma, before it was raised to what can be resolved
    smoothness: Scalar  # l, as far as it is known
    noise: Scalar = 0.0  # e_g, the error of a gradient that was counted with
    sides: Scalar = 1  # from which a difference looks: 1 forward, 2 central

    def shows(self, curvature: Scalar, share: float = TUNING.found) -> Scalar:
        """Say whether a measured curvature is for sure below -share of the gamma asked for."""
        return curvature + self.error < -share * self.asked

    @property
    def of_noise(self) -> Scalar:
        """What noise adds to the error of a difference over r."""
        return 2 * self.noise / (self.sides * self.radius)

    def claiming(self, ops: Ops, curvature_tol: Scalar) -> "Resolution":
        """Give the same for another gamma."""
        counted = ops.where(self.rigorous(curvature_tol), self.needed, 1.0)
        rate = curvature_tol - self.error * counted
        return self._replace(curvature_tol=curvature_tol, rate=rate)

    def rigorous(self, curvature_tol: Scalar) -> Scalar:
        """Say whether no errors of this size could hide a curvature of -gamma."""
        return self.error * self.needed <= curvature_tol / TUNING.errors


NO_RESOLUTION = Resolution(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def few_roundoffs(ops: Ops, x: Vector) -> Scalar:
    """A distance from x over which nothing changes but by noise; zero at zero."""
    return TUNING.close * ops.roundoff(x) * ops.norm(x)


def at_noise_floor(norm: Scalar, noise: Scalar) -> Scalar:
    """Say whether a gradient of this length is mostly noise."""
    return norm <= TUNING.floor * noise


def visible_change(ops: Ops, x: Vector, value: Scalar, other: Scalar) -> Scalar:
    """The least change between two values of f at points like x that is more than rounding."""
    return TUNING.visible * ops.roundoff(x) * ops.maximum(abs(value), abs(other))


def visible_curvature(error: Scalar) -> Scalar:
    """The least curvature, of either sign, that is told from an error of this size."""
    return TUNING.errors * error


def least_gamma(curvature: Scalar) -> Scalar:
    """The least gamma to be claimed where this was measured: -gamma might measure as -3/4 gamma."""
    return -curvature / (1 - 1 / TUNING.errors)


def resolve(
    ops: Ops,
    x: Vector,
    gradient: Vector,
    episode: Scalar,  # the number j of this search in its run, from 1
    *,
    radius: Scalar,  # r, over which gradients are differenced
    bending: Scalar,  # what third or fourth derivatives add to e
    smoothness: Scalar,  # l
    curvature_tol: Scalar,  # the gamma to certify
    failure_probability: Scalar,  # delta, of the whole run
    unit: Scalar,  # relative error of a gradient: the roundoff, or more for numerical ones
    noise: Scalar = 0.0,  # absolute error of a gradient
    sides: Scalar = 1,
    products: Scalar = False,  # whether H d is exact: nothing but rounding counts then
) -> Resolution:
    """Work out what a search around x, where the gradient is given, can resolve."""
    off = ops.maximum(noise, rounding_of_gradient(ops, x, gradient, radius, smoothness, unit))
    size = ops.norm(gradient) + smoothness * radius  # of g + H d
    off = ops.where(products, TUNING.rounding * ops.roundoff(x) * size, off)
    error = ops.where(products, 0.0, bending) + 2 * off / (sides * radius)
    asked, least = curvature_tol, visible_curvature(error) + ops.tiny(x)
    needed = growth_needed(ops, x, episode, failure_probability)
    first = Resolution(radius, error, 0.0, 0.0, needed, asked, smoothness, off, sides)
    return first.claiming(ops, ops.maximum(asked, least))


def growth_needed(ops: Ops, x: Vector, episode: Scalar, failure_probability: Scalar) -> Scalar:
    """The growth that certifies: sqrt(2n/pi)/delta_j, where delta_j = 6 delta/(pi j)^2."""
    return ops.sqrt(2 * ops.size(x) / pi) / (failure_probability * 6 / (pi * episode) ** 2)


def finest_resolution(
    ops: Ops,
    settings: Any,
    x: Vector,
    gradient: Vector,
    episode: Scalar,
    products: Scalar = False,
) -> Resolution:
    """Resolve with the settings' radius, or with the least radius that floating point allows.

    Returns:
        The resolution; nothing certifies where gamma would have to be above l, or where the square
        of the radius is zero in floating point.
    """
    radius = finest_radius(ops, settings, settings.radius, x, gradient, products)
    resolution = resolve(
        ops,
        x,
        gradient,
        episode,
        radius=radius,
        bending=settings.hessian_lipschitz * radius / 2,
        smoothness=settings.smoothness,
        curvature_tol=settings.curvature_tol,
        failure_probability=settings.failure_probability,
        unit=ops.roundoff(x),
        noise=settings.gradient_noise,
        products=products,
    )
    useless = vacuous(ops, resolution) | (resolution.radius * resolution.radius < ops.tiny(x))
    return resolution._replace(needed=ops.where(useless, inf, resolution.needed))


def finest_radius(
    ops: Ops,
    settings: Any,
    given: Scalar,  # the radius that is wanted
    x: Vector,
    gradient: Vector,
    products: Scalar = False,
    unit: Scalar = 0.0,  # relative error of a gradient, where it is above the roundoff
) -> Scalar:
    """The radius that is wanted, or the least that floating point allows.

    That is 2 sqrt(e_g/rho); or |g|/l where H d is exact: rounding of g(x) + H d is no worse than
    that of H d then.

    Returns:
        The radius.
    """
    l, rho = settings.smoothness, settings.hessian_lipschitz  # noqa: E741
    off = rounding_of_gradient(ops, x, gradient, given, l, ops.maximum(ops.roundoff(x), unit))
    off = ops.maximum(off, settings.gradient_noise)
    least = ops.where(products, ops.norm(gradient) / l, 2 * ops.sqrt(off / rho))
    return ops.maximum(given, least)


def vacuous(ops: Ops, resolution: Resolution) -> Scalar:
    """Say whether gamma had to be raised above l, or is infinite: a claim would say nothing."""
    most, gamma = ops.maximum(resolution.asked, resolution.smoothness), resolution.curvature_tol
    return (gamma > most) | (gamma == inf)


def rounding_of_gradient(
    ops: Ops, x: Vector, gradient: Vector, radius: Scalar, smoothness: Scalar, unit: Scalar
) -> Scalar:
    """e_g = 4 unit (|g| + l (|x| + r))."""
    return TUNING.rounding * unit * (ops.norm(gradient) + smoothness * (ops.norm(x) + radius))


def radius_of_products(ops: Ops, x: Vector, gradient: Vector) -> Scalar:
    """r = max(1, |g|)/sqrt(unit), where l is not known: H d, |d| = r, is long beside g."""
    return ops.maximum(ops.norm(gradient), 1.0) / ops.sqrt(ops.roundoff(x))
