"""A direction and the jump along it, tried on fresh samples before they are believed.

Zhang & Li (2021) jump along whatever Algorithm 3 returns, by the sign of an f'_e that is not known.
Here K fresh minibatches give K numbers, their mean and its Student interval, twice:

1. *Is the curvature negative?* q_k = <e, g(x~ + r e) - g(x~)>/r, same sample at both points. The
   upper end has to be at or below -``enough`` gamma. The same looks give the slope.
2. *Does the jump go down?* d_k = (s/2) <e, g(x~ + c s e) + g(x~ + (1 - c) s e)>, same sample at
   both points, c = 1/2 - 1/(2 sqrt 3): Gauss's rule for f(x~ + s e) - f(x~), off by at most
   ``QUADRATURE`` rho s^3. The mean has to fall by the promise, and the upper end of the interval
   must not rise. If that fails the way the slope says, the other way is tried.

A direction that fails 1 is searched for longer, if the search ended early, or again, as is one that
fails 2. The last to fail ends the run: ``JUMP_FAILED`` if bent by gamma/2 or more, else ``TESTED``.
"""

from collections.abc import Callable
from typing import NamedTuple

from unsaddle.kernel import (
    BEGIN,
    GRADIENT,
    JUMP_FAILED,
    NEW,
    NOTHING,
    SAME,
    START,
    TESTED,
    Ops,
    Parameters,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
    watch,
)

HERE, SEARCH, CENTRE, CHECK, NEAR, FAR, LANDED, AGAIN = range(BEGIN + 1, BEGIN + 9)
NODE = 0.5 - 0.5 / 3**0.5  # c
QUADRATURE = 0.010142  # integral of the absolute value of Peano's kernel of order 2


class Trial(NamedTuple):
    """K numbers, one per minibatch, and what else a trial remembers."""

    count: Scalar  # k
    mean: Scalar
    spread: Scalar  # sum of squared deviations from the mean
    slope: Scalar  # sum of <e, g(x~)>
    reach: Scalar  # the signed length of the jump
    near: Scalar  # <e, g> at the first node
    turned: Scalar  # whether it is tried the other way already


NO_TRIAL = Trial(0, 0.0, 0.0, 0.0, 0.0, 0.0, False)


def tally(trial: Trial, number: Scalar) -> Trial:
    """Take one more number into the mean and the spread."""
    count, off = trial.count + 1, number - trial.mean
    mean = trial.mean + off / count
    return trial._replace(count=count, mean=mean, spread=trial.spread + off * (number - mean))


def upper(ops: Ops, p: Parameters, trial: Trial) -> Scalar:
    """Upper end of Student's interval for the mean of K numbers."""
    k = p.escape.checks
    return trial.mean + p.escape.quantile * ops.sqrt(trial.spread / (k * (k - 1)))


def centre(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~) over a fresh minibatch."""
    return s._replace(escape=s.escape._replace(here=ops.keep(gradient)), phase=CHECK)


def beside(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r e, and while searching x~ + y, which is r_s e."""
    return ops.add(s.x, s.escape.sight.radius, s.escape.direction)


def check(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """q_k = <e, g(x~ + r e) - g(x~)>/r; after K of them believe e, search again, or end."""
    e, seen = s.escape, s.escape.sight
    slope = e.trial.slope + ops.dot(e.here, e.direction)
    bend = ops.dot(ops.axpy(-1.0, e.here, gradient), e.direction)
    trial = tally(e.trial._replace(slope=slope), bend / seen.radius)
    over = trial.count >= p.escape.checks
    most = upper(ops, p, trial) + seen.error
    real = most <= -p.escape.enough * seen.asked
    far = ops.maximum(p.escape.length, -p.escape.stretch * most / p.escape.hessian_lipschitz)
    jump = NO_TRIAL._replace(reach=ops.where(slope >= 0, -far, far))
    end = ops.where(e.probes < p.escape.probes, AGAIN, TESTED)
    after = ops.where(real, NEAR, ops.where(e.steps < p.escape.window, HERE, end))
    return s._replace(
        escape=e._replace(
            trial=Trial(*(ops.where(over, a, b) for a, b in zip(jump, trial, strict=True))),
            curvature=ops.where(over, most - seen.error, e.curvature),
            bend=0.0,
        ),
        phase=ops.where(over, after, CENTRE),
    )


def node(share: float) -> Callable[[Ops, Parameters, State], Vector]:
    """x~ + c s e."""
    return lambda ops, p, s: ops.add(s.x, share * s.escape.trial.reach, s.escape.direction)


def near(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep <e, g> at the first node, over a fresh minibatch."""
    trial = s.escape.trial._replace(near=ops.dot(gradient, s.escape.direction))
    return s._replace(escape=s.escape._replace(trial=trial), phase=FAR)


def far(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """d_k = (s/2) <e, g + g>; after K of them x <- x~ + s e if f falls, else turn round or end."""
    e, reach, turned = s.escape, s.escape.trial.reach, s.escape.trial.turned
    trial = tally(e.trial, (e.trial.near + ops.dot(gradient, e.direction)) * reach / 2)
    over = trial.count >= p.escape.checks
    most = upper(ops, p, trial) + QUADRATURE * p.escape.hessian_lipschitz * abs(reach) ** 3
    pays = over & (most <= 0) & (trial.mean <= -p.escape.decrease)
    back = NO_TRIAL._replace(reach=-reach, turned=True)
    bent = e.sight.shows(e.curvature)
    end = ops.where(e.probes < p.escape.probes, AGAIN, ops.where(bent, JUMP_FAILED, TESTED))
    after = ops.where(pays, START, ops.where(turned, end, NEAR))
    return s._replace(
        x=ops.axpy(ops.where(pays, reach, 0.0), e.direction, s.x),
        escape=e._replace(
            trial=Trial(*(ops.where(over, a, b) for a, b in zip(back, trial, strict=True)))
        ),
        left=1.0,
        tolerance=-1.0,
        report=LANDED,
        phase=ops.where(over, after, NEAR),
    )


def batch(p: Parameters) -> int:
    """Samples in each of the K minibatches."""
    return p.escape.check_batch


PHASES = {
    CENTRE: Phase(iterate, GRADIENT, centre, NEW, batch),
    CHECK: Phase(beside, GRADIENT, check, SAME, batch),
    NEAR: Phase(node(NODE), GRADIENT, near, NEW, batch),
    FAR: Phase(node(1 - NODE), GRADIENT, far, SAME, batch),
    LANDED: Phase(iterate, NOTHING, watch),
}
