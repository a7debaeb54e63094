"""How far to probe where gradients are noisy.

The error of differences is measured along v_1 by ``best_difference.py``, at four gradients
x~ +- r v_1 and x~ +- (r/2) v_1 for each r:

1. First r is lengthened, at one gradient each, until the gradient changes by 32 times the noise.
2. Then it is lengthened while that lowers the error; or shortened, if the first two longer ones do
   not, or a search has met errors it did not know of; until gamma shows or the error rises again.
3. Where gamma is not given, a thousandth of the curvature will do: a wider probe shows more along
   v_1, and less along another direction that bends.

What is chosen holds for the rest of the run. As the error is measured, r does not depend on where
the origin is, but for the range in which it is sought: from about sqrt(roundoff) max(|x|, 1) up to
.85 max(|x|, 1), or to ``max_step``. The last r is exactly that, where nothing bends before.
"""

from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, iterate, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, NOTHING, PhaseName
from unsaddle.core.resolution import vacuous, visible_curvature
from unsaddle.escapes.best_difference import (
    Measured,
    as_chosen,
    better,
    error_over,
    hides,
    measured,
)
from unsaddle.escapes.probe import Probe, next_step, reach

NOISY_AHEAD, NOISY_BEHIND = PhaseName.NOISY_AHEAD, PhaseName.NOISY_BEHIND
HALF_AHEAD, HALF_BEHIND = PhaseName.NOISY_HALF_AHEAD, PhaseName.NOISY_HALF_BEHIND
NOISY_CHOICE, UNRESOLVED = PhaseName.NOISY_CHOICE, PhaseName.UNRESOLVED
SEARCH_ANEW = PhaseName.SEARCH_ANEW


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    widest: float = 0.85  # of max(|x|, 1), above 0: none longer is worth it; 1 may be f's period
    gains: float = 1.5  # of r, above 1: the last r ends at ``widest`` if it is longer by this
    emerge: float = 16.0  # per attempt, above 1: r until curvature stands out; few gradients
    clear: float = 32.0  # noises, above 4: a change of the gradient that shows curvature to 3 %
    longer: float = 4.0  # per attempt, above 1: r while the error falls; within 2 of the best
    longest: float = 16.0  # per attempt, above that: r while noise is all that is to be seen
    level: float = 2.0  # of the least error, 1 to 4: bending grows by four or more with a longer r


TUNING = Tuning()


def ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + r v_1) if it stands out from noise, or the error asks for r; else lengthen r."""
    e, r, longest = s.escape, s.escape.resolution.radius, reach(ops, p, s.x, TUNING.widest)
    change = ops.norm(ops.add(gradient, -1.0, e.gradient))
    hopeless = change < 2 * e.probe.noise
    fits, last = TUNING.emerge * r <= longest, hopeless & (longest >= TUNING.gains * r)
    emerges = (change >= TUNING.clear * e.probe.noise) | (e.probe.stage > 0)
    further = ops.where(emerges, False, fits | last)
    onto = ops.where(hopeless & (e.probe.stage == 0), UNRESOLVED, NOISY_BEHIND)
    longer = ops.where(fits, TUNING.emerge * r, longest)
    resolution = e.resolution._replace(radius=ops.where(further, longer, r))
    known = e._replace(resolution=resolution, probe=e.probe._replace(kept=ops.copy(gradient)))
    return s.searched(ops.where(further, NOISY_AHEAD, onto), known)


def behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """rho r/2 = |g(r) - 2 g(0) + g(-r)|/(2 r), and H v_1 = (g(r) - g(-r))/(2 r)."""
    e, r = s.escape, s.escape.resolution.radius
    even = ops.add(ops.add(e.probe.kept, 1.0, gradient), -2.0, e.gradient)
    over_r = ops.times(1 / (2 * r), ops.add(e.probe.kept, -1.0, gradient))
    probe = e.probe._replace(kept=over_r, behind=even, held=ops.norm(even) / (2 * r))
    met = ops.where(e.steps > 0, e.resolution.smoothness, 0.0)  # v_k may be flat
    resolution = e.resolution._replace(smoothness=ops.maximum(ops.norm(over_r), met))
    return s.searched(HALF_AHEAD, e._replace(probe=probe, resolution=resolution))


def half_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take g(x~ + (r/2) v_1) into H v_1 over r less that over r/2, and the fourth difference."""
    e, r = s.escape, s.escape.resolution.radius
    odd = ops.add(e.probe.kept, -1 / r, gradient)
    even = ops.add(e.probe.behind, -4.0, gradient)
    return s.searched(HALF_BEHIND, e._replace(probe=e.probe._replace(kept=odd, behind=even)))


