"""The last queries of a search: has it met the Hessian, or bending?

A certificate rests on what was *not* found. Where f bends within r along one variable, as in a well
narrower than r, negative curvature there does not show over r either, and a random direction hardly
shows the bending. The directions that the search ends with do: the one that curved least, and for a
growth certificate the one that decayed slowest. Along these, H u over r is compared with H u over
r/2, which tells the error of a difference over r:

    2 |difference| forward, (4/3) |difference| central.

Where rounding is all that gradients suffer from, Lanczos has a cheaper check: T y = theta y
says that H u = theta u + beta y_k v_{k+1}, and one query at r/16 tells how far that is from true.

Four times that error must stay below gamma, or it must be at most four times what noise adds to it.
Else one gradient close by tells if it is noise that nobody knew of (``noise_level.py``). If not,
the search begins anew over a shorter r, such that bending and noise are in balance; where that does
not halve the error, or r was given, gamma is raised to four errors instead.

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
from unsaddle.escapes.noise_level import RECHECK_CLOSE, after_recheck, close_by
from unsaddle.escapes.probe import Probe, difference, keep_behind

RECHECK, RECHECK_BEHIND = PhaseName.RECHECK, PhaseName.RECHECK_BEHIND
DIP, RAISE, SEARCH_ANEW = PhaseName.DIP, PhaseName.RAISE, PhaseName.SEARCH_ANEW
LOWEST, LOWEST_HALF, LOWEST_CLOSE = 2, 3, 4  # stages


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    asked: float = 0.5  # of gamma, (0, 1): the share that the theorems of the papers find
    close: float = 1 / 16  # of r, (0, 1/2): bending over it is next to nothing
    finer: float = 0.5  # (0, 1): what a shorter r has to make of the error, to be worth a search
    shortest: float = 1 / 64  # (0, 1): the least share in one go; the balance is but a guess


TUNING = Tuning()


def first_query(ops: Ops, p: Parameters, e: Any) -> Scalar:
    """The phase in which a stage begins; products that are exact have nothing to recheck."""
    claim = ops.where(e.curvature < -4 * e.largest_error(ops), DIP, CERTIFIED)
    stage = ops.where(e.resolution.sides > 1, RECHECK_BEHIND, RECHECK)
    return ops.where(p.products, claim, stage)


def share_of_radius(ops: Ops, e: Any) -> Scalar:
    """What is queried in this stage: the whole of r, half of it, or less."""
    half = ops.where(e.probe.stage % 2 == 1, 0.5, 1.0)
    return ops.where(e.probe.stage == LOWEST_CLOSE, TUNING.close, half)


def can_look_close(e: Any) -> Scalar:
    """Say whether noise does not hide gamma over r/16, where it counts sixteen times."""
    rounding = 16 * noise_of(e) <= TUNING.close * e.resolution.curvature_tol
    return rounding & (e.probe.noise == 0) & (e.resolution.sides == 1)


def looking(sign: float) -> At:
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
    error = ops.where(share < 1, off, 0.0)
    straight = error <= ops.maximum(e.resolution.curvature_tol / 4, 4 * noise_of(e))
    claim = ops.where(dips(ops, e, bend), DIP, CERTIFIED)
    passed = ops.where(e.probe.stage >= LOWEST_HALF, claim, first_query(ops, p, e))
    finer, failed = refined(ops, p, e, error, share)
    probe = choose_scalars(ops, straight, e.probe, finer)
    probe = probe._replace(kept=bend, stage=e.probe.stage + 1)
    return s.searched(ops.where(straight, passed, failed), e._replace(probe=probe))


def dips(ops: Ops, e: Any, bend: Vector) -> Scalar:
    """Say whether theta is below zero beyond all errors, or u'Hu below -gamma/2 beyond its own."""
    whole, half = ops.dot(e.direction, e.probe.kept), ops.dot(e.direction, bend)
    bending = abs(whole - half) * richardson(ops, e)
    asked = half < -TUNING.asked * e.resolution.asked
    seen = asked & (half < -2 * (bending + 2 * noise_of(e)))
    return seen | (e.curvature < -4 * e.largest_error(ops))


def richardson(ops: Ops, e: Any) -> Scalar:
    """The error of a difference over r by its distance from the one over less than r."""
    halved = ops.where(e.resolution.sides > 1, 4 / 3, 2.0)
    return ops.where(e.probe.stage == LOWEST_CLOSE, 1.0, halved)


def noise_of(e: Any) -> Scalar:
    """What noise adds to the error of a difference over r."""
    return 2 * e.resolution.noise / (e.resolution.sides * e.resolution.radius)


def refined(ops: Ops, p: Parameters, e: Any, error: Scalar, over: Scalar) -> tuple[Probe, Scalar]:
    """Choose the r at which bending and noise are equal, or a larger gamma if that gains little."""
    resolution, tiny = e.resolution, ops.tiny(e.gradient)
    share = (noise_of(e) / ops.maximum(error, tiny)) ** (1 / (1 + resolution.sides))
    share = ops.maximum(share, TUNING.shortest)
    anew = (2 * share**resolution.sides <= TUNING.finer) & (p.escape.probe_radius == 0)
    share = ops.where(anew, share, 1.0)
    probe = e.probe._replace(
        radius=share * resolution.radius,
        bending=error * share**resolution.sides,
        sides=resolution.sides,
        error_floor=ops.where(anew, e.probe.error_floor, 4 * error),
        held=error * over * resolution.radius / sqrt(2),
    )
    shorter = ops.where(e.probe.noise > 0, SEARCH_ANEW, RECHECK_CLOSE)
    return probe, ops.where(anew, shorter, RAISE)


def choose_scalars(ops: Ops, condition: Scalar, one: Probe, other: Probe) -> Probe:
    """Give one or the other, which have the same vectors."""
    fields = ("radius", "bending", "sides", "error_floor", "held")
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in fields)
    return one._replace(**{name: ops.where(condition, a, b) for name, a, b in pairs})


RECHECK_PHASES = {
    RECHECK_BEHIND: Phase(looking(-1.0), GRADIENT, keep_behind(RECHECK)),
    RECHECK: Phase(looking(1.0), GRADIENT, recheck),
    RECHECK_CLOSE: Phase(close_by, GRADIENT, after_recheck),
}
