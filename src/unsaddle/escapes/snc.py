"""Negative curvature finding with stochastic gradients.

Source: Algorithm 3 of Zhang & Li (2021), and Algorithm 7, the same without renormalisation. What
follows a search, the test of its direction, is in ``sample_test.py``.

Differences from the paper:

1. y_t is kept as y_t/r_s, of length one, which the output is to be; d in print means n.
2. ``start`` is |y_0|/r_s: 0 as printed, 1 on the sphere, as the caption of Figure 2 has it.
   L_0 is 1: from y_0 = 0 the printed L_0 = r_s gives the same directions.
3. ``noise`` is the root mean square length of xi: r_s as printed, 0 for none.
4. r_s is never below what floating point needs to resolve the difference of two gradients.
5. A search ends early when the running mean of its Rayleigh quotients, over about l/gamma steps,
   is at most -``soon`` gamma: infinite as printed. If the test says no, it goes on.
6. A search whose direction fails its test is repeated with new noise, ``probes`` times in all.

Noise is a function of (seed, episode, t), through the number episode (window + 1) + t.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.evidence import of_search
from unsaddle.core.kernel import (
    Parameters,
    Part,
    Phase,
    State,
    Update,
    begin_search,
    iterate,
    probing,
)
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GRADIENT, NEW, NOTHING, SAME, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution, finest_resolution
from unsaddle.escapes.sample_mean import NO_TEST, SampleTest
from unsaddle.escapes.sample_test import PHASES

SEARCH, SEARCH_ANEW = PhaseName.SEARCH, PhaseName.SEARCH_ANEW
SAMPLE_CENTRE, TEST_CENTRE = PhaseName.SAMPLE_CENTRE, PhaseName.TEST_CENTRE


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~) over the sample in force
    direction: Vector  # y_t/r_s
    steps: Scalar = 0  # t
    scale: Scalar = 1.0  # L_t
    quotient: Scalar = 0.0  # running mean of the Rayleigh quotients
    probes: Scalar = 0  # searches at this x~ so far
    curvature: Scalar = inf  # upper end of the confidence interval of the last test
    resolution: Resolution = NO_RESOLUTION
    test: SampleTest = NO_TEST
    evidence = of_search


class Settings(NamedTuple):
    """Hyperparameters."""

    search_step: float  # 1/l
    radius: float  # r_s
    window: int  # script T_s
    search_batch: int  # m
    start: float  # |y_0|/r_s
    noise: float  # root mean square length of xi
    soon: float  # share of gamma at which a search ends early
    probes: int  # searches before x~ is given up
    checks: int  # K, fresh minibatches of a test
    check_batch: int  # samples in each
    quantile: float  # of Student's t distribution with K - 1 degrees of freedom
    enough: float  # share of gamma that the curvature must reach with confidence
    length: float  # of the jump, (1/4) sqrt(eps/rho)
    stretch: float  # the jump is as long as this many |curvature|/rho, if that is longer
    decrease: float  # promised by the jump, (1/384) sqrt(eps^3/rho)
    curvature_tol: float  # gamma = sqrt(rho eps)
    failure_probability: float  # delta
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def first_search(anew: Update) -> Update:
    """Give the update that searches at x~ for the first time, by ``anew``."""

    def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        resolution = finest_resolution(ops, p.escape, s.x, gradient, s.episode + 1)
        first = s.escape._replace(resolution=resolution, probes=0)
        return anew(ops, p, s._replace(escape=first), value, gradient)

    return begin


def begin_anew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_0 = 0, or uniform on the sphere of radius r_s; L_0 = 1."""
    s = begin_search(s)
    w = ops.normal(s.x, s.seed, s.episode * (p.escape.window + 1))
    search = Memory(
        gradient=s.escape.gradient,
        direction=ops.scale(p.escape.start / ops.norm(w), w),
        probes=s.escape.probes + 1,
        resolution=s.escape.resolution,
    )
    return s.searched(SAMPLE_CENTRE, search)


def centre(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep (1/m) sum_j g(x~; theta_j), of m new samples."""
    return s.searched(SEARCH, s.escape._replace(gradient=ops.copy(gradient)))


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y' = y - (1/l) (g(y) + xi/L), xi ~ N(0, (r_s^2/n) I); L' = L |y'|/r_s, y' <- y' r_s/|y'|."""
    e, t, gamma = s.escape, s.escape.steps + 1, s.escape.resolution.curvature_tol
    step, spread = p.escape.search_step / e.resolution.radius, p.escape.noise / ops.size(s.x) ** 0.5
    xi = ops.normal(s.x, s.seed, s.episode * (p.escape.window + 1) + t)
    g = ops.axpy(-1.0, e.gradient, gradient)
    rayleigh = ops.dot(g, e.direction) / e.resolution.radius
    mean = e.quotient + gamma * p.escape.search_step * (rayleigh - e.quotient)
    y = ops.axpy(-step * spread / e.scale, xi, ops.axpy(-step, g, e.direction))
    length = ops.maximum(ops.norm(y), ops.tiny(y))
    scale = ops.maximum(e.scale * length, ops.tiny(y))
    over = (mean <= -p.escape.soon * gamma) | (t >= p.escape.window)
    after = e._replace(direction=ops.scale(1 / length, y), steps=t, scale=scale, quotient=mean)
    return s.searched(ops.where(over, TEST_CENTRE, SAMPLE_CENTRE), after)


def batch(p: Parameters) -> int:
    """Samples of a step of the search, m."""
    return p.escape.search_batch


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """Nothing searched yet."""
    return Memory(ops.times(0.0, x), ops.times(0.0, x))


snc = Part(
    {
        BEGIN: Phase(iterate, NOTHING, first_search(begin_anew)),
        SEARCH_ANEW: Phase(iterate, NOTHING, begin_anew),
        SAMPLE_CENTRE: Phase(iterate, GRADIENT, centre, NEW, batch),
        SEARCH: Phase(probing(1.0), GRADIENT, search, SAME, batch),
        **PHASES,
    },
    Settings,
    memory,
)
