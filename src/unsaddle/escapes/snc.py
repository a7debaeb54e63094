"""Negative curvature finding with stochastic gradients.

Source: Algorithm 3 of Zhang & Li (2021), and Algorithm 7, the same without renormalisation. What
follows a search, the trial of its direction, is in ``trial.py``.

Differences from the paper:

1. y_t is kept as y_t/r_s, of length one, which the output is to be; d in print means n.
2. ``start`` is |y_0|/r_s: 0 as printed, 1 on the sphere, as the caption of Figure 2 has it.
   L_0 is 1: from y_0 = 0 the printed L_0 = r_s gives the same directions.
3. ``noise`` is the root mean square length of xi: r_s as printed, 0 for none.
4. r_s is never below what floating point needs to see the difference of two gradients.
5. A search ends early when the running mean of its Rayleigh quotients, over about l/gamma steps,
   is at most -``soon`` gamma: infinite as printed. If the trial says no, it goes on.
6. A search whose direction fails its trial is repeated with new noise, ``probes`` times in all.

Noise is a function of (seed, episode, t), through the number episode (window + 1) + t.
"""

from math import inf
from typing import NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight, sharpest
from unsaddle.escapes.trial import AGAIN, CENTRE, HERE, NO_TRIAL, PHASES, SEARCH, Trial, beside
from unsaddle.kernel import (
    BEGIN,
    GRADIENT,
    NEW,
    NOTHING,
    SAME,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)


class Memory(NamedTuple):
    """The search at x~."""

    here: Vector  # g(x~) over the sample in force
    direction: Vector  # y_t/r_s
    steps: Scalar  # t
    scale: Scalar  # L_t
    bend: Scalar  # running mean of the Rayleigh quotients
    probes: Scalar  # searches at this x~ so far
    curvature: Scalar  # upper end of the confidence interval of the last trial
    sight: Sight
    trial: Trial


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
    checks: int  # K, fresh minibatches of a trial
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


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Search at x~ for the first time."""
    first = s.escape._replace(sight=sharpest(ops, p.escape, s.x, gradient, s.episode + 1), probes=0)
    return again(ops, p, s._replace(escape=first), value, gradient)


def again(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y_0 = 0, or uniform on the sphere of radius r_s; L_0 = 1."""
    w = ops.noise(s.x, s.seed, (s.episode + 1) * (p.escape.window + 1))
    search = s.escape._replace(
        direction=ops.scale(p.escape.start / ops.norm(w), w),
        steps=0,
        scale=1.0,
        bend=0.0,
        probes=s.escape.probes + 1,
        curvature=inf,
        trial=NO_TRIAL,
    )
    return s._replace(escape=search, episode=s.episode + 1, phase=HERE)


def here(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep (1/m) sum_j g(x~; theta_j), of m new samples."""
    return s._replace(escape=s.escape._replace(here=ops.keep(gradient)), phase=SEARCH)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """y' = y - (1/l) (g(y) + xi/L), xi ~ N(0, (r_s^2/n) I); L' = L |y'|/r_s, y' <- y' r_s/|y'|."""
    e, t, gamma = s.escape, s.escape.steps + 1, s.escape.sight.curvature_tol
    step, spread = p.escape.search_step / e.sight.radius, p.escape.noise / ops.size(s.x) ** 0.5
    xi = ops.noise(s.x, s.seed, s.episode * (p.escape.window + 1) + t)
    g = ops.axpy(-1.0, e.here, gradient)
    quotient = ops.dot(g, e.direction) / e.sight.radius
    bend = e.bend + gamma * p.escape.search_step * (quotient - e.bend)
    y = ops.axpy(-step * spread / e.scale, xi, ops.axpy(-step, g, e.direction))
    length = ops.maximum(ops.norm(y), ops.tiny(y))
    scale = ops.maximum(e.scale * length, ops.tiny(y))
    over = (bend <= -p.escape.soon * gamma) | (t >= p.escape.window)
    after = e._replace(direction=ops.scale(1 / length, y), steps=t, scale=scale, bend=bend)
    return s._replace(escape=after, phase=ops.where(over, CENTRE, HERE))


def batch(p: Parameters) -> int:
    """Samples of a step of the search, m."""
    return p.escape.search_batch


snc = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        AGAIN: Phase(iterate, NOTHING, again),
        HERE: Phase(iterate, GRADIENT, here, NEW, batch),
        SEARCH: Phase(beside, GRADIENT, search, SAME, batch),
        **PHASES,
    },
    Settings,
    lambda ops, x: Memory(
        here=ops.times(0.0, x),
        direction=ops.times(0.0, x),
        steps=0,
        scale=1.0,
        bend=0.0,
        probes=0,
        curvature=inf,
        sight=NO_SIGHT,
        trial=NO_TRIAL,
    ),
)
