"""Is what ``hessp`` gives the Hessian of this function? One difference of gradients asks.

A symmetric matrix that is not the Hessian gives a certificate of that matrix, which says nothing of
x. So before a claim from products stands, H d is compared with (g(x + r d) - g(x))/r. This is done
once in a run, at one gradient and one product more. d is the mean of two directions of length one.
One is the direction of least curvature, on which the claim rests. The other is random: what is
wrong with a matrix along any one direction shows there, by about 1/sqrt(n) of it.

A difference errs too: f bends within r, gradients are rounded, and some have noise. So they
disagree only where, over r and again over r/16, they are further apart than

    gamma/(4 sqrt(n)),   4 (2 |D(r) - D(r/2)| + 2 e_g/r),   e_g = 4 unit (|g| + l (|x| + r)),

where D(r) is the difference and D(r/2) shows its bending and its noise. Where they do, nothing
tells which is right: f may change within less than r/16, as no gradient shows. So it is doubt, and
no error: there is no certificate, and the message says why. Negative curvature that was found is
no promise: it stands, and the doubt stands beside it.
"""

from math import sqrt
from typing import Any, NamedTuple

from unsaddle.core.evidence import Evidence, evidence
from unsaddle.core.phases import CERTIFIED, UNCERTIFIED, PhaseName
from unsaddle.core.resolution import rounding_of_gradient, visible_curvature
from unsaddle.numpy.ops import Vector

CLAIMS = (CERTIFIED, PhaseName.NEGATIVE_CURVATURE, PhaseName.JUMP_FAILED)
DOUBT = (
    "hessp and differences of the gradient disagree: for one direction d the norm of Hd is {:.3g} "
    "by hessp and {:.3g} by gradients, and the two vectors differ by {:.3g}. Either hessp is not "
    "the Hessian of this function, or the Hessian changes within {:.1g} of x: check hessp, or "
    "leave it out."
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    share: float = 0.25  # of gamma/sqrt(n), (0, 1): what is wrong by gamma along one direction
    # shows as gamma/sqrt(2 n) at least in more than half of all cases
    shares_of_radius: tuple[float, ...] = (1.0, 1 / 16)  # each at most 1: a shorter r shows what
    # bends less, and the next one would in float32 show nothing but rounding


TUNING = Tuning()


class Compared(NamedTuple):
    """The product, and the difference over one r."""

    product: float  # |H d|
    difference: float  # |D(r)|
    apart: float  # |D(r) - H d|
    radius: float  # r


def checked(run: Any) -> tuple[Any, str]:
    """Give the state that a run has ended in, and the doubt of its claim, if there is one."""
    state, ops = run.state, run.known
    found = evidence(ops, state)
    claims = run.parameters.products and state.phase in CLAIMS and found.resolution.needed > 0
    apart = _apart(run, found) if claims else None
    if apart is None:
        return state, ""
    phase = UNCERTIFIED if state.phase == CERTIFIED else state.phase
    return state._replace(phase=phase), DOUBT.format(*apart)


def _apart(run: Any, found: Evidence) -> Compared | None:
    """Compare over one r after the other; None as soon as they agree."""
    ops, x = run.known, run.state.x
    d, radius = _direction(run, found), 2 * sqrt(_unit(run)) * max(ops.norm(x), 1.0)
    radius = _declared(run, "probe_radius") or radius
    product, seen = run.queried(x.copy(), d).copy(), None
    for share in TUNING.shares_of_radius:
        seen = _compared(run, found, d, product, share * radius)
        if seen is None:
            return None
    return seen


def _compared(
    run: Any, found: Evidence, d: Vector, product: Vector, radius: float
) -> Compared | None:
    """Compare over r; None if they agree, as far as a difference can tell."""
    ops, x = run.known, run.state.x
    whole = _difference(run, found, d, radius)
    largest, n = max(found.largest, ops.norm(whole)), ops.size(x)
    rounding = rounding_of_gradient(ops, x, found.gradient, radius, largest, _unit(run))
    noise = max(rounding, _declared(run, "gradient_noise"))
    wanted = TUNING.share * found.resolution.curvature_tol / sqrt(n)
    apart, least = ops.norm(whole - product), 2 * noise / radius
    if apart <= max(wanted, visible_curvature(least)):
        return None
    error = 2 * ops.norm(whole - _difference(run, found, d, radius / 2)) + least
    if apart <= visible_curvature(error):
        return None
    return Compared(ops.norm(product), ops.norm(whole), apart, radius)


def _difference(run: Any, found: Evidence, d: Vector, radius: float) -> Vector:
    """D(r) = (g(x + r d) - g(x))/r."""
    x = run.state.x
    return (run.queried((x + radius * d).astype(x.dtype)) - found.gradient) / radius


def _direction(run: Any, found: Evidence) -> Vector:
    """The mean of the direction that curved least and of a random one, of length one."""
    ops, s = run.known, run.state
    u = found.direction / ops.norm(found.direction)
    w = ops.normal(s.x, s.seed, s.episode + 1)
    w = w / ops.norm(w)
    d = u + (w if ops.dot(u, w) >= 0 else -w)
    return (d / ops.norm(d)).astype(s.x.dtype)


def _unit(run: Any) -> float:
    """Relative error of a gradient."""
    return max(run.known.roundoff(run.state.x), run.oracle.noise)


def _declared(run: Any, name: str) -> float:
    """Give what the user has said of gradients; zero where that is nothing."""
    parts = run.parameters.escape, run.parameters.proof
    return max(getattr(part, name, 0.0) for part in parts)
