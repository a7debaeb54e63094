"""NEON+: NEON with momentum, and a test of convexity on the way.

Source: Xu, Jin & Yang (2018), by way of its descriptions elsewhere: **our reconstruction**.

Differences from the source, beside those of ``neon.py``:

1. The convexity test is made only where floating point can see it in values of the size
   max(|f|, l |x|^2), and then returns y_k - u_k, the second case of NCFind; the first asks for
   |y_0 - u_0| > 0, which is 0.
2. That direction comes from values, so it counts for the jump, but not as a measured curvature.
"""

from unsaddle.escapes.neon import PHASES_ALIKE, SEARCH, Settings, look, memory, probe, step
from unsaddle.kernel import BEGIN, BOTH, VALUE, Ops, Parameters, Part, Phase, Scalar, State, Vector

CHECK = BEGIN + 5


def look_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Look at u_k as NEON does, then at y_k."""
    return look(ops, p, s, value, gradient)._replace(phase=CHECK)


def trail(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + y_k."""
    return ops.add(s.x, 1.0, s.escape.behind)


def check(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Stop if fh(y) - fh(u) - <grad fh(u), y - u> < -(gamma/2) |y - u|^2, else step."""
    e = s.escape
    gap = ops.add(e.behind, -1.0, e.ahead)
    square = ops.dot(gap, gap)
    bow = value - e.value - e.slope
    terms = ops.maximum(abs(value), abs(e.value)) + p.escape.smoothness * ops.dot(s.x, s.x)
    seen = p.escape.curvature_tol * square > 16 * ops.roundoff(s.x) * terms
    bent = seen & (bow < -p.escape.curvature_tol / 2 * square)
    onward = e._replace(direction=ops.switch(bent, gap, e.direction))
    return step(ops, p, s._replace(escape=onward), bent)


neon_plus = Part(
    {
        **PHASES_ALIKE,
        SEARCH: Phase(probe, BOTH, look_ahead),
        CHECK: Phase(trail, VALUE, check),
    },
    Settings,
    memory,
)
