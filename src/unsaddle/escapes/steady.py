"""The last looks of an accelerated search: has it seen the Hessian, or bending?

A growth certificate rests on what did *not* grow. Where f bends within r along one variable, as in
a well narrower than r, negative curvature there does not grow over r either, and a random direction
hardly shows the bending. What decayed slowest points at it, and so does what curved least: along
both the error of a difference is measured once more by halving r, at two gradients each. Four times
that must stay below gamma, or it must be what rounding can do, up to four times the error that was
counted with; else the search ends undecided.
"""

from unsaddle.certificate import Sight
from unsaddle.escapes.stride import MEASURE
from unsaddle.kernel import (
    BEGIN,
    CERTIFIED,
    GRADIENT,
    TESTED,
    Ops,
    Parameters,
    Phase,
    Scalar,
    State,
    Vector,
)

NEAR, FAR, NEAR_LOWEST, FAR_LOWEST = range(BEGIN + 8, BEGIN + 12)


def suspect(ops: Ops, s: State) -> Vector:
    """u = z_t/|z_t|, then the direction of lowest curvature."""
    w = s.escape.window
    return ops.switch(s.phase < NEAR_LOWEST, ops.times(1 / w.extent, w.ahead), s.escape.direction)


def halfway(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + (r/2) u."""
    return ops.add(s.x, s.escape.sight.radius / 2, suspect(ops, s))


def whole_way(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r u."""
    return ops.add(s.x, s.escape.sight.radius, suspect(ops, s))


def near(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + (r/2) u)."""
    return s._replace(escape=s.escape._replace(aside=ops.keep(gradient)), phase=s.phase + 1)


def clear(ops: Ops, seen: Sight, centre: Vector, near: Vector, far: Vector) -> Scalar:
    """Say whether e = 2 |g(r) - 2 g(r/2) + g(0)|/r is small beside gamma, or could be rounding."""
    bend, short = ops.add(far, -1.0, centre), ops.add(near, -1.0, centre)
    strange = 2 * ops.norm(ops.add(bend, -2.0, short)) / seen.radius
    return strange <= ops.maximum(seen.curvature_tol / 4, 4 * seen.error)


def far(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Certified where nothing bends, or first a jump, where the lowest curvature is below zero."""
    e, w, seen = s.escape, s.escape.window, s.escape.sight
    dips = (w.curvature < -4 * seen.error) & (p.escape.curvature_tol == 0)
    certified = ops.where(dips, MEASURE, CERTIFIED)
    onward = ops.where(s.phase == FAR, NEAR_LOWEST, certified)
    steady = clear(ops, seen, w.gradient, e.aside, gradient)
    return s._replace(phase=ops.where(steady, onward, TESTED))


STEADY = {
    NEAR: Phase(halfway, GRADIENT, near),
    FAR: Phase(whole_way, GRADIENT, far),
    NEAR_LOWEST: Phase(halfway, GRADIENT, near),
    FAR_LOWEST: Phase(whole_way, GRADIENT, far),
}
