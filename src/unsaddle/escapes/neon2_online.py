"""Neon2 from samples: a difference of gradients of the same samples, step by step, until it is far.

Source: Allen-Zhu & Li (2018), Neon2-online and its weak search, by way of its descriptions
elsewhere. From a random xi, x_{t+1} = x_t - eta (g_i(x_t) - g_i(x~)), with the same sample i at
both points; where |x_{t+1} - x~| has grown enough it is a direction, and after T steps there is
none. What follows, the test of the direction on fresh samples, is in ``sample_test.py``.

Differences from the source:

1. x_t - x~ is kept at one length r, over which gradients are differenced, and how long it would be
   at ``scale``: the length of xi does not matter where products are linear, and theirs underflows.
2. The direction is that of the last iterate. Theirs is of a random one before it, whose curvature
   is no lower than the last one's but for noise.
3. A step takes the mean over ``search_batch`` samples, one in print.
4. Their test z <= -3 d/4 is on all m fresh samples at once, and is off by d/4 with probability p.
   Here the K minibatches of ``sample_test.py`` say how far the mean is off.
5. They move by d/rho to a random side. Here the jump is tested too, both ways if need be.
"""

from typing import NamedTuple

from unsaddle.core.kernel import (
    Parameters,
    Part,
    Phase,
    State,
    begin_search,
    iterate,
    on_sphere,
    probing,
)
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GRADIENT, NEW, NOTHING, SAME, PhaseName
from unsaddle.escapes.sample_test import PHASES, unbent
from unsaddle.escapes.snc import Memory, batch, centre, first_search

SEARCH, SEARCH_ANEW = PhaseName.SEARCH, PhaseName.SEARCH_ANEW
SAMPLE_CENTRE, TEST_CENTRE = PhaseName.SAMPLE_CENTRE, PhaseName.TEST_CENTRE


class Settings(NamedTuple):
    """Hyperparameters."""

    search_step: float  # eta
    radius: float  # r, over which gradients are differenced
    window: int  # T
    reach: float  # |x_t - x~|/|xi| that takes negative curvature
    search_batch: int  # samples in each difference
    probes: int  # searches before x~ is given up
    checks: int  # K, fresh minibatches of a test
    check_batch: int  # samples in each
    quantile: float  # of Student's t distribution with K - 1 degrees of freedom
    enough: float  # share of d that the curvature must reach with confidence
    length: float  # of the jump
    stretch: float  # the jump is as long as this many |curvature|/rho, if that is longer
    decrease: float  # promised by the jump
    curvature_tol: float  # d = gamma
    failure_probability: float  # p = delta
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding


def begin_anew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_1 = x~ + xi, uniform on the sphere."""
    s = begin_search(s)
    search = Memory(
        gradient=s.escape.gradient,
        direction=on_sphere(ops, s),
        probes=s.escape.probes + 1,
        resolution=s.escape.resolution,
    )
    return s.searched(SAMPLE_CENTRE, search)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = x_t - eta (g_i(x_t) - g_i(x~)): a direction if that is far, none after T steps."""
    e, t, tiny = s.escape, s.escape.steps + 1, ops.tiny(s.x)
    g = ops.axpy(-1.0, e.gradient, gradient)
    y = ops.axpy(-p.escape.search_step / e.resolution.radius, g, e.direction)
    length = ops.maximum(ops.norm(y), tiny)
    scale = ops.maximum(e.scale * length, tiny)
    far = scale >= p.escape.reach
    after = e._replace(
        direction=ops.scale(1 / length, y),
        steps=ops.where(far, p.escape.window, t),  # where its test says no, it does not go on
        scale=scale,
    )
    onto = unbent(ops, p, s.searched(SEARCH, after))
    return s.searched(ops.where(far, TEST_CENTRE, onto), after)


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """Nothing searched yet."""
    return Memory(ops.times(0.0, x), ops.times(0.0, x))


neon2_online = Part(
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
