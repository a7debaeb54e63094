"""How far to probe, and what can be seen from there: the first look of a search without constants.

Choices:

1. l and rho are what was given or what was met; gamma, where not given, is sqrt(rho eps), kept
   between ``finest`` l and ``coarsest`` l with the l met at x~ where rho was not given either.
2. The error of a difference is measured: along v_1 by halving r, which costs one gradient (r is
   shortened while bending, not rounding, hides gamma, once there is curvature beside the bending at
   once to where it should no longer, or rounding would; where that makes it worse the gradient is
   noisy, and r is lengthened instead, at least until something can be seen; so it is where both
   differences are exactly zero, as those of a gradient rounded to few digits are; if nothing is
   seen with the longest either, gradients are trusted to eps and no further), and at every
   step for nothing, as V'HV of an exact H is tridiagonal and symmetric and whatever else is found
   there is error. Four times that must stay below gamma. A gamma above all that is seen is not
   claimed where the function bends over r as much as it curves, and curves no less over r/2; nor
   one that error has raised above that, unless it is finer than ``finest`` l all the same.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight, sight, vacuous
from unsaddle.kernel import BEGIN, BLIND, GRADIENT, Ops, Parameters, Phase, Scalar, State, Vector

SEARCH, HALF, WHOLE, FIRST = BEGIN + 1, BEGIN + 5, BEGIN + 6, BEGIN + 7
WIDEST, CLEAR = 1e-2, 1e-2  # r, as a share of max(|x|, 1); 4 e, as a share of gamma
SHORTER = 0.25  # what r is multiplied by at most where it is shortened
RESOLVED = 0.75  # |H v_1| over r/2 by that over r, where it bends: a half, if r is short enough


def aim(ops: Ops, p: Parameters, s: State) -> tuple[Vector, Sight]:
    """Draw v_1 = xi, uniform on the sphere, and begin with r = 2 sqrt(unit) max(|x|, 1)."""
    xi = ops.noise(s.x, s.seed, s.episode)
    unit = ops.maximum(ops.roundoff(s.x), p.escape.noise)
    radius = 2 * ops.sqrt(unit) * ops.maximum(ops.norm(s.x), 1.0)
    return ops.scale(1 / ops.norm(xi), xi), NO_SIGHT._replace(radius=radius, error=inf)


def probe(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r v_k."""
    return ops.add(s.x, s.escape.sight.radius, s.escape.direction)


