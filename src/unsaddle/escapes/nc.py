"""Negative curvature finding by gradient descent.

Source: Algorithm 1 and Proposition 3 of Zhang & Li (2021); the jump after it is in ``jump.py``.

Differences from the paper:

1. y_0 is an offset from x~, not a point of the ball around it, and y_t is kept at length one (the
   paper's remark), so the output is a unit vector; print divides y_T by r, which is not.
2. The window ends early when the growth certificate holds, which makes x~ the answer, and when a
   Rayleigh quotient of at most -``enough`` gamma is measured, which makes that y_t the direction.
   With ``enough`` infinite and no certificate the window is as printed.
3. r is never below what floating point needs to see the difference of two gradients.
"""

from math import inf
from typing import NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight, sharpest
from unsaddle.escapes.jump import MEASURE, NO_LEAP, PHASES, Leap
from unsaddle.kernel import (
    BEGIN,
    CERTIFIED,
    GRADIENT,
    NOTHING,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    ball,
    iterate,
)

SEARCH = BEGIN + 1


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # y_t/|y_t|
    steps: Scalar  # t
    growth: Scalar  # p_t(-gamma)/|y_t|
    curvature: Scalar  # lowest Rayleigh quotient so far
    sight: Sight
    leap: Leap


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


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw y_0 ~ Unif(B(r)), of which only the direction counts."""
    s = s._replace(episode=s.episode + 1)
    y = ball(ops, s)
    search = Memory(
        gradient=ops.hold(gradient),
        direction=ops.scale(1 / ops.norm(y), y),
        steps=0,
        growth=1.0,
        curvature=inf,
        sight=sharpest(ops, p.escape, s.x, gradient, s.episode),
        leap=NO_LEAP,
    )
    return s._replace(escape=search, phase=SEARCH)


def probe(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r y/|y|."""
    return ops.add(s.x, s.escape.sight.radius, s.escape.direction)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_{t+1} = y_t - (|y_t|/(l r)) (g(x~ + r y_t/|y_t|) - g(x~))."""
    e, (radius, error, curvature_tol, rate, needed, *_) = s.escape, s.escape.sight
    bend = ops.axpy(-1.0, e.gradient, gradient)  # r H y
    curvature = ops.dot(e.direction, bend) / radius
    found = curvature + error <= -p.escape.enough * curvature_tol
    step = ops.where(found, 0.0, p.escape.search_step)
    y = ops.axpy(-step / radius, bend, e.direction)
    length = ops.norm(y) + ops.tiny(y)
    growth = e.growth * (1 + step * rate) / length
    over = found | (e.steps + 1 >= p.escape.window)
    lowest = ops.where(curvature < e.curvature, curvature, e.curvature)
    y = ops.scale(1 / length, y)
    after = Memory(e.gradient, y, e.steps + 1, growth, lowest, e.sight, e.leap)
    phase = ops.where(growth > needed, CERTIFIED, ops.where(over, MEASURE, SEARCH))
    return State(phase, s.x, s.left, s.descent, after, *s[5:])


nc = Part(
    {BEGIN: Phase(iterate, NOTHING, begin), SEARCH: Phase(probe, GRADIENT, search), **PHASES},
    Settings,
    lambda ops, x: Memory(
        gradient=x,
        direction=x,
        steps=0,
        growth=1.0,
        curvature=inf,
        sight=NO_SIGHT,
        leap=NO_LEAP,
    ),
)
