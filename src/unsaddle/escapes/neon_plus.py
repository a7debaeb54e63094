"""NEON+: NEON with momentum, and a test of convexity on the way.

Source: Xu, Jin & Yang (2018), by way of its descriptions elsewhere: **our reconstruction**.

Differences from the source, beside those of ``neon.py``:

1. The convexity test is made only where floating point may see it, and what it finds, y_k - u_k,
   is the second case of NCFind; the first asks for |y_0 - u_0| > 0, which is 0.
2. The test compares values, which may be all rounding: the curvature along y_k - u_k is measured
   with one gradient more before it is believed.
"""

from unsaddle.escapes.jump import MEASURE
from unsaddle.escapes.neon import PHASES_ALIKE, SEARCH, Settings, look, memory, probe, step
from unsaddle.kernel import (
    BEGIN,
    BOTH,
    GRADIENT,
    NOTHING,
    VALUE,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

CHECK, VERIFY, STEP = BEGIN + 5, BEGIN + 6, BEGIN + 7


def look_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Look at u_k as NEON does, then at y_k."""
    return look(ops, p, s, value, gradient)._replace(phase=CHECK)


def trail(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + y_k."""
    return ops.add(s.x, 1.0, s.escape.behind)


def check(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Ask whether fh(y) - fh(u) - <grad fh(u), y - u> < -(gamma/2) |y - u|^2."""
    e = s.escape
    gap = ops.add(e.behind, -1.0, e.ahead)
    bound = p.escape.curvature_tol * ops.dot(gap, gap)
    seen = bound > 16 * ops.roundoff(s.x) * ops.maximum(abs(value), abs(e.value))
    bent = seen & (value - e.value - e.slope < -bound / 2)
    return s._replace(phase=ops.where(bent, VERIFY, STEP))


def aside(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r (y_k - u_k)/|y_k - u_k|."""
    gap = ops.add(s.escape.behind, -1.0, s.escape.ahead)
    return ops.axpy(s.escape.sight.radius / ops.norm(gap), gap, ops.keep(s.x))


def verify(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Return y_k - u_k if its Rayleigh quotient is at most -gamma/2, else step."""
    e = s.escape
    gap = ops.add(e.behind, -1.0, e.ahead)
    bend = ops.axpy(-1.0, e.gradient, gradient)
    curvature = ops.dot(gap, bend) / (e.sight.radius * ops.norm(gap))
    found = e.sight.shows(curvature)
    kept = e._replace(
        direction=ops.switch(found, gap, e.direction),
        curvature=ops.where(found & (curvature < e.curvature), curvature, e.curvature),
    )
    return s._replace(escape=kept, phase=ops.where(found, MEASURE, STEP))


def go_on(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_{k+1} = u_k - eta grad fh(u_k), u_{k+1} = y_{k+1} + zeta (y_{k+1} - y_k)."""
    return step(ops, p, s)


neon_plus = Part(
    {
        **PHASES_ALIKE,
        SEARCH: Phase(probe, BOTH, look_ahead),
        CHECK: Phase(trail, VALUE, check),
        VERIFY: Phase(aside, GRADIENT, verify),
        STEP: Phase(iterate, NOTHING, go_on),
    },
    Settings,
    memory,
)
