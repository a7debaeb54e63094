"""How far to probe where gradients are noisy.

Central differences H_k of the gradient along v_1 are taken over radii r_k, each four times as long
as the one before, at two gradients each. What is left of them when compared is explained by

    s_k = sqrt(2) r_{k-1} |H_k - H_{k-1}|,

the noise of a gradient: it stays the same while it is noise, and grows by 64 as soon as f bends.

1. First r is lengthened, at one gradient each, until the gradient changes by 32 times the noise.
2. Then it begins at a quarter of the radius at which noise alone would show gamma, or at which it
   would be as large as the bending of a function of length one, whichever is less.
3. It ends where gamma can be shown, where s_k rises, or where no longer radius may be tried. Where
   it rises from the first to the last, it begins anew over a radius that bending and noise foretell.
4. Where gamma is not given, a thousandth of the curvature will do: a wider probe shows more along
   v_1, and less along another direction that bends.

What is chosen, by ``best_difference.py``, holds for the rest of the run, and H_k or H_{k-1} is the
first step of the search. r does not depend on where the origin is, but for the range in which it is sought:
from about sqrt(roundoff) max(|x|, 1) up to max(|x|, 1), or to ``max_step``.
"""

from math import inf
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, iterate, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, NOTHING, PhaseName
from unsaddle.core.resolution import vacuous
from unsaddle.escapes.best_difference import TUNING as DIFFERENCE
from unsaddle.escapes.best_difference import (
    Difference,
    Measured,
    as_chosen,
    balanced,
    best,
    measured,
)
from unsaddle.escapes.probe import SEARCH

NOISY_AHEAD, NOISY_BEHIND = PhaseName.NOISY_AHEAD, PhaseName.NOISY_BEHIND
NOISY_CHOICE, SEARCH_ANEW = PhaseName.NOISY_CHOICE, PhaseName.SEARCH_ANEW
FIRST_STEP, UNRESOLVED = PhaseName.FIRST_STEP, PhaseName.UNRESOLVED


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    widest: float = 1.0  # of max(|x|, 1), above 0: no noise that is worth it lets r become longer
    emerge: float = 256.0  # per attempt, above 1: r until curvature stands out; few gradients
    clear: float = 32.0  # noises, above 4: a change of the gradient that shows curvature to 3 %
    quiet: float = 8.0  # s/gamma, above 4: r at which noise is half of what gamma lets pass
    longer: float = 4.0  # per attempt, above 1: r while the error falls; within 2 of the best
    worth: float = 1.5  # (1, longer): a radius that is not so much longer is not tried


TUNING = Tuning()


def fits(ops: Ops, p: Parameters, x: Vector, radius: Scalar, widest: float) -> Scalar:
    """Say whether a radius may be tried."""
    free = (p.escape.probe_radius == 0) & (radius <= p.escape.max_step)
    return (radius <= widest * ops.maximum(ops.norm(x), 1.0)) & free


def ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + r v_1) if this r is long enough to begin with; else lengthen it."""
    e, r = s.escape, s.escape.resolution.radius
    change = ops.norm(ops.add(gradient, -1.0, e.gradient))
    hidden = change < TUNING.clear * e.probe.noise
    begin = foreseen(ops, p, e, change / r) / TUNING.longer
    radius = within_reach(ops, p, s.x, ops.where(hidden, TUNING.emerge * r, begin))
    first = (e.probe.stage == 0) & ((e.probe.radius == 0) | hidden)
    further = first & (radius > TUNING.longer * r)
    hopeless = (change < 2 * e.probe.noise) & (e.probe.stage == 0)
    onward = ops.where(further, NOISY_AHEAD, ops.where(hopeless, UNRESOLVED, NOISY_BEHIND))
    resolution = e.resolution._replace(radius=ops.where(further, radius, r))
    known = e._replace(resolution=resolution, probe=e.probe._replace(behind=ops.copy(gradient)))
    return s.searched(onward, known)


def foreseen(ops: Ops, p: Parameters, e: Any, curvature: Scalar) -> Scalar:
    """r = 8 s/gamma; or (3 s/l)^(1/3), which is best where rho_4 = l, if that is less."""
    noise, given = e.probe.noise, p.escape.curvature_tol > 0
    least = ops.maximum(curvature, ops.tiny(e.gradient))
    enough = ops.where(given, p.escape.curvature_tol, DIFFERENCE.enough * least)
    shows, balance = TUNING.quiet * noise / enough, (3 * noise / least) ** (1 / 3)
    return ops.where(shows < balance, shows, balance)


def within_reach(ops: Ops, p: Parameters, x: Vector, radius: Scalar) -> Scalar:
    """This radius, or the longest that may be tried."""
    longest = TUNING.widest * ops.maximum(ops.norm(x), 1.0)
    longest = ops.where(longest < p.escape.max_step, longest, p.escape.max_step)
    longest = ops.where(p.escape.probe_radius > 0, p.escape.probe_radius, longest)
    return ops.where(radius < longest, radius, longest)


def behind(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """H_k = (g(r) - g(-r))/(2 r), and rho r/2 = |g(r) - 2 g(0) + g(-r)|/(2 r)."""
    e, r, probe = s.escape, s.escape.resolution.radius, s.escape.probe
    even = ops.add(ops.add(probe.behind, 1.0, gradient), -2.0, e.gradient)
    over_r = ops.times(1 / (2 * r), ops.add(probe.behind, -1.0, gradient))
    wide = measured(ops, p, e, over_r, ops.norm(even) / (2 * r))
    found = best(ops, e, wide)
    radius = next_radius(ops, p, s, wide, found)
    resolution = e.resolution._replace(asked=wide.gamma, smoothness=ops.norm(over_r))
    turns = ops.where(radius > 0, False, wide.rises)
    probe = probe._replace(kept=ops.switch(turns, probe.kept, over_r), behind=e.gradient)
    after = tried(ops, e._replace(resolution=resolution, probe=probe), wide, found, radius)
    return s.searched(ops.where(radius > 0, NOISY_AHEAD, NOISY_CHOICE), after)


def tried(ops: Ops, e: Any, m: Measured, found: Difference, radius: Scalar) -> Any:
    """Take note of the next radius; or of the choice, where that is zero."""
    again, probe = radius > 0, e.probe
    least = ops.where(m.astray, inf, m.least)
    resolution = e.resolution._replace(
        radius=ops.where(again, radius, found.radius), error=ops.where(again, least, found.error)
    )
    kept = probe._replace(
        bending=ops.where(again, probe.bending, found.bending),
        noise=ops.where(again, probe.noise, found.noise),
        sides=ops.where(again, probe.sides, found.sides),
        radius_factor=ops.where(again, radius / m.radius, 1.0),
        stage=ops.where(m.astray, 0, probe.stage + 1),
    )
    return e._replace(probe=kept, resolution=resolution)


def next_radius(ops: Ops, p: Parameters, s: State, m: Measured, found: Difference) -> Scalar:
    """The next r, or zero where the choice can be made."""
    longer = within_reach(ops, p, s.x, TUNING.longer * m.radius)
    hidden = ops.where(m.rises, False, 4 * found.error > m.enough)
    further = (s.escape.probe.stage == 0) | (hidden & (longer > TUNING.worth * m.radius))
    shorter = balanced(ops, s.escape, m) / TUNING.longer
    return ops.where(m.astray, shorter, ops.where(further, longer, 0.0))


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
