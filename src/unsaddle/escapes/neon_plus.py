"""NEON+: NEON with momentum, and a test of convexity on the way.

Source: Xu, Jin & Yang (2018), by way of its descriptions elsewhere: **our reconstruction**.

Differences from the source, beside those of ``neon.py``:

1. The convexity test is made only where floating point can show it, and what it finds, y_k - u_k,
   is the second case of NCFind; the first asks for |y_0 - u_0| > 0, which is 0.
2. The test compares values, which may be all rounding: the curvature along y_k - u_k is measured
   with one gradient more before it is believed.
"""

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, GRADIENT, NOTHING, VALUE, PhaseName
from unsaddle.core.resolution import visible_change
from unsaddle.escapes.jump import JUMP_BEGIN
from unsaddle.escapes.neon import PHASES_ALIKE, SEARCH, Settings, ahead, memory, remember, step

CONVEXITY_TEST, CONVEXITY_CHECK = PhaseName.CONVEXITY_TEST, PhaseName.CONVEXITY_CHECK
NEON_STEP = PhaseName.NEON_STEP


def query_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Remember u_k as NEON does, then query y_k."""
    return remember(ops, p, s, value, gradient)._replace(phase=CONVEXITY_TEST)


def trail(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + y_k."""
    return ops.add(s.x, 1.0, s.escape.behind)


def test_convexity(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Ask whether fh(y) - fh(u) - <grad fh(u), y - u> < -(gamma/2) |y - u|^2."""
    e = s.escape
    gap = ops.add(e.behind, -1.0, e.ahead)
    bound = p.escape.curvature_tol * ops.dot(gap, gap)
    visible = bound > visible_change(ops, s.x, value, e.value)
    bent = visible & (value - e.value - e.slope < -bound / 2)
    return s._replace(phase=ops.where(bent, CONVEXITY_CHECK, NEON_STEP))


def along_gap(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r (y_k - u_k)/|y_k - u_k|."""
    gap = ops.add(s.escape.behind, -1.0, s.escape.ahead)
    return ops.axpy(s.escape.resolution.radius / ops.norm(gap), gap, ops.copy(s.x))


def check_convexity(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Return y_k - u_k if its Rayleigh quotient is at most -gamma/2, else step."""
    e = s.escape
    gap = ops.add(e.behind, -1.0, e.ahead)
    bend = ops.axpy(-1.0, e.gradient, gradient)
    curvature = ops.dot(gap, bend) / (e.resolution.radius * ops.norm(gap))
    found = e.resolution.shows(curvature)
    kept = e._replace(
        direction=ops.switch(found, gap, e.direction),
        curvature=ops.where(found & (curvature < e.curvature), curvature, e.curvature),
    )
    return s.searched(ops.where(found, JUMP_BEGIN, NEON_STEP), kept)


def go_on(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_{k+1} = u_k - eta grad fh(u_k), u_{k+1} = y_{k+1} + zeta (y_{k+1} - y_k)."""
    return step(ops, p, s)


neon_plus = Part(
    {
        **PHASES_ALIKE,
        SEARCH: Phase(ahead, BOTH, query_ahead),
        CONVEXITY_TEST: Phase(trail, VALUE, test_convexity),
        CONVEXITY_CHECK: Phase(along_gap, GRADIENT, check_convexity),
        NEON_STEP: Phase(iterate, NOTHING, go_on),
    },
    Settings,
    memory,
)