def halfway(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + (r/2) v_1."""
    return ops.add(s.x, s.escape.sight.radius / 2, s.escape.direction)


def half(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + (r/2) v_1)."""
    return s._replace(escape=s.escape._replace(aside=ops.keep(gradient)), phase=WHOLE)


class View(NamedTuple):
    """What a probe of length r along v_1 shows."""

    seen: Sight
    local: Scalar  # |H v_1|, over r
    closer: Scalar  # |H v_1|, over r/2
    bending: Scalar  # rho r/2: its share of the error, the rest is rounding


def discern(ops: Ops, p: Parameters, s: State, gradient: Vector) -> View:
    """rho = 4 |g(r) - 2 g(r/2) + g(0)|/r^2, and gamma = sqrt(rho eps) if it is not given."""
    e, c, r = s.escape, p.escape, s.escape.sight.radius
    bend = ops.add(gradient, -1.0, e.gradient)
    short = ops.add(e.aside, -1.0, e.gradient)
    met, changing = s.descent.scale()
    local = ops.norm(bend) / r
    smoothness = ops.maximum(ops.maximum(c.smoothness, met), local)
    change = 4 * ops.norm(ops.add(bend, -2.0, short)) / (r * r)
    rho = ops.maximum(c.hessian_lipschitz, change)
    hazy = (c.noise > 0) & (changing > 4 * rho)  # to a descent noise looks like change
    changing = ops.where(hazy, 4 * rho, changing)
    known = ops.where(c.hessian_lipschitz > 0, c.hessian_lipschitz, ops.maximum(rho, changing))
    own = ops.sqrt(known * p.tolerance)
    coarse = (c.finest > 0) & (own > c.coarsest * local)
    own = ops.maximum(ops.where(coarse, c.coarsest * local, own), c.finest * local)
    asked = ops.where(c.curvature_tol > 0, c.curvature_tol, own)
    least = ops.where(local == 0, 2 * p.tolerance / r, e.floor)
    seen = sight(
        ops,
        s.x,
        e.gradient,
        s.episode,
        radius=r,
        smoothness=smoothness,
        hessian_lipschitz=rho,
        curvature_tol=ops.maximum(asked, least),
        failure_probability=c.failure_probability,
        unit=ops.maximum(ops.roundoff(s.x), c.noise),
    )
    return View(seen._replace(asked=asked), local, 2 * ops.norm(short) / r, rho * r / 2)


def hidden(ops: Ops, p: Parameters, e: Any, view: View) -> tuple[Scalar, Scalar]:
    """Say whether bending hides gamma, 4 e > gamma; and the share of r that would show it."""
    seen, local, _, bending = view
    share = ops.where(p.escape.curvature_tol > 0, 1.0, CLEAR)  # noise passes for rho, raises gamma
    gamma, rounding = share * ops.maximum(seen.asked, e.floor), seen.error - bending
    bends = ops.maximum(bending, ops.tiny(e.gradient))
    clear = ops.maximum(gamma / (8 * bends), ops.sqrt(rounding / bends))
    shorter = ops.where((clear < SHORTER) & (4 * bending < local), clear, SHORTER)
    return (4 * seen.error > gamma) & (bending > 4 * rounding), shorter


def astray(ops: Ops, p: Parameters, view: View) -> Scalar:
    """Say whether no claim can come of r: it is too wide for f, or gamma above all that is seen."""
    seen, local, closer, bending = view
    wide = (seen.asked > local) & (4 * bending > local) & (closer > RESOLVED * local)
    met = ops.where(p.escape.noise > 0, 0.0, seen.smoothness)  # noise is met as curvature
    most = ops.maximum(local, p.escape.finest * met)
    return wide | (vacuous(ops, seen._replace(smoothness=most)) & (most > 0))


def whole(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Search with this r, or look with a shorter one, if bending hides gamma, or a longer one."""
    e, r = s.escape, s.escape.sight.radius
    view = discern(ops, p, s, gradient)
    bent, shorter = hidden(ops, p, e, view)
    nothing = view.local == 0  # or a gradient too coarse for r
    hides = bent | nothing
    worse = hides & (view.seen.error >= e.sight.error)
    turns = (worse | nothing) & (e.pace < 1)
    best = Sight(*(ops.where(worse, old, new) for old, new in zip(e.sight, view.seen, strict=True)))
    dark = 2 * best.curvature_tol > view.local
    ends = worse & (e.pace > 1) & ops.where(dark, False, True)
    pace = ops.where(turns | (e.pace > 1), 4.0, shorter)
    ahead = pace * ops.where(turns, r / e.pace, r)
    on = ops.where(ends, False, hides) & (ahead <= WIDEST * ops.maximum(ops.norm(s.x), 1.0))
    best = best._replace(
        radius=ops.where(on, ahead, ops.where(worse, r / e.pace, r)),
        error=ops.where(on & nothing, inf, best.error),
    )
    blind = (hides & ops.where(nothing, p.escape.noise > 0, dark)) | astray(ops, p, view)
    ready = ops.where(blind, BLIND, ops.where(worse, SEARCH, FIRST))
    after = e._replace(sight=best, pace=pace)
    return s._replace(escape=after, phase=ops.where(on, HALF, ready))


SOUNDING = {
    HALF: Phase(halfway, GRADIENT, half),
    WHOLE: Phase(probe, GRADIENT, whole),
}
