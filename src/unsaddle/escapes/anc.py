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
from typing import Any, NamedTuple

from unsaddle.core.evidence import of_search
from unsaddle.core.kernel import Parameters, Part, Phase, State, ball, begin_search, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, CERTIFIED, GRADIENT, NOTHING, PROBE, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution, finest_resolution
from unsaddle.escapes.jump import JUMP_BEGIN, NO_JUMP, PHASES, Jump

SEARCH = PhaseName.SEARCH


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
    resolution: Resolution
    jump: Jump
    evidence = of_search


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
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_t, z_t ~ Unif(B(r')) about x~, zeta = g(x~)."""
    s = begin_search(s)
    resolution = finest_resolution(ops, p.escape, s.x, gradient, s.episode, p.products)
    offset = ops.scale(resolution.radius, ball(ops, s))
    first = memory(ops, offset)._replace(
        gradient=ops.retain(gradient),
        direction=ops.copy(offset),
        extent=ops.norm(offset) + ops.tiny(offset),
        resolution=resolution,
    )
    return s.searched(SEARCH, first)


def ahead(ops: Ops, p: Parameters, s: State) -> Vector:
    """z_t."""
    return ops.add(s.x, 1.0, s.escape.ahead)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """One step, and what ends the window: growth, a direction, or its time."""
    e = s.escape
    after, found = step(ops, p, e, ops.axpy(-1.0, e.gradient, gradient))
    over = ops.where(found | (e.steps + 1 >= p.escape.window), JUMP_BEGIN, SEARCH)
    grown = (after.growth > e.resolution.needed) & ops.where(found, False, True)
    return s.searched(ops.where(grown, CERTIFIED, over), after)


def step(
    ops: Ops,
    p: Parameters,
    e: Memory,
    bend: Vector,  # g(z_t) - zeta = H (z_t - x~)
) -> tuple[Memory, Scalar]:
    """x_{t+1} = z_t - eta (g(z_t) - zeta), z_{t+1} = x_{t+1} + (1 - theta)(x_{t+1} - x_t)."""
    zeta, direction, ahead, extent, steps, growth, behind, lowest, resolution, jump = e
    radius, momentum = resolution.radius, 1 - p.escape.search_friction
    granted = resolution.error * (radius / extent - 1)
    curvature = ops.dot(ahead, bend) / extent**2 + granted
    found = resolution.shows(curvature, p.escape.enough)
    eta = ops.where(found, 0.0, p.escape.search_step)  # no step is taken from what was found
    x = ops.axpy(-eta, bend, ahead)
    z = ops.axpy(1 + momentum, x, ops.scale(-momentum, direction))
    length = ops.norm(z) + ops.tiny(z)
    before, behind = (
        behind * extent / length,
        (1 + eta * resolution.rate) * growth * extent / length,
    )
    growth = behind + momentum * (behind - before)
    lowest = ops.where(curvature < lowest, curvature, lowest)
    x, z = ops.scale(radius / length, x), ops.scale(radius / length, z)
    return Memory(zeta, x, z, radius, steps + 1, growth, behind, lowest, resolution, jump), found


def memory(ops: Ops, x: Vector, settings: Any = None) -> Memory:
    """Nothing known yet."""
    return Memory(x, x, x, 1.0, 0, 1.0, 1.0, inf, NO_RESOLUTION, NO_JUMP)


anc = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        SEARCH: Phase(ahead, GRADIENT | PROBE, search),
        **PHASES,
    },
    Settings,
    memory,
)
