"""Is it noise, or does f bend? One gradient at hardly any distance tells.

Source: the difference tables of Moré & Wild (2011), ECnoise. The k-th difference of a smooth
function falls like the k-th power of the distance; that of noise of size s does not fall, and over
equal distances has the mean square (2k)!/(k!)^2 s^2. Used are

====================  ==================  =================================================
difference            over                what it tells
====================  ==================  =================================================
the second            r/2                 s = |.|/sqrt(6), if it is noise that hides gamma
the first             a few roundoffs     s = |.|/sqrt(2), whatever f does over r
the fourth            r/2, longer r       s = |.|/sqrt(70), in ``best_difference.py``
====================  ==================  =================================================

If a good part of the error over r is also seen over a few roundoffs of x, it is noise. Otherwise f
bends, and r is shortened. Four cases count as noise all the same:

* r is given, and cannot be shortened;
* r was lengthened just now, as over a shorter one the gradient was the same: it is rounded;
* the error was alike over two shorter r: it is in proportion to r, as about a zero of the gradient;
* r is so short that no function bends over it.
"""

from math import inf, sqrt
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import PhaseName
from unsaddle.core.resolution import few_roundoffs
from unsaddle.escapes.noisy_radius import NOISY_AHEAD
from unsaddle.escapes.noisy_radius import TUNING as RADIUS

CLOSE_BY, HALF_RADIUS = PhaseName.CLOSE_BY, PhaseName.HALF_RADIUS
RECHECK_CLOSE, SEARCH_ANEW = PhaseName.RECHECK_CLOSE, PhaseName.SEARCH_ANEW


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    closer: float = 1e-6  # of r, (0, 1e-3): at least so far, where x is zero
    part: float = 0.125  # of the noise over r, (0, 1): a program that starts from its last answer
    relative: int = 2  # pairs, 1 to 10: so many errors alike are of noise that grows with r
    much_shorter: float = 1 / 256  # (0, shorter): r after the first of them, to make sure
    shorter: float = 0.25  # per attempt, (0, 1): r, where f bends
    shortest: float = 1e-8  # roundoffs of max(|x|, 1), (0, 1): over a shorter r nothing bends


TUNING = Tuning()


def distance(ops: Ops, s: State) -> Scalar:
    """A few roundoffs of x, or a millionth of r where that is longer."""
    return ops.maximum(few_roundoffs(ops, s.x), TUNING.closer * s.escape.resolution.radius)


def close_by(ops: Ops, p: Parameters, s: State) -> Vector:
    """Query x~ + h v_1, where h is that distance."""
    return ops.add(s.x, distance(ops, s), s.escape.direction)


def noise_close_by(ops: Ops, s: State, gradient: Vector) -> Scalar:
    """The first difference over sqrt(2), without what f alone may add to it."""
    change = ops.norm(ops.add(gradient, -1.0, s.escape.gradient))
    smooth = s.escape.resolution.smoothness * distance(ops, s)
    return ops.maximum(change - smooth, 0.0) / sqrt(2)


def grows(ops: Ops, s: State) -> Scalar:
    """Say whether the error is one that grows with r."""
    shortest = TUNING.shortest * ops.roundoff(s.x) * ops.maximum(ops.norm(s.x), 1.0)
    return (s.escape.probe.stage >= TUNING.relative) | (s.escape.resolution.radius < shortest)


def measure_noise(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """If it is noise, look for the r at which curvature rises above it; if not, shorten r."""
    e, probe, fixed = s.escape, s.escape.probe, p.escape.probe_radius > 0
    close = noise_close_by(ops, s, gradient)
    rounded = (probe.radius_factor > 1) | fixed | grows(ops, s)
    noisy = (close >= TUNING.part * probe.held) | rounded
    shorter = ops.where(probe.stage > 0, TUNING.much_shorter, TUNING.shorter)
    factor = ops.where(fixed, 1.0, ops.where(noisy, RADIUS.emerge, shorter))
    noise = ops.maximum(close, ops.where(rounded, probe.held, 0.0))
    noise = ops.where(noisy, noise, probe.noise)
    stage = ops.where(noisy, 0, probe.stage)
    known = probe._replace(noise=noise, radius_factor=factor, stage=stage)
    error = ops.where(noisy, inf, e.resolution.error)
    resolution = e.resolution._replace(radius=factor * e.resolution.radius, error=error)
    after = e._replace(probe=known, resolution=resolution)
    return s.searched(ops.where(noisy, NOISY_AHEAD, HALF_RADIUS), after)


def after_recheck(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """If it is noise that a recheck has met, look for the r for it; if not, search anew."""
    e, probe, fixed = s.escape, s.escape.probe, p.escape.probe_radius > 0
    close = noise_close_by(ops, s, gradient)
    noisy = close >= TUNING.part * probe.held
    known = probe._replace(
        noise=ops.where(noisy, close, 0.0),
        radius=ops.where(noisy, 0.0, probe.radius),
        radius_factor=1.0,
        stage=0,
    )
    longer = ops.where(fixed, 1.0, RADIUS.emerge)
    resolution = e.resolution._replace(radius=longer * e.resolution.radius, error=inf)
    after = e._replace(probe=known, resolution=resolution)
    return s.searched(ops.where(noisy, NOISY_AHEAD, SEARCH_ANEW), after)
