"""The last queries of a search: has it met the Hessian, or bending?

A certificate rests on what was *not* found. Where f bends within r along one variable, as in a well
narrower than r, negative curvature there does not show over r either, and a random direction hardly
shows the bending. The directions that the search ends with do: the one that curved least, and for a
growth certificate the one that decayed slowest. Along these, H u over r is compared with H u over
r/2, which tells the error of a difference over r:

    2 |difference| forward, (4/3) |difference| central.

Where rounding is all that gradients suffer from, Lanczos has a cheaper check: T y = theta y
says that H u = theta u + beta y_k v_{k+1}, and one query at r/16 tells how far that is from true.

The check passes if the error is at most gamma/4, or four times what noise or rounding adds to it.
Where it is at most ``bends`` times that, a shorter r is no better: gamma is raised to four errors.
Else one gradient close by tells if there is noise that nobody knew of (``noise_level.py``). If not,
f bends: the search begins anew over a shorter r, at which bending and noise should be in balance.
As errors above gamma/4 may pass, gamma is raised to 4/3 of -u'Hu, with bending taken out by both r,
if that is more: a search that rules out -gamma rules out any larger one.

======  =========================  ===========================
stage   along                      over
======  =========================  ===========================
0, 1    what decayed slowest       r, r/2
2, 3    what curved least          r, r/2
4       what curved least          r/16, and by T over r
======  =========================  ===========================
"""

from math import sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import At, Parameters, Phase, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import CERTIFIED, GRADIENT, PhaseName
from unsaddle.core.resolution import TUNING as RESOLUTION
from unsaddle.core.resolution import Resolution, least_gamma, vacuous, visible_curvature
from unsaddle.escapes.noise_level import RECHECK_CLOSE, after_recheck, close_by
from unsaddle.escapes.probe import Probe, choose_scalars, difference, remember_behind

RECHECK, RECHECK_BEHIND = PhaseName.RECHECK, PhaseName.RECHECK_BEHIND
DIP, RAISE, SEARCH_ANEW = PhaseName.DIP, PhaseName.RAISE, PhaseName.SEARCH_ANEW
LOWEST, LOWEST_HALF, LOWEST_CLOSE = 2, 3, 4  # stages


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    close: float = 1 / 16  # of r, (0, 1/2): bending over it is next to nothing
    bends: float = 16.0  # noises, above 4: an error as large is bending, which a shorter r mends
    shortest: float = 1 / 64  # (0, 1): the least share in one go; the balance is but a guess


TUNING = Tuning()


def first_query(ops: Ops, p: Parameters, e: Any) -> Scalar:
    """The phase in which a stage begins; products that are exact have nothing to recheck."""
    claim = ops.where(curves_down(ops, e), DIP, CERTIFIED)
    stage = ops.where(e.resolution.sides > 1, RECHECK_BEHIND, RECHECK)
    return ops.where(p.products, claim, stage)


def share_of_radius(ops: Ops, e: Any) -> Scalar:
    """What is queried in this stage: the whole of r, half of it, or less."""
    half = ops.where(e.probe.stage % 2 == 1, 0.5, 1.0)
    return ops.where(e.probe.stage == LOWEST_CLOSE, TUNING.close, half)


def along(sign: float) -> At:
    """Query x~ +- r u, or x~ +- (r/2) u."""

    def at(ops: Ops, p: Parameters, s: State) -> Vector:
        e, (slowest, length) = s.escape, s.escape.slowest
        reach, early = sign * share_of_radius(ops, e) * e.resolution.radius, e.probe.stage < 2
        x = ops.add(s.x, ops.where(early, reach / length, 0.0), slowest)
        return ops.axpy(ops.where(early, 0.0, reach), e.direction, x)

    return at


