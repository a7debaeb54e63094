"""With which radius to begin where gradients are noisy, and how far to go.

r is lengthened until the gradient changes by 32 times the noise s. Then it begins at a quarter of
the radius at which noise alone would show gamma, 8 s/gamma, or of the one that is best where
rho_4 = l, (3 s/l)^(1/3), whichever is less. It goes no further than max(|x|, 1) or
``max_step``; where a radius is given, it ends there.
"""

from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.escapes.best_difference import TUNING as DIFFERENCE


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    widest: float = 1.0  # of max(|x|, 1), above 0: no noise that is worth it lets r become longer
    emerge: float = 256.0  # per attempt, above 1: r until curvature stands out; few gradients
    clear: float = 32.0  # noises, above 4: a change of the gradient that shows curvature to 3 %
    quiet: float = 8.0  # errors, above 4: a gamma as large is shown though noise was underestimated
    longer: float = 4.0  # per attempt, above 1: r while the error falls; within 2 of the best
    worth: float = 1.5  # (1, longer): a radius that is not so much longer is not tried


TUNING = Tuning()


def fits(ops: Ops, p: Parameters, x: Vector, radius: Scalar, widest: float) -> Scalar:
    """Say whether a radius may be tried."""
    free = (p.escape.probe_radius == 0) & (radius <= p.escape.max_step)
    return (radius <= widest * ops.maximum(ops.norm(x), 1.0)) & free


def emerging(ops: Ops, e: Any, change: Scalar) -> Scalar:
    """A radius over which curvature stands out, if noise is no more than half of the change."""
    factor = 2 * TUNING.clear * e.probe.noise / ops.maximum(change, ops.tiny(e.gradient))
    factor = ops.maximum(ops.where(factor < TUNING.emerge, factor, TUNING.emerge), TUNING.longer)
    return TUNING.worth * factor * e.resolution.radius


def begin(ops: Ops, p: Parameters, e: Any, curvature: Scalar) -> Scalar:
    """A quarter of 8 s/gamma, or of what is best if rho_4 = l, (3 s/l)^(1/3); but above noise."""
    noise, given = e.probe.noise, p.escape.curvature_tol > 0
    least = ops.maximum(curvature, ops.tiny(e.gradient))
    enough = ops.where(given, p.escape.curvature_tol, DIFFERENCE.enough * least)
    shows, balance = TUNING.quiet * noise / enough, (3 * noise / least) ** (1 / 3)
    radius = ops.where(shows < balance, shows, balance) / TUNING.longer
    return ops.maximum(radius, TUNING.worth * TUNING.clear * noise / least)


def within_reach(ops: Ops, p: Parameters, x: Vector, radius: Scalar) -> Scalar:
    """This radius, or the longest that may be tried."""
    longest = TUNING.widest * ops.maximum(ops.norm(x), 1.0)
    longest = ops.where(longest < p.escape.max_step, longest, p.escape.max_step)
    longest = ops.where(p.escape.probe_radius > 0, p.escape.probe_radius, longest)
    return ops.where(radius < longest, radius, longest)
