"""Neon2: negative curvature from Chebyshev's polynomials of the Hessian.

Source: Allen-Zhu & Li (2018), Neon2-det, by way of its descriptions elsewhere; that x_{t+1} - x~ is
T_t(M) xi, with T_t of the first kind, was checked for this project. M maps eigenvalues >= -3 d/4
into [-1, 1], where T_t is at most one, and -d to 1 + d/(4 l), where it grows.

Differences from the source:

1. The length of xi does not matter where products are linear, and theirs underflows: y_t is kept at
   length one, with the y_{t-1} of before by the same factor, and gradients are differenced over r.
2. Their constant C1 is replaced by what suffices on a quadratic: the length at which a direction
   is returned, and T, are those of ``neon2`` in ``methods/table1_theory.py``.
3. An l that is too small lets positive curvature grow as well. So the curvature along what has
   grown is measured, at one query more, before it is called negative.
4. The window ends early by the two rules of ``nc.py``: T_t at M(-gamma) by |x_{t+1} - x~| is a
   growth, which certifies, and a y_t with a Rayleigh quotient of at most -``enough`` gamma is a
   direction. "No direction" is their own test, and goes on to ``PROVE``.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.evidence import of_search
from unsaddle.core.kernel import Parameters, Part, Phase, State, begin_search, iterate, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, CERTIFIED, GRADIENT, NOTHING, PROBE, PROVE, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution, finest_resolution
from unsaddle.escapes.jump import JUMP_BEGIN, NO_JUMP, PHASES, Jump

SEARCH, CHEBYSHEV_CHECK = PhaseName.SEARCH, PhaseName.CHEBYSHEV_CHECK


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # y_t/|y_t|
    behind: Vector  # y_{t-1}/|y_t|
    extent: Scalar  # |y_t|/|xi|
    steps: Scalar  # t - 1
    ahead: Scalar  # y_t on -gamma, over |y_t|
    before: Scalar  # y_{t-1} on -gamma, over |y_t|
    curvature: Scalar  # lowest Rayleigh quotient so far
    resolution: Resolution
    jump: Jump
    evidence = of_search


class Settings(NamedTuple):
    """Hyperparameters."""

    radius: float  # r, over which gradients are differenced
    window: float  # T
    reach: float  # |x_{t+1} - x~|/|xi| that takes negative curvature
    enough: float  # share of gamma at which a direction is good enough
    length: float  # of the jump, d/rho
    decrease: float  # promised by the jump, d^3/(12 rho^2)
    curvature_tol: float  # d = gamma
    failure_probability: float  # p = delta
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_0 = 0, y_1 = xi, uniform on the sphere."""
    s = begin_search(s)
    xi = ops.normal(s.x, s.seed, s.episode)
    resolution = finest_resolution(ops, p.escape, s.x, gradient, s.episode, p.products)
    first = memory(ops, s.x, p.escape)._replace(
        gradient=ops.retain(gradient),
        direction=ops.scale(1 / ops.norm(xi), xi),
        behind=ops.times(0.0, s.x),
        resolution=resolution,
    )
    return s.searched(SEARCH, first)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """One step of the recursion, and what ends the window: growth, a direction, or its time."""
    e, resolution = s.escape, s.escape.resolution
    bend = ops.scale(1 / resolution.radius, ops.axpy(-1.0, e.gradient, gradient))  # H y_t
    curvature = ops.dot(e.direction, bend)
    found = resolution.shows(curvature, p.escape.enough)
    here = ops.copy(e.direction)
    after, point, length, growth = recursed(ops, p, e, bend)
    far = e.extent * length >= p.escape.reach
    over = ops.where(far, CHEBYSHEV_CHECK, ops.where(after.steps >= p.escape.window, PROVE, SEARCH))
    over = ops.where(growth > resolution.needed, CERTIFIED, over)
    after = after._replace(
        direction=ops.switch(found, here, ops.switch(far, point, after.direction)),
        curvature=ops.where(curvature < e.curvature, curvature, e.curvature),
    )
    return s.searched(ops.where(found, JUMP_BEGIN, over), after)


def recursed(
    ops: Ops, p: Parameters, e: Memory, bend: Vector
) -> tuple[Memory, Vector, Scalar, Scalar]:
    """y_{t+1} = 2 M y_t - y_{t-1} and x_{t+1} - x~ = M y_t - y_{t-1}, M = 1 - 3 d/(4 l) - H/l."""
    l, resolution, tiny = p.escape.smoothness, e.resolution, ops.tiny(bend)  # noqa: E741
    shift = 1 - 0.75 * resolution.curvature_tol / l
    moved = ops.axpy(-1 / l, bend, ops.times(shift, e.direction))  # M y_t
    point = ops.add(moved, -1.0, e.behind)
    y, scalar = ops.add(point, 1.0, moved), shift + resolution.rate / l
    size, length = ops.norm(y) + tiny, ops.norm(point) + tiny
    polynomial = scalar * e.ahead - e.before
    after = e._replace(
        direction=ops.scale(1 / size, y),
        behind=ops.scale(1 / size, e.direction),
        extent=e.extent * size,
        steps=e.steps + 1,
        ahead=(polynomial + scalar * e.ahead) / size,
        before=e.ahead / size,
    )
    return after, ops.scale(1 / length, point), length, polynomial / length


def check(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Jump along x_{t+1} - x~ if its Rayleigh quotient is at most -d/2."""
    e = s.escape
    bend = ops.axpy(-1.0, e.gradient, gradient)
    curvature = ops.dot(e.direction, bend) / e.resolution.radius
    lowest = ops.where(curvature < e.curvature, curvature, e.curvature)
    found = e.resolution.shows(curvature)
    return s.searched(ops.where(found, JUMP_BEGIN, PROVE), e._replace(curvature=lowest))


def memory(ops: Ops, x: Vector, settings: Any) -> Memory:
    """Nothing known yet."""
    return Memory(x, x, x, 1.0, 0, 1.0, 0.0, inf, NO_RESOLUTION, NO_JUMP)


neon2 = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        SEARCH: Phase(probing(1.0), GRADIENT | PROBE, search),
        CHEBYSHEV_CHECK: Phase(probing(1.0), GRADIENT | PROBE, check),
        **PHASES,
    },
    Settings,
    memory,
)
