"""Negative curvature finding when neither l nor rho is known: the search of ANCGD, adapted.

Source: as ``anc.py``, whose steps these are. How far to probe and which gamma to certify is found
out in ``probe_radius.py``, and the jump is that of ``backtracking_jump.py``.

Choices:

1. eta = 1/l and theta = sqrt(gamma/l)/2 with the l met in this search, 1.3 |H u| where |H u| first
   exceeded it. The growth certificate holds for steps of any length, so nothing begins anew.
2. After -``enough`` gamma is found the search goes on for half as many steps again, at least five,
   and takes the lowest curvature that it met: the jump gains with its cube.
3. Curvature below zero that is no contradiction to the claim is treated as in ``lanczos.py``.
4. After ``TUNING.longest`` sqrt(l/gamma) log(growth needed) steps it ends undecided; and at once
   where l is more than v_1 can have hidden: it comes of a kink, or of noise, and has no bound.
5. Before a claim is made, it is checked by four queries more (eight if differences are central),
   in ``recheck.py``.

``adaptive_nc`` is the same without momentum, theta = 1: the search of Algorithm 1, adapted.
"""

from math import inf, pi
from typing import NamedTuple

from unsaddle.core.kernel import (
    At,
    Parameters,
    Part,
    Phase,
    State,
    Update,
    begin_search,
    go_to,
    iterate,
)
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GRADIENT, NOTHING, PROBE, UNCERTIFIED
from unsaddle.escapes import anc
from unsaddle.escapes.adaptive_recursion import Memory, Scheme, advance, memory, smoothness_met
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN, PHASES
from unsaddle.escapes.krylov import Settings
from unsaddle.escapes.probe import (
    SEARCH,
    SEARCH_BEHIND,
    at_new_point,
    difference,
    next_step,
    remember_behind,
)
from unsaddle.escapes.probe_radius import FIRST_STEP, RADIUS_PHASES, first
from unsaddle.escapes.recheck import DIP, RAISE, RECHECK_PHASES, SEARCH_ANEW, first_query


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    least: int = 5  # steps, 0 to 50: that follow after enough curvature was found
    longest: float = 50.0  # of sqrt(l/gamma) log(growth), above 2: by theory a tenth suffices
    hidden: float = 1e-6  # probability p, (0, 1e-4]: so rarely v_1 may hide an l as large
    beyond: float = 10.0  # of the growth that is needed, above 1: errors may take a decade of it


TUNING = Tuning()


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~) at a new point, where f may bend in another way."""
    recursion = s.escape.recursion._replace(gradient=ops.copy(gradient))
    here = s.escape._replace(probe=at_new_point(ops, p, s.escape.probe), recursion=recursion)
    return s.searched(SEARCH_ANEW, here)


def begin_anew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_0 = z_0 = xi, uniform on the sphere about x~."""
    s, here = begin_search(s), s.escape.gradient
    xi, probe, resolution, onto = first(ops, p, s, here)
    recursion = anc.memory(ops, xi)._replace(
        gradient=here, direction=ops.copy(xi), ahead=ops.copy(xi)
    )
    search = memory(ops, xi)._replace(probe=probe, recursion=recursion, resolution=resolution)
    return s.searched(onto, search)


def along(sign: float) -> At:
    """Query x~ +- r z_t/|z_t|."""

    def at(ops: Ops, p: Parameters, s: State) -> Vector:
        recursion, radius = s.escape.recursion, s.escape.resolution.radius
        return ops.add(s.x, sign * radius / recursion.extent, recursion.ahead)

    return at


def searching(scheme: Scheme) -> Update:
    """Give the update that takes one step of the search, with the l and the theta of now."""

    def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        e, resolution = s.escape, s.escape.resolution
        bend = ops.scale(resolution.radius, difference(ops, e, gradient))
        smoothness = smoothness_met(ops, e, bend)
        ratio = resolution.curvature_tol / ops.maximum(smoothness, ops.tiny(bend))
        friction = scheme.friction(ops, ratio)
        after = advance(ops, p, e, smoothness, friction, bend)
        return s.searched(next_phase(ops, p, scheme, after), after)

    return search


def next_phase(ops: Ops, p: Parameters, scheme: Scheme, e: Memory) -> Scalar:
    """Recheck, jump, end undecided, or go on."""
    steps, gamma, missing = e.recursion.steps, e.resolution.curvature_tol, e.found == inf
    decades = ops.log(TUNING.beyond * e.resolution.needed)
    over = steps >= TUNING.longest * scheme.steps(ops, gamma / e.smoothness) * decades
    over = over | incredible(ops, e)
    ripe = steps >= e.found + ops.maximum(TUNING.least, e.found / 2)
    goes_on = next_step(ops, e.resolution)
    undecided = ops.where(over, ops.where(missing, UNCERTIFIED, JUMP_BEGIN), goes_on)
    grown = missing & (e.recursion.growth >= e.resolution.needed)
    return ops.where(grown, first_query(ops, p, e), ops.where(ripe, JUMP_BEGIN, undecided))


def incredible(ops: Ops, e: Memory) -> Scalar:
    """Say whether l is above |H v_1| sqrt(2n/pi)/p, where no noise is known to have made it."""
    # as |H v_1| >= l |<u, v_1>|, a true l is above that with probability at most p
    most = ops.sqrt(2 * ops.size(e.direction) / pi) / TUNING.hidden
    seen = ops.maximum(e.resolution.smoothness, e.resolution.curvature_tol)
    return (e.probe.noise == 0) & (e.smoothness > most * seen)


def _part(scheme: Scheme) -> Part:
    search = searching(scheme)
    return Part(
        {
            BEGIN: Phase(iterate, NOTHING, begin),
            **RADIUS_PHASES,
            FIRST_STEP: Phase(iterate, NOTHING, search),
            SEARCH: Phase(along(1.0), GRADIENT | PROBE, search),
            SEARCH_BEHIND: Phase(along(-1.0), GRADIENT, remember_behind(SEARCH)),
            **RECHECK_PHASES,
            SEARCH_ANEW: Phase(iterate, NOTHING, begin_anew),
            RAISE: Phase(iterate, NOTHING, begin_anew),
            DIP: Phase(iterate, NOTHING, go_to(JUMP_BEGIN)),
            **PHASES,
        },
        Settings,
        memory,
    )


adaptive_anc, adaptive_nc = _part(Scheme(momentum=True)), _part(Scheme(momentum=False))