def half_behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep the better difference; try another radius, or be content."""
    e, wide = s.escape, measured(ops, p, s.escape, gradient)
    longest = reach(ops, p, s.x, TUNING.widest)
    longer = longest >= TUNING.gains * wide.radius
    best, error = better(ops, e.probe, e.resolution.error, wide)
    radius, again = next_radius(ops, e, wide, best, error)
    fits, least = radius <= longest, best.radius / TUNING.longer
    again = again & (fits | longer | (e.probe.stage == 0)) & (longest > 0)
    other = ops.where(fits, radius, ops.where(longer, longest, least))
    radius = ops.where(again, other, best.radius)
    factor = ops.where(radius < wide.radius, 1 / TUNING.longer, TUNING.longer)
    probe = best._replace(behind=e.gradient, radius_factor=factor, stage=e.probe.stage + 1)
    seen = e.resolution._replace(radius=radius, error=error, asked=wide.gamma)
    after = e._replace(probe=probe, resolution=seen)
    return s.searched(ops.where(again, NOISY_AHEAD, NOISY_CHOICE), after)


def next_radius(
    ops: Ops, e: Any, wide: Measured, best: Probe, error: Scalar
) -> tuple[Scalar, Scalar]:
    """The next r, and whether it is to be tried: where noise grows with r, a longer one may do."""
    stage, improves, shortens = e.probe.stage, error < e.resolution.error, e.probe.radius_factor < 1
    level = error_over(ops, wide)[0] <= TUNING.level * error
    patient = ops.where(shortens, False, (stage == 1) | level)
    turns = ops.where(improves | patient, False, stage <= 2)
    enough = ops.maximum(wide.enough, ops.tiny(e.gradient))
    wanted = ops.maximum(TUNING.longer, 8 * wide.noise / enough)
    wanted = ops.where(wanted < TUNING.longest, wanted, TUNING.longest)
    longer = ops.where(hides(wide), wanted, TUNING.longer)
    further = wide.radius * ops.where(shortens, 1 / TUNING.longer, longer)
    back = best.radius * ops.where(shortens, longer, 1 / TUNING.longer)
    short = visible_curvature(error) > wide.enough
    return ops.where(turns, back, further), short & (improves | patient | turns)


def choose(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep the radius, the sides and the noise for the rest of the run, and search with them."""
    probe = s.escape.probe._replace(stage=0)
    resolution = as_chosen(ops, p, s, probe)
    after = s.escape._replace(probe=probe, resolution=resolution)
    begins = ops.where(s.escape.steps > 0, SEARCH_ANEW, next_step(ops, resolution))
    onto = ops.where(vacuous(ops, resolution), UNRESOLVED, begins)
    return s._replace(escape=after, phase=onto, noise=probe.noise)


NOISY_PHASES = {
    NOISY_AHEAD: Phase(probing(1.0), GRADIENT, ahead),
    NOISY_BEHIND: Phase(probing(-1.0), GRADIENT, behind),
    HALF_AHEAD: Phase(probing(0.5), GRADIENT, half_ahead),
    HALF_BEHIND: Phase(probing(-0.5), GRADIENT, half_behind),
    NOISY_CHOICE: Phase(iterate, NOTHING, choose),
}
