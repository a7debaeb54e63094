"""The accelerated window of ANCGD when neither l nor rho is known.

Source: as ``anc.py``, whose steps these are. How far to probe and which gamma to certify is found
out in ``sounding.py``, and the jump is that of ``stride.py``.

Choices:

1. eta = 1/l and theta = sqrt(gamma/l)/2 with the l met in this search, 1.3 |H u| where |H u| first
   exceeded it: the growth certificate holds for steps of any length, so nothing begins anew.
2. After -``enough`` gamma is found the search goes on for half as many steps again, at least five,
   and takes the lowest curvature that it met: the jump gains with its cube.
3. Curvature below zero that does not refute the claim is treated as in ``lanczos.py``.
4. After ``LONGEST`` sqrt(l/gamma) log(growth needed) steps it ends undecided.
5. Before a claim is made it looks twice more, in ``steady.py``.
"""

from math import inf
from typing import NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight
from unsaddle.escapes import anc
from unsaddle.escapes.krylov import Settings
from unsaddle.escapes.sounding import FIRST, HALF, SEARCH, SOUNDING, aim
from unsaddle.escapes.steady import NEAR, STEADY
from unsaddle.escapes.stride import MEASURE, NO_STRIDE, PHASES, Stride
from unsaddle.kernel import (
    BEGIN,
    GRADIENT,
    NOTHING,
    TESTED,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

EXCEEDS, MARGIN, LEAST, LONGEST = 1.05, 1.3, 5, 50


class Memory(NamedTuple):
    """The search at x~."""

    direction: Vector  # xi, then the direction of lowest curvature so far
    aside: Vector  # g(x~ + (r/2) xi)
    window: anc.Memory  # the steps
    smoothness: Scalar  # l
    found: Scalar  # after how many steps curvature enough was found
    pace: Scalar  # what r is multiplied by while that improves the sight
    sight: Sight
    stride: Stride
    floor = 0.0  # of gamma: nothing is learnt of it here

    @property
    def gradient(self) -> Vector:
        """g(x~)."""
        return self.window.gradient

    @property
    def curvature(self) -> Scalar:
        """The lowest Rayleigh quotient so far."""
        return self.window.curvature


class Pace(NamedTuple):
    """What a step of ``anc.py`` asks for; no end of its own."""

    search_step: Scalar  # eta
    search_friction: Scalar  # theta
    window: float = inf
    enough: float = inf


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_0 = z_0 = xi, uniform on the sphere about x~."""
    s = s._replace(episode=s.episode + 1)
    xi, seen = aim(ops, p, s)
    steps = s.escape.window._replace(
        gradient=ops.keep(gradient),
        direction=ops.keep(xi),
        ahead=ops.keep(xi),
        extent=1.0,
        steps=0,
        growth=1.0,
        behind=1.0,
        curvature=inf,
    )
    search = Memory(xi, s.escape.aside, steps, 0.0, inf, 0.25, seen, NO_STRIDE)
    return s._replace(escape=search, phase=HALF)


def probe(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r z_t/|z_t|."""
    return ops.add(s.x, s.escape.sight.radius / s.escape.window.extent, s.escape.window.ahead)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """One step of the window, with the l and the theta of now."""
    e, w, seen = s.escape, s.escape.window, s.escape.sight
    bend = ops.norm(ops.add(gradient, -1.0, w.gradient)) / seen.radius  # |H u|
    met = ops.where(bend > EXCEEDS * e.smoothness, MARGIN * bend, e.smoothness)
    smoothness = ops.maximum(met, seen.curvature_tol)
    pace = Pace(1 / smoothness, ops.sqrt(seen.curvature_tol / smoothness) / 2)
    u, scale = ops.times(1 / w.extent, w.ahead), seen.radius / w.extent
    there = w._replace(direction=ops.scale(scale, w.direction), ahead=ops.scale(scale, w.ahead))
    there = there._replace(extent=seen.radius, sight=seen)
    taken = anc.search(ops, p._replace(escape=pace), s._replace(escape=there), value, gradient)
    steps = taken.escape
    enough = seen.shows(steps.curvature, p.escape.enough)
    after = e._replace(
        direction=ops.switch(steps.curvature < w.curvature, u, e.direction),
        window=steps,
        smoothness=smoothness,
        found=ops.where(enough & (e.found == inf), steps.steps, e.found),
    )
    return s._replace(escape=after, phase=onward(ops, after))


def onward(ops: Ops, e: Memory) -> Scalar:
    """Nearly certified, found, undecided, or on."""
    w, seen, missing = e.window, e.sight, e.found == inf
    rate = ops.sqrt(e.smoothness / seen.curvature_tol)
    over = w.steps >= LONGEST * rate * ops.log(10 * seen.needed)
    ripe = w.steps >= e.found + ops.maximum(LEAST, e.found / 2)
    undecided = ops.where(over, ops.where(missing, TESTED, MEASURE), SEARCH)
    grown = missing & (w.growth >= seen.needed)
    return ops.where(grown, NEAR, ops.where(ripe, MEASURE, undecided))


def memory(ops: Ops, x: Vector) -> Memory:
    """Nothing seen yet."""
    return Memory(x, x, anc.anc.memory(ops, x), 0.0, inf, 0.25, NO_SIGHT, NO_STRIDE)


window = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        **SOUNDING,
        FIRST: Phase(iterate, NOTHING, search),
        SEARCH: Phase(probe, GRADIENT, search),
        **STEADY,
        **PHASES,
    },
    Settings,
    memory,
)
