"""How far to probe, and what can be resolved from there: the start of a search without constants.

l and rho are what was given or what was met. gamma, where it was not given, is sqrt(rho eps), kept
between ``finest`` l and ``coarsest`` l with the l met at x~ where rho was not given either. The
error of a difference is measured along the first direction v_1 by halving r, at one gradient more:

====================================================  ==============================================
what g(x~ + (r/2) v_1) and g(x~ + r v_1) show         what follows
====================================================  ==============================================
neither bending nor rounding hides gamma              the search begins with this r
bending hides gamma                                   r is shortened, to a quarter or, where there
                                                      is curvature beside the bending, at once to
                                                      where bending should no longer hide gamma
a shorter r made it worse, as noise does; or both     r is lengthened by four from there, until
differences are exactly zero                          something can be resolved, or it is too long
f bends over r as much as it curves, and curves no    the search ends unresolved: no claim can come
less over r/2; or gamma is above all curvature seen   of this r
====================================================  ==============================================
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, PhaseName
from unsaddle.core.records import choose
from unsaddle.core.resolution import NO_RESOLUTION, Resolution
from unsaddle.escapes.probe_pair import View, astray, discern, hidden

SEARCH, FIRST_STEP = PhaseName.SEARCH, PhaseName.FIRST_STEP
HALF_RADIUS, WHOLE_RADIUS = PhaseName.HALF_RADIUS, PhaseName.WHOLE_RADIUS
UNRESOLVED = PhaseName.UNRESOLVED


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    widest: float = 1e-2  # of max(|x|, 1), (0, 1): further away is another point
    longer: float = 4.0  # per attempt, above 1: r while it is lengthened


TUNING = Tuning()


class Judged(NamedTuple):
    """What a pair of probes says of its radius."""

    hides: Scalar  # whether bending hides gamma, or nothing was to be seen at all
    nothing: Scalar  # whether both differences are zero: flat, or a gradient too coarse for r
    worse: Scalar  # whether the radius before was no worse
    shorter: Scalar  # the share of r that should show gamma


def first(ops: Ops, p: Parameters, s: State) -> tuple[Vector, Resolution]:
    """Draw v_1 = xi, uniform on the sphere, and begin with r = 2 sqrt(unit) max(|x|, 1)."""
    xi = ops.noise(s.x, s.seed, s.episode)
    unit = ops.maximum(ops.roundoff(s.x), p.escape.noise)
    radius = 2 * ops.sqrt(unit) * ops.maximum(ops.norm(s.x), 1.0)
    return ops.scale(1 / ops.norm(xi), xi), NO_RESOLUTION._replace(radius=radius, error=inf)


def half(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + (r/2) v_1)."""
    known = s.escape._replace(half_radius_gradient=ops.copy(gradient))
    return s._replace(escape=known, phase=WHOLE_RADIUS)


def whole(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Search with this r, or probe again with a shorter or a longer one."""
    e, view = s.escape, discern(ops, p, s, gradient)
    pair = judge(ops, p, e, view)
    best = choose(ops, pair.worse, e.resolution, view.resolution)
    dark = 2 * best.curvature_tol > view.whole
    radius, factor, ahead = next_radius(ops, e, pair)
    ends = pair.worse & (e.radius_factor > 1) & ops.where(dark, False, True)
    fits = ahead <= TUNING.widest * ops.maximum(ops.norm(s.x), 1.0)
    again = ops.where(ends, False, pair.hides) & fits
    error = ops.where(again & pair.nothing, inf, best.error)
    best = best._replace(radius=ops.where(again, ahead, radius), error=error)
    unresolved = pair.hides & ops.where(pair.nothing, p.escape.noise > 0, dark)
    begun = ops.where(pair.worse, SEARCH, FIRST_STEP)
    ready = ops.where(unresolved | astray(ops, p, view), UNRESOLVED, begun)
    after = e._replace(resolution=best, radius_factor=factor)
    return s._replace(escape=after, phase=ops.where(again, HALF_RADIUS, ready))


def judge(ops: Ops, p: Parameters, e: Any, view: View) -> Judged:
    """Compare what this pair of probes shows with the pair before."""
    bent, shorter = hidden(ops, p, e, view)
    nothing = view.whole == 0
    hides = bent | nothing
    worse = hides & (view.resolution.error >= e.resolution.error)
    return Judged(hides, nothing, worse, shorter)


def next_radius(ops: Ops, e: Any, pair: Judged) -> tuple[Scalar, Scalar, Scalar]:
    """Give the r to search with, the factor in force from now on, and the r to probe next."""
    r, before = e.resolution.radius, e.resolution.radius / e.radius_factor
    turns = (pair.worse | pair.nothing) & (e.radius_factor < 1)
    factor = ops.where(turns | (e.radius_factor > 1), TUNING.longer, pair.shorter)
    return ops.where(pair.worse, before, r), factor, factor * ops.where(turns, before, r)


RADIUS_PHASES = {
    HALF_RADIUS: Phase(probing(0.5), GRADIENT, half),
    WHOLE_RADIUS: Phase(probing(1.0), GRADIENT, whole),
}
