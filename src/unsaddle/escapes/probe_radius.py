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
the same, but the r before was better, and will do    the search begins with the r before
it hides gamma, and a shorter r made it worse, or     ``noise_level.py`` finds out if it is noise,
the gradient changes over r/2 as much as over r       at one gradient more
both differences are exactly zero                     r is lengthened by four, until something is
                                                      seen, or it is too long
f bends over r as much as it curves, and curves no    the search ends unresolved: no claim can come
less over r/2; or gamma is above all curvature seen   of this r
====================================================  ==============================================

A Lanczos search whose descent has met rho does without g(x~ + (r/2) v_1): errors show as it goes
on, as V'HV ceases to be symmetric (``doubt.py``), and are measured along the Ritz vector before
anything is claimed (``recheck.py``).

Where the noise is known, ``noisy_radius.py`` chooses r; it is kept, as is what a recheck chose.
Where products are exact there is nothing to choose: one of them tells l, and the search begins.
"""

from math import inf, sqrt
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, on_sphere, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, PROBE, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution, radius_of_products, vacuous
from unsaddle.escapes.best_difference import as_chosen
from unsaddle.escapes.noise_level import CLOSE_BY, close_by, measure_noise
from unsaddle.escapes.noisy_radius import NOISY_AHEAD, NOISY_PHASES
from unsaddle.escapes.probe import (
    QUERY_BEHIND,
    SEARCH_BEHIND,
    Probe,
    known_noise,
    next_step,
    reach,
)
from unsaddle.escapes.probe_pair import Judged, View, discern, judge, unresolvable

FIRST_STEP = PhaseName.FIRST_STEP
HALF_RADIUS, WHOLE_RADIUS = PhaseName.HALF_RADIUS, PhaseName.WHOLE_RADIUS
UNRESOLVED = PhaseName.UNRESOLVED


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    widest: float = 1e-2  # of max(|x|, 1), (0, 1): further away is another point


TUNING = Tuning()


def first(
    ops: Ops, p: Parameters, s: State, gradient: Vector, lanczos: bool = False
) -> tuple[Vector, Probe, Resolution, Scalar]:
    """Draw v_1 = xi, uniform on the sphere; begin with the r chosen before, or with a small one."""
    probe, noise = s.escape.probe, known_noise(ops, p, s, gradient)
    unpaired = one_will_do(p, s, noise) if lanczos else False
    probe = probe._replace(behind=gradient, noise=noise, radius_factor=1.0, stage=0)
    probe = probe._replace(unpaired=unpaired, doubted=probe.doubted | p.products)
    known, small = as_chosen(ops, p, s, probe), first_radius(ops, p, s, gradient)
    pair = ops.where(unpaired | p.products, WHOLE_RADIUS, HALF_RADIUS)
    searches = ops.where((noise > 0) | (probe.radius < 0), NOISY_AHEAD, pair)
    goes_on = ops.where(vacuous(ops, known), UNRESOLVED, next_step(ops, known))
    onto = ops.where(probe.radius > 0, goes_on, searches)
    unknown = NO_RESOLUTION._replace(radius=small, error=inf)
    return on_sphere(ops, s), probe, ops.switch(probe.radius > 0, known, unknown), onto


def one_will_do(p: Parameters, s: State, noise: Scalar) -> Scalar:
    """Say whether g(x~ + (r/2) v_1) is left out: rho has been met, and no errors are known."""
    c, probe = p.escape, s.escape.probe
    met = (s.descent.constants_met()[1] > 0) & (c.unit == 0) & (c.probe_radius == 0)
    return met & (noise == 0) & (probe.error_floor == 0) & (probe.radius == 0)


def first_radius(ops: Ops, p: Parameters, s: State, gradient: Vector) -> Scalar:
    """2 sqrt(roundoff) max(|x|, 1), unless r is given or guessed or products are exact."""
    c, guess = p.escape, s.escape.probe.radius
    small = 2 * ops.sqrt(ops.maximum(ops.roundoff(s.x), c.unit)) * ops.maximum(ops.norm(s.x), 1.0)
    small = ops.where(guess < 0, -guess, small)
    small = ops.where(c.probe_radius > 0, c.probe_radius, small)
    return ops.where(p.products, radius_of_products(ops, s.x, gradient), small)


def half_radius(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + (r/2) v_1)."""
    probe = s.escape.probe._replace(kept=ops.copy(gradient), unpaired=False)
    return s.searched(WHOLE_RADIUS, s.escape._replace(probe=probe))


def whole_radius(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Search with this r, or probe again with a shorter or a longer one, or measure the noise."""
    e, view = s.escape, discern(ops, p, s, gradient)
    pair, r = judge(ops, p, e, view), view.resolution.radius
    again = (pair.factor > 0) & (pair.factor * r <= reach(ops, p, s.x, TUNING.widest))
    seen = view.resolution._replace(radius=ops.where(again, pair.factor * r, r))
    seen = seen._replace(error=ops.where(again & pair.nothing, inf, seen.error))
    before = e.resolution._replace(radius=r / e.probe.radius_factor)
    probe = after_pair(ops, e.probe, view, pair, again)
    after = e._replace(resolution=ops.switch(pair.back, before, seen), probe=probe)
    onto = ops.where(pair.back, next_step(ops, before), next_phase(ops, p, view, pair, again))
    return s.searched(onto, after)


def after_pair(ops: Ops, probe: Probe, view: View, pair: Judged, again: Scalar) -> Probe:
    """What is known once the pair has been judged."""
    r = view.resolution.radius
    return probe._replace(
        radius_factor=ops.where(again, pair.factor, probe.radius_factor),
        held=view.change * r * r / (4 * sqrt(6)),
        stage=ops.where(pair.noisy & pair.same, probe.stage + 1, 0),
    )


def next_phase(ops: Ops, p: Parameters, view: View, pair: Judged, again: Scalar) -> Scalar:
    """Measure the noise, probe again, search, or end unresolved."""
    coarse = p.escape.unit + p.escape.probe_radius > 0
    unresolved = (pair.nothing & (coarse | (pair.factor == 0))) | unresolvable(ops, p, view)
    ready = ops.where(unresolved, UNRESOLVED, FIRST_STEP)
    return ops.where(pair.noisy, CLOSE_BY, ops.where(again, HALF_RADIUS, ready))


RADIUS_PHASES = {
    HALF_RADIUS: Phase(probing(0.5), GRADIENT, half_radius),
    WHOLE_RADIUS: Phase(probing(1.0), GRADIENT | PROBE, whole_radius),
    CLOSE_BY: Phase(close_by, GRADIENT, measure_noise),
    SEARCH_BEHIND: QUERY_BEHIND,
    **NOISY_PHASES,
}
