"""NEON and NEON+: negative curvature from the noise of a descent that is never renormalised.

Source: Xu, Jin & Yang (2018), by way of its descriptions elsewhere: **our reconstruction**, whose
structure is theirs and whose constants may not be. Both descend on fh(u) = f(x~ + u) - f(x~)
- <g(x~), u>, of gradient g(x~ + u) - g(x~); NEON+ (``neon_plus.py``) with momentum.

Differences from the source:

1. fh(u) is measured as <u, g(x~ + u) - g(x~)>/2, exact on a quadratic, free of cancellation, at u_k
   also by NEON+, which tests it at y_k.
2. A search that has left the ball of radius U is over: no later iterate counts. "No direction" is
   their own test and proves nothing: the escape then goes on to ``PROVE``.
3. The jump is that of Zhang & Li (2021), in ``jump.py``, and r is never below what floating point
   needs to resolve the difference of two gradients.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.evidence import of_search
from unsaddle.core.kernel import Parameters, Part, Phase, State, begin_search, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GRADIENT, NOTHING, PROVE, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution, finest_resolution
from unsaddle.escapes.jump import JUMP_BEGIN, NO_JUMP, PHASES, Jump

SEARCH = PhaseName.SEARCH


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # the u_k of the lowest fh
    behind: Vector  # y_k
    ahead: Vector  # u_k
    bend: Vector  # grad fh(u_k)
    value: Scalar = 0.0  # f(x~ + u_k)
    slope: Scalar = 0.0  # <g(x~ + u_k), y_k - u_k>
    lowest: Scalar = inf  # the lowest fh
    steps: Scalar = 0  # k
    curvature: Scalar = inf  # lowest Rayleigh quotient so far
    resolution: Resolution = NO_RESOLUTION
    jump: Jump = NO_JUMP
    evidence = of_search


class Settings(NamedTuple):
    """Hyperparameters."""

    search_step: float  # eta
    search_momentum: float  # zeta; 0 in NEON
    radius: float  # r
    window: float  # t
    reach: float  # U
    fall: float  # of fh that proves negative curvature: 2.5 F in NEON, 2 F in NEON+
    length: float  # of the jump, (1/4) sqrt(eps/rho)
    decrease: float  # promised by the jump, (1/384) sqrt(eps^3/rho)
    curvature_tol: float  # gamma
    failure_probability: float  # delta
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_0 = u_0, uniform on the sphere of radius r."""
    s = begin_search(s)
    resolution = finest_resolution(ops, p.escape, s.x, gradient, s.episode)
    w = ops.normal(s.x, s.seed, s.episode)
    u = ops.scale(resolution.radius / ops.norm(w), w)
    search = memory(ops, s.x)._replace(
        gradient=ops.retain(gradient),
        direction=ops.copy(u),
        behind=ops.copy(u),
        ahead=u,
        resolution=resolution,
    )
    return s.searched(SEARCH, search)


def ahead(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + u_k."""
    return ops.add(s.x, 1.0, s.escape.ahead)


def remember(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Remember the u_k of lowest fh(u_k) = <u_k, grad fh(u_k)>/2 with |u_k| <= U."""
    e = s.escape._replace(value=value)
    slope = ops.dot(gradient, ops.add(e.behind, -1.0, e.ahead))
    bend = ops.axpy(-1.0, e.gradient, gradient)
    square, fall = ops.dot(e.ahead, e.ahead), ops.dot(e.ahead, bend) / 2
    lower = (fall < e.lowest) & (square <= p.escape.reach**2)
    curvature = 2 * fall / ops.maximum(square, ops.tiny(bend))
    found = e._replace(
        direction=ops.switch(lower, ops.copy(e.ahead), e.direction),
        bend=ops.copy(bend),
        slope=slope,
        lowest=ops.where(lower, fall, e.lowest),
        curvature=ops.where(lower & (curvature < e.curvature), curvature, e.curvature),
    )
    return s._replace(escape=found)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Remember and step at once: without momentum y_k = u_k, and there is nothing to check."""
    return step(ops, p, remember(ops, p, s, value, gradient))


def step(ops: Ops, p: Parameters, s: State) -> State:
    """y_{k+1} = u_k - eta grad fh(u_k), u_{k+1} = y_{k+1} + zeta (y_{k+1} - y_k)."""
    e, zeta = s.escape, p.escape.search_momentum
    left = ops.dot(e.ahead, e.ahead) > p.escape.reach**2
    y = ops.axpy(-p.escape.search_step, e.bend, e.ahead)
    u = ops.axpy(1 + zeta, y, ops.scale(-zeta, e.behind))
    over = left | (e.steps + 1 >= p.escape.window)
    return s._replace(
        escape=e._replace(behind=y, ahead=u, steps=e.steps + 1),
        phase=ops.where(over, ops.where(e.lowest <= -p.escape.fall, JUMP_BEGIN, PROVE), SEARCH),
    )


def memory(ops: Ops, x: Vector, settings: Any = None) -> Memory:
    """Nothing known yet."""
    return Memory(*(ops.times(0.0, x) for _ in range(5)))


PHASES_ALIKE = {BEGIN: Phase(iterate, NOTHING, begin), **PHASES}
neon = Part({**PHASES_ALIKE, SEARCH: Phase(ahead, GRADIENT, search)}, Settings, memory)
