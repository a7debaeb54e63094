"""The last queries of an accelerated search: has it met the Hessian, or bending?

A growth certificate rests on what did *not* grow. Where f bends within r along one variable, as in
a well narrower than r, negative curvature there does not grow over r either, and a random direction
hardly shows the bending. Two directions do: the one that decayed slowest, and the one that curved
least. Along both, the error of a difference is measured once more by halving r, at two gradients
each. Four times that error must stay below gamma, or it must be what rounding can do: at most four
times the error that the search has counted with. Otherwise the search ends undecided.
"""

from typing import Any

from unsaddle.core.kernel import At, Parameters, Phase, State, Update, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import CERTIFIED, GRADIENT, UNCERTIFIED, PhaseName
from unsaddle.core.resolution import Resolution

RECHECK_HALF, RECHECK_WHOLE = PhaseName.RECHECK_HALF, PhaseName.RECHECK_WHOLE
RECHECK_LOWEST_HALF = PhaseName.RECHECK_LOWEST_HALF
RECHECK_LOWEST_WHOLE = PhaseName.RECHECK_LOWEST_WHOLE
DIP = PhaseName.DIP


def along_slowest(share: float) -> At:
    """Query x~ + share r u, where u = z_t/|z_t| is what decayed slowest."""

    def at(ops: Ops, p: Parameters, s: State) -> Vector:
        recursion, radius = s.escape.recursion, s.escape.resolution.radius
        return ops.add(s.x, share * radius, ops.times(1 / recursion.extent, recursion.ahead))

    return at


def keep_half(onward: PhaseName) -> Update:
    """Keep g(x~ + (r/2) u)."""

    def update(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        known = s.escape._replace(half_radius_gradient=ops.copy(gradient))
        return s.searched(onward, known)

    return update


def check_slowest(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Go on to the direction of lowest curvature where f does not bend along the slowest."""
    straight = does_not_bend(ops, s.escape, gradient)
    return s.searched(ops.where(straight, RECHECK_LOWEST_HALF, UNCERTIFIED), s.escape)


def check_lowest(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Certify where f does not bend; try a jump first where the lowest curvature is below zero."""
    e = s.escape
    dips = (e.curvature < -4 * e.resolution.error) & (p.escape.curvature_tol == 0)
    claim = ops.where(dips, DIP, CERTIFIED)
    return s.searched(ops.where(does_not_bend(ops, e, gradient), claim, UNCERTIFIED), e)


def does_not_bend(ops: Ops, e: Any, gradient: Vector) -> Scalar:
    """Say whether e = 2 |g(r) - 2 g(r/2) + g(0)|/r is small beside gamma, or could be rounding."""
    resolution: Resolution = e.resolution
    whole = ops.add(gradient, -1.0, e.gradient)
    half = ops.add(e.half_radius_gradient, -1.0, e.gradient)
    error = 2 * ops.norm(ops.add(whole, -2.0, half)) / resolution.radius
    return error <= ops.maximum(resolution.curvature_tol / 4, 4 * resolution.error)


RECHECK_PHASES = {
    RECHECK_HALF: Phase(along_slowest(0.5), GRADIENT, keep_half(RECHECK_WHOLE)),
    RECHECK_WHOLE: Phase(along_slowest(1.0), GRADIENT, check_slowest),
    RECHECK_LOWEST_HALF: Phase(probing(0.5), GRADIENT, keep_half(RECHECK_LOWEST_WHOLE)),
    RECHECK_LOWEST_WHOLE: Phase(probing(1.0), GRADIENT, check_lowest),
}
