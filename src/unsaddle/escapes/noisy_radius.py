"""How far to probe where gradients are noisy.

Central differences H_k of the gradient along v_1 are taken over radii r_k, each four times as long
as the one before, at two gradients each. What is left of them when compared is explained by

    s_k = sqrt(2) r_{k-1} |H_k - H_{k-1}|,

the noise of a gradient: it stays the same while it is noise, and grows by 64 as soon as f bends.

1. r begins as ``first_radius.py`` says, at one gradient for each that is too short.
2. It ends where gamma can be shown, where f bends, or where no longer radius may be tried.
3. Where gamma is not given, a thousandth of the curvature will do: a wider probe shows more along
   v_1, and less along another direction that bends.

What is chosen, by ``best_difference.py``, holds for the rest of the run, and H_k or H_{k-1} is the
first step of the search. r does not depend on where the origin is, but for the range in which it is
sought: from about sqrt(roundoff) max(|x|, 1) up to max(|x|, 1), or to ``max_step``.
"""

from typing import Any

from unsaddle.core.kernel import Parameters, Phase, State, iterate, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, NOTHING, PhaseName
from unsaddle.core.resolution import vacuous
from unsaddle.escapes.best_difference import Difference, Measured, as_chosen, best, measured
from unsaddle.escapes.first_radius import TUNING, begin, emerging, within_reach
from unsaddle.escapes.probe import SEARCH

NOISY_AHEAD, NOISY_BEHIND = PhaseName.NOISY_AHEAD, PhaseName.NOISY_BEHIND
NOISY_CHOICE, SEARCH_ANEW = PhaseName.NOISY_CHOICE, PhaseName.SEARCH_ANEW
FIRST_STEP, UNRESOLVED = PhaseName.FIRST_STEP, PhaseName.UNRESOLVED


def ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + r v_1) if this r is long enough to begin with; else lengthen it."""
    e, r = s.escape, s.escape.resolution.radius
    change = ops.norm(ops.add(gradient, -1.0, e.gradient))
    hidden = change < TUNING.clear * e.probe.noise
    radius = ops.where(hidden, emerging(ops, e, change), begin(ops, p, e, change / r))
    radius = within_reach(ops, p, s.x, radius)
    chosen = e.probe.radius  # negative where it is a guess, zero where it is to be found
    free = (e.probe.stage == 0) & (chosen <= 0) & (p.escape.probe_radius == 0)
    moves = free & (radius > TUNING.longer * r) & (hidden | (chosen == 0))
    ready = ops.where(free & (change < 2 * e.probe.noise), UNRESOLVED, NOISY_BEHIND)
    resolution = e.resolution._replace(radius=ops.where(moves, radius, r))
    known = e._replace(resolution=resolution, probe=e.probe._replace(behind=ops.copy(gradient)))
    return s.searched(ops.where(moves, NOISY_AHEAD, ready), known)


def behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """H_k = (g(r) - g(-r))/(2 r), and rho r/2 = |g(r) - 2 g(0) + g(-r)|/(2 r)."""
    e, r, probe = s.escape, s.escape.resolution.radius, s.escape.probe
    even = ops.add(ops.add(probe.behind, 1.0, gradient), -2.0, e.gradient)
    over_r = ops.times(1 / (2 * r), ops.add(probe.behind, -1.0, gradient))
    longer = within_reach(ops, p, s.x, TUNING.longer * r)
    longest = longer <= TUNING.worth * r
    wide = measured(ops, p, e, over_r, ops.norm(even) / (2 * r), longest)
    found = best(ops, e, wide)
    hidden = ops.where(wide.bends | longest, False, TUNING.quiet * found.error > wide.enough)
    radius = ops.where((probe.stage == 0) | hidden, longer, 0.0)
    resolution = e.resolution._replace(asked=wide.gamma, smoothness=ops.norm(over_r))
    turns = ops.where(radius > 0, False, wide.bends)
    probe = probe._replace(kept=ops.switch(turns, probe.kept, over_r), behind=e.gradient)
    after = tried(ops, e._replace(resolution=resolution, probe=probe), wide, found, radius)
    return s.searched(ops.where(radius > 0, NOISY_AHEAD, NOISY_CHOICE), after)


def tried(ops: Ops, e: Any, m: Measured, found: Difference, radius: Scalar) -> Any:
    """Take note of the next radius; or of the choice, where that is zero."""
    again, probe = radius > 0, e.probe
    resolution = e.resolution._replace(
        radius=ops.where(again, radius, found.radius),
        error=ops.where(again, m.explains, found.error),
    )
    kept = probe._replace(
        bending=ops.where(again, probe.bending, found.bending),
        noise=ops.where(again & ops.where(m.again, False, True), probe.noise, found.noise),
        held=ops.where(m.doubtful, 1.0, 0.0),
        sides=ops.where(again, probe.sides, found.sides),
        radius_factor=ops.where(again, radius / m.radius, 1.0),
        stage=probe.stage + 1,
    )
    return e._replace(probe=kept, resolution=resolution)


def choose(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep radius, sides and noise for the rest of the run; search with H v_1, if it is central."""
    e, radius = s.escape, s.escape.resolution.radius
    probe = e.probe._replace(stage=0, radius=radius)
    resolution = as_chosen(ops, p, s, probe)
    before = ops.add(gradient, -2 * radius, probe.kept)  # what makes H v_1 of this gradient
    central = probe.sides > 1
    probe = probe._replace(behind=ops.switch(central, before, ops.copy(e.gradient)))
    begins = ops.where(e.steps > 0, SEARCH_ANEW, ops.where(central, FIRST_STEP, SEARCH))
    onto = ops.where(vacuous(ops, resolution), UNRESOLVED, begins)
    after = e._replace(probe=probe, resolution=resolution)
    return s._replace(escape=after, phase=onto, noise=probe.noise)


NOISY_PHASES = {
    NOISY_AHEAD: Phase(probing(1.0), GRADIENT, ahead),
    NOISY_BEHIND: Phase(probing(-1.0), GRADIENT, behind),
    NOISY_CHOICE: Phase(iterate, NOTHING, choose),
}