def recheck(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep H u over r, or compare it with H u over r/2; then go on, claim, or search anew."""
    e, share = s.escape, share_of_radius(ops, s.escape)
    bend = difference(ops, e, gradient, share)
    off = ops.norm(ops.add(bend, -1.0, e.probe.kept)) * richardson(ops, e)
    error, hidden = ops.where(share < 1, off, 0.0), e.resolution.curvature_tol / RESOLUTION.errors
    straight = error <= ops.maximum(hidden, visible_curvature(e.resolution.of_noise))
    claim, raised = claimed(ops, e, bend, straight)
    passed = ops.where(e.probe.stage >= LOWEST_HALF, claim, first_query(ops, p, e))
    finer, failed = refined(ops, e, error, share)
    probe = choose_scalars(ops, straight, e.probe, finer)
    probe = probe._replace(kept=bend, stage=e.probe.stage + 1)
    onto = ops.where(straight, passed, failed)
    return s.searched(onto, e._replace(probe=probe, resolution=raised))


def claimed(ops: Ops, e: Any, bend: Vector, passed: Scalar) -> tuple[Scalar, Resolution]:
    """Give the phase after a check that has passed, and gamma: at least 4/3 of -u'Hu unbent."""
    whole, half = ops.dot(e.direction, e.probe.kept), ops.dot(e.direction, bend)
    dip, unbent = dips(ops, e, whole, half), half + (richardson(ops, e) - 1) * (half - whole)
    counts, gamma = (e.probe.stage == LOWEST_HALF) & passed, e.resolution.curvature_tol
    least = ops.where(counts, least_gamma(unbent), 0.0)
    raised = e.resolution.claiming(ops, ops.maximum(gamma, least))
    claim = ops.where((least > gamma) & vacuous(ops, raised), PhaseName.UNRESOLVED, CERTIFIED)
    return ops.where(dip, DIP, claim), raised


def dips(ops: Ops, e: Any, whole: Scalar, half: Scalar) -> Scalar:
    """Say whether theta is below zero beyond all errors, or u'Hu below -gamma/2 beyond its own."""
    bending = abs(whole - half) * richardson(ops, e)
    asked = half < -RESOLUTION.found * e.resolution.asked
    seen = asked & (half < -2 * (bending + 2 * e.resolution.of_noise))
    return seen | curves_down(ops, e)


def curves_down(ops: Ops, e: Any) -> Scalar:
    """Say whether theta is below zero beyond all errors."""
    return e.curvature < -visible_curvature(e.largest_error(ops))


def richardson(ops: Ops, e: Any) -> Scalar:
    """The error of a difference over r by its distance from the one over less than r."""
    halved = ops.where(e.resolution.sides > 1, 4 / 3, 2.0)
    return ops.where(e.probe.stage == LOWEST_CLOSE, 1.0, halved)


def refined(ops: Ops, e: Any, error: Scalar, queried: Scalar) -> tuple[Probe, Scalar]:
    """Choose a shorter radius for the rest of the run, or a larger gamma if that gains little."""
    resolution, noise, tiny = e.resolution, e.resolution.of_noise, ops.tiny(e.gradient)
    share = (noise / ops.maximum(error, tiny)) ** (1 / (1 + resolution.sides))
    anew = error > TUNING.bends * noise
    share = ops.where(anew, ops.maximum(share, TUNING.shortest), 1.0)
    probe = e.probe._replace(
        radius=share * resolution.radius,
        bending=error * share**resolution.sides,
        sides=resolution.sides,
        error_floor=ops.where(anew, e.probe.error_floor, visible_curvature(error)),
        held=error * queried * resolution.radius / sqrt(2),
    )
    shorter = ops.where(e.probe.noise > 0, SEARCH_ANEW, RECHECK_CLOSE)
    return probe, ops.where(anew, shorter, RAISE)


RECHECK_PHASES = {
    RECHECK_BEHIND: Phase(along(-1.0), GRADIENT, remember_behind(RECHECK)),
    RECHECK: Phase(along(1.0), GRADIENT, recheck),
    RECHECK_CLOSE: Phase(close_by, GRADIENT, after_recheck),
}
