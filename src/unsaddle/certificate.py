"""What a search proves: that no curvature below -gamma was missed, or the direction of one.

**The growth certificate.** Let xi be uniform on the unit sphere and y_k = p_k(H) xi the offset
that a search has reached, where p_k is the product of steps ``I - eta H`` and of momentum. Each
p_k is positive and falls as lambda rises to 0, so an eigenvalue at or below -gamma with unit
eigenvector u makes

    |y_k| >= |<u, y_k>| = p_k(lambda) |<u, xi>| >= p_k(-gamma) |<u, xi>|.

Running the same recursion on the scalar -gamma gives p_k(-gamma), and the *growth*
p_k(-gamma)/|y_k| bounds 1/|<u, xi>| from below. As P(|<u, xi>| <= t) <= t sqrt(2n/pi), a growth of
sqrt(2n/pi)/delta is wrong with probability at most delta: one event for all k, so the search may
stop whenever it likes. Neither l nor rho enters; step sizes that are too long only delay it.

**The floor.** A gradient difference over the length r misses H u by at most

    e = rho r/2 + 2 e_g/r,        e_g = 4 unit (|g| + l (|x| + r)),

smallest at r = 2 sqrt(e_g/rho), where unit is the roundoff, or the relative error of a gradient
that is itself made of differences. Curvature below 4 e cannot be seen: gamma is raised to it, and
the certificate says so; where that is above l nothing is claimed, and a curvature that is seen, by
more than e below what was asked for, refutes the claim all the same. An adversary may hide the
component along u at the rate e sqrt(2n/pi)/delta per step; where that is at most gamma/4 it is
subtracted from gamma in the recursion, and the certificate is *rigorous*. Elsewhere e itself is
subtracted: *practical*, as rounding does not conspire.

**Repeats.** The j-th search of a run spends 6 delta/(pi^2 j^2), which sums to at most delta.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from unsaddle.kernel import Ops, Scalar, Vector


class Sight(NamedTuple):
    """What a search at one point can see."""

    radius: Scalar  # r, as probed
    error: Scalar  # e, of a Rayleigh quotient
    curvature_tol: Scalar  # gamma, as certified
    rate: Scalar  # the curvature that the growth counts with
    needed: Scalar  # the growth that certifies
    asked: Scalar  # gamma, before floating point had its say
    smoothness: Scalar  # l, as far as it is known

    def shows(self, curvature: Scalar, share: float = 0.5) -> Scalar:
        """Say whether a measured curvature is for sure below -share of the gamma asked for."""
        return curvature + self.error < -share * self.asked


NO_SIGHT = Sight(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def sight(
    ops: Ops,
    x: Vector,
    gradient: Vector,
    episode: Scalar,
    *,
    radius: Scalar,
    smoothness: Scalar,
    hessian_lipschitz: Scalar,
    curvature_tol: Scalar,
    failure_probability: Scalar,
    unit: Scalar,
) -> Sight:
    """Work out what a search can see at x, where the gradient is given.

    Args:
        ops: The backend.
        x: Centre of the search.
        gradient: The gradient there.
        episode: The number j of this search in its run, from 1.
        radius: The length r over which gradients are differenced.
        smoothness: The size of the Hessian, l.
        hessian_lipschitz: How fast it changes, rho.
        curvature_tol: The gamma to certify.
        failure_probability: The delta of the whole run.
        unit: Relative error of a gradient: the roundoff, or more for numerical ones.

    Returns:
        Error and curvature in force, and the growth needed.
    """
    rounding = _rounding(ops, x, gradient, radius, smoothness, unit)
    error = hessian_lipschitz * radius / 2 + 2 * rounding / radius
    asked, curvature_tol = curvature_tol, ops.maximum(curvature_tol, 4 * error + ops.tiny(x))
    share = failure_probability * 6 / (math.pi * episode) ** 2
    needed = ops.sqrt(2 * ops.size(x) / math.pi) / share
    rigorous = error * needed <= curvature_tol / 4
    rate = curvature_tol - ops.where(rigorous, error * needed, error)
    return Sight(radius, error, curvature_tol, rate, needed, asked, smoothness)


def sharpest(ops: Ops, settings: Any, x: Vector, gradient: Vector, episode: Scalar) -> Sight:
    """Give the sight at settings' radius, or at the least radius that floating point allows.

    Args:
        ops: The backend.
        settings: With the other arguments of ``sight``.
        x: Centre of the search.
        gradient: The gradient there.
        episode: The number j of this search in its run, from 1.

    Returns:
        What the search can see; nothing certifies where gamma would have to be above l, or where
        the square of the radius is zero in floating point.
    """
    l, rho = settings.smoothness, settings.hessian_lipschitz  # noqa: E741
    unit = ops.roundoff(x)
    rounding = _rounding(ops, x, gradient, settings.radius, l, unit)
    seen = sight(
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
    useless = vacuous(ops, seen) | (seen.radius * seen.radius < ops.tiny(x))
    return seen._replace(needed=ops.where(useless, math.inf, seen.needed))


def vacuous(ops: Ops, seen: Sight) -> Scalar:
    """Say whether gamma had to be raised above l, so that a claim would say nothing."""
    return seen.curvature_tol > ops.maximum(seen.asked, seen.smoothness)


def _rounding(
    ops: Ops, x: Vector, gradient: Vector, radius: Scalar, smoothness: Scalar, unit: Scalar
) -> Scalar:
    """e_g = 4 unit (|g| + l (|x| + r))."""
    return 4 * unit * (ops.norm(gradient) + smoothness * (ops.norm(x) + radius))


@dataclass(frozen=True)
class Certificate:
    """The claim "lambda_min of the Hessian at x is above -curvature_tol", and what backs it."""

    holds: bool | None
    """True: certified. False: refuted by ``direction``. None: undecided within the budget."""
    curvature_tol: float
    """The gamma of the claim; larger than what was asked for where gradients cannot show less."""
    failure_probability: float
    """Chance that the claim is made although it is false, over the whole run."""
    curvature: float
    """The lowest curvature that was measured, as a Rayleigh quotient."""
    direction: Any
    """The direction in which the curvature is below -curvature_tol/2, if the claim is refuted."""
    gradients: int
    """Gradients that this search took, those that found how far to probe among them."""
    note: str
    """How the claim was reached, and every caveat."""
    share: float = 1.0
    """The same as a share of all gradients of the run; 1 where the search was all there was."""
    gradient_norm: float = math.nan
    """The gradient's norm at x, of which the claim says nothing; NaN where it was not kept."""

    def __bool__(self) -> bool:
        """Say whether it holds, so that ``if certificate:`` asks what it seems to ask."""
        return self.holds is True

    def __str__(self) -> str:
        """Say it in one sentence."""
        if math.isnan(self.curvature_tol):
            return f"undecided: nothing is known of the curvature. {self.note}".strip()
        claim = f"lambda_min > -{rounded_up(self.curvature_tol)}"
        verdict = {
            True: f"certified: {claim}, wrong with probability at most "
            f"{rounded_up(self.failure_probability)}",
            False: f"refuted: curvature {self.curvature:.3g} along the direction found",
            None: f"undecided: {claim} was neither certified nor refuted",
        }[self.holds]
        cost = f"{self.gradients} gradient{'s' * (self.gradients != 1)}"
        return f"{verdict} ({cost}). {self.note}".strip()


def rounded_up(number: float) -> str:
    """Write a bound with three digits, never smaller than it is."""
    shown = f"{number:.3g}"
    return (
        shown
        if not float(shown) < number
        else f"{number + 10 ** (math.floor(math.log10(number)) - 2):.3g}"
    )
