"""Negative curvature finding by gradient descent.

Source: Algorithm 1 and Proposition 3 of Zhang & Li (2021); the jump after it is in ``jump.py``.

Differences from the paper:

1. y_0 is an offset from x~, not a point of the ball around it, and y_t is kept at length one (the
   paper's remark), so the output is a unit vector; print divides y_T by r, which is not.
2. The window ends early when the growth certificate holds, which makes x~ the answer, and when a
   Rayleigh quotient of at most -``enough`` gamma is measured, which makes that y_t the direction.
   With ``enough`` infinite and no certificate the window is as printed.
3. r is never below what floating point needs to resolve the difference of two gradients.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.evidence import of_search
from unsaddle.core.kernel import (
    Parameters,
    Part,
    Phase,
    State,
    ball,
    begin_search,
    iterate,
    probing,
)
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, CERTIFIED, GRADIENT, NOTHING, PROBE, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution, finest_resolution
from unsaddle.escapes.jump import JUMP_BEGIN, NO_JUMP, PHASES, Jump

SEARCH = PhaseName.SEARCH


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # y_t/|y_t|
    steps: Scalar  # t
    growth: Scalar  # p_t(-gamma)/|y_t|
    curvature: Scalar  # lowest Rayleigh quotient so far
    resolution: Resolution
    jump: Jump
    evidence = of_search


class Settings(NamedTuple):
    """Hyperparameters."""

    search_step: float  # 1/l
    radius: float  # r
    window: float  # script T
    enough: float  # share of gamma at which a direction is good enough
    length: float  # of the jump, (1/4) sqrt(eps/rho)
    decrease: float  # promised by the jump, (1/384) sqrt(eps^3/rho)
    curvature_tol: float  # gamma = sqrt(rho eps)
    failure_probability: float  # delta
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw y_0 ~ Unif(B(r)), of which only the direction counts."""
    s = begin_search(s)
    y = ball(ops, s)
    search = Memory(
        gradient=ops.retain(gradient),
        direction=ops.scale(1 / ops.norm(y), y),
        steps=0,
        growth=1.0,
        curvature=inf,
        resolution=finest_resolution(ops, p.escape, s.x, gradient, s.episode, p.products),
        jump=NO_JUMP,
    )
    return s.searched(SEARCH, search)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_{t+1} = y_t - (|y_t|/(l r)) (g(x~ + r y_t/|y_t|) - g(x~))."""
    e, resolution = s.escape, s.escape.resolution
    bend = ops.axpy(-1.0, e.gradient, gradient)  # r H y
    curvature = ops.dot(e.direction, bend) / resolution.radius
    found = resolution.shows(curvature, p.escape.enough)
    step = ops.where(found, 0.0, p.escape.search_step)  # none is taken from what was found
    y = ops.axpy(-step / resolution.radius, bend, e.direction)
    length = ops.norm(y) + ops.tiny(y)
    growth = e.growth * (1 + step * resolution.rate) / length
    lowest = ops.where(curvature < e.curvature, curvature, e.curvature)
    y = ops.scale(1 / length, y)
    after = Memory(e.gradient, y, e.steps + 1, growth, lowest, resolution, e.jump)
    over = ops.where(found | (e.steps + 1 >= p.escape.window), JUMP_BEGIN, SEARCH)
    grown = (growth > resolution.needed) & (step > 0)
    return s.searched(ops.where(grown, CERTIFIED, over), after)


nc = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        SEARCH: Phase(probing(1.0), GRADIENT | PROBE, search),
        **PHASES,
    },
    Settings,
    lambda ops, x, settings: Memory(x, x, 0, 1.0, inf, NO_RESOLUTION, NO_JUMP),
)
