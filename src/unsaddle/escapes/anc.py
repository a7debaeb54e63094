"""Accelerated negative curvature finding: the window of ANCGD.

Source: Algorithm 2, lines 3 to 7 and 9 to 13, and Proposition 5 of Zhang & Li (2021); the jump
(line 8) is in ``jump.py``, the descent between windows in ``descents/agd.py``.

Differences from the paper:

1. The state keeps the offsets x_t - x~ and z_t - x~: where r' << |x~| the points lose their digits.
2. Line 13 divides x_{t+1} by |z_{t+1} - x~| *before* z_{t+1} is rescaled, so that x and z shrink by
   one factor; print overwrites z first.
3. "Never perturbed" is not t_perturb = 0, which in print fires the jump of line 6 without a
   direction; and the trigger of line 3 waits T', not T.
4. r' = (delta_0/32) sqrt(pi eps/(rho n)): print has a quantity that is not a length.
5. The window ends early by the same two rules as Algorithm 1 in ``nc.py``, and r' has its floor;
   the first probe, which is shorter, has its error granted.
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

    gradient: Vector  # zeta = g(x~)
    direction: Vector  # x_t - x~
    ahead: Vector  # z_t - x~
    extent: Scalar  # |z_t - x~|: r', but for the first step
    steps: Scalar  # t - t_perturb
    growth: Scalar  # the recursion on -gamma: its z_t, over |z_t - x~|
    behind: Scalar  # its x_t, over |z_t - x~|
    curvature: Scalar  # lowest Rayleigh quotient so far
    sight: Sight
    leap: Leap


class Settings(NamedTuple):
    """Hyperparameters."""

    search_step: float  # eta
    search_friction: float  # theta
    radius: float  # r'
    window: float  # script T'
    enough: float  # share of gamma at which a direction is good enough
    length: float  # of the jump, (1/4) sqrt(eps/rho)
    decrease: float  # promised by the jump, (1/384) sqrt(eps^3/rho)
    curvature_tol: float  # gamma = sqrt(rho eps)
    failure_probability: float  # delta
    smoothness: float  # l
    hessian_lipschitz: float  # rho


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_t, z_t ~ Unif(B(r')) about x~, zeta = g(x~)."""
    s = s._replace(episode=s.episode + 1)
    seen = sharpest(ops, p.escape, s.x, gradient, s.episode)
    offset = ops.scale(seen.radius, ball(ops, s))
    search = Memory(
        gradient=ops.hold(gradient),
        direction=ops.keep(offset),
        ahead=offset,
        extent=ops.norm(offset) + ops.tiny(offset),
        steps=0,
        growth=1.0,
        behind=1.0,
        curvature=inf,
        sight=seen,
        leap=NO_LEAP,
    )
    return s._replace(escape=search, phase=SEARCH)


def probe(ops: Ops, p: Parameters, s: State) -> Vector:
    """z_t."""
    return ops.add(s.x, 1.0, s.escape.ahead)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = z_t - eta (g(z_t) - zeta), z_{t+1} = x_{t+1} + (1 - theta)(x_{t+1} - x_t)."""
    zeta, direction, ahead, extent, steps, growth, behind, lowest, seen, leap = s.escape
    radius, error = seen.radius, seen.error
    keep = 1 - p.escape.search_friction
    bend = ops.axpy(-1.0, zeta, gradient)  # H (z - x~)
    curvature = ops.dot(ahead, bend) / extent**2 + error * (radius / extent - 1)
    found = seen.shows(curvature, p.escape.enough)
    step = ops.where(found, 0.0, p.escape.search_step)
    x = ops.axpy(-step, bend, ahead)
    z = ops.axpy(1 + keep, x, ops.scale(-keep, direction))
    length = ops.norm(z) + ops.tiny(z)
    before, behind = behind * extent / length, (1 + step * seen.rate) * growth * extent / length
    growth = behind + keep * (behind - before)
    lowest = ops.where(curvature < lowest, curvature, lowest)
    x, z = ops.scale(radius / length, x), ops.scale(radius / length, z)
    after = Memory(zeta, x, z, radius, steps + 1, growth, behind, lowest, seen, leap)
    over = found | (steps + 1 >= p.escape.window)
    grown = (growth > seen.needed) & (step > 0)  # no step is taken from what was found
    phase = ops.where(grown, CERTIFIED, ops.where(over, MEASURE, SEARCH))
    return State(phase, s.x, s.left, s.descent, after, *s[5:])


anc = Part(
    {BEGIN: Phase(iterate, NOTHING, begin), SEARCH: Phase(probe, GRADIENT, search), **PHASES},
    Settings,
    lambda ops, x: Memory(
        gradient=x,
        direction=x,
        ahead=x,
        extent=1.0,
        steps=0,
        growth=1.0,
        behind=1.0,
        curvature=inf,
        sight=NO_SIGHT,
        leap=NO_LEAP,
    ),
)
