"""Accelerated descent on a function that is almost convex: the descent of Carmon et al.

Source: Carmon, Duchi, Hinder & Sidford (2018), Almost-Convex-AGD within their main loop, by way of
its descriptions elsewhere. About x^, where a search has ruled curvature below -alpha out, they
minimise

    f_k(z) = f(z) + l max(0, |z - x^| - alpha/rho)^2,

which has no curvature below -3 alpha: one after the other f_k(z) + 3 alpha |z - z_j|^2, which is
strongly convex, by Nesterov's method, until |grad f_k| <= eps/2 at a z_j.

Differences from the source:

1. The gradient of an inner step is tested where it was computed, at z and not at y, which would
   take one gradient more for every step; what is returned is that z.
2. ``START`` reports at once, before any step: it is the search that comes first, at x_0 and after
   every step along negative curvature. It goes on to ``GO`` where it has ruled out what it seeks.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, START, PhaseName
from unsaddle.descents.gd import no_momentum, not_measured
from unsaddle.descents.hand_over import REPORT

ALMOST_CONVEX = PhaseName.ALMOST_CONVEX


class Memory(NamedTuple):
    """Where the loops stand; the innermost is at z, the iterate."""

    centre: Vector  # x^
    anchor: Vector  # z_j
    behind: Vector  # y
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # 1/(5 l + 6 alpha)
    momentum: float  # (sqrt(kappa) - 1)/(sqrt(kappa) + 1)
    convexity: float  # 3 alpha
    accuracy: float  # e', of a gradient of what is strongly convex
    nearly: float  # eps/2, of one of f_k
    ball: float  # alpha/rho
    penalty: float  # l


class Gradients(NamedTuple):
    """At z."""

    outer: Vector  # of f_k
    inner: Vector  # of f_k + 3 alpha |z - z_j|^2


def go(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x^ = z_1 = y_1 = x, and the first step."""
    here = Memory(ops.copy(s.x), ops.copy(s.x), ops.copy(s.x))
    return step(ops, p, s._replace(descent=here), value, gradient)


def gradients(ops: Ops, p: Parameters, s: State, gradient: Vector) -> Gradients:
    """grad f_k = g + 2 l max(0, d - alpha/rho) (z - x^)/d, d = |z - x^|; + 6 alpha (z - z_j)."""
    c, m = p.descent, s.descent
    away = ops.add(s.x, -1.0, m.centre)
    distance = ops.norm(away)
    pull = 2 * c.penalty * ops.maximum(distance - c.ball, 0.0)
    outer = ops.add(gradient, pull / ops.maximum(distance, ops.tiny(away)), away)
    drawn = ops.add(s.x, -1.0, m.anchor)
    return Gradients(outer, ops.add(outer, 2 * c.convexity, drawn))


def step(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y' = z - eta grad, z' = y' + momentum (y' - y); where grad is short, a new z_j or the end."""
    c, m, (outer, inner) = p.descent, s.descent, gradients(ops, p, s, gradient)
    solved = ops.norm(inner) <= c.accuracy
    over = solved & (ops.norm(outer) <= c.nearly)
    left = s.left - 1
    stays = over | (left < 0)
    y = ops.add(s.x, -c.step, ops.switch(solved, outer, inner))
    before = ops.switch(solved, ops.copy(s.x), m.behind)
    z = ops.axpy(1 + c.momentum, y, ops.scale(-c.momentum, before))
    anchor = ops.switch(solved, ops.copy(s.x), m.anchor)
    x = ops.switch(stays, s.x, z)
    phase = ops.where(stays, s.report, ALMOST_CONVEX)
    return s.descended(phase, x, left, Memory(m.centre, anchor, y))


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """No stage yet."""
    return Memory(ops.times(0.0, x), ops.times(0.0, x), ops.times(0.0, x))


almost_convex_agd = Part(
    {
        START: REPORT,
        GO: Phase(iterate, GRADIENT, go),
        ALMOST_CONVEX: Phase(iterate, GRADIENT, step),
    },
    Settings,
    memory,
)
