"""Parameter-free accelerated gradient descent: neither l nor rho is known.

Source: Marumo & Takeda (2024), "Parameter-free accelerated gradient descent for nonconvex
minimization": Nesterov's momentum k/(k+1), in epochs that end by what they learn of l and rho.

Differences from the source:

1. The first L is a difference of gradients over a short step downhill, not a constant.
2. Nothing is learnt from differences that rounding could have made: where f and g have converged,
   both bounds of rho read 0/0. The test of sufficient decrease grants f its rounding too.
3. x_k and y_k are both asked whether their gradient is small, and so is the mean of the y_k at the
   end of an epoch. The last two are taken only where f is not above its value at the beginning of
   the epoch: f falls from epoch to epoch, and a saddle that was left is not met again.
4. A step out of the domain did not decrease f. One too short for floating point, or a thousand that
   lower neither f nor |g|, is a stall; one of length |x|/roundoff an endless fall.
5. An epoch also ends where f rises: on a quadratic, where M is zero, there would be one epoch only.
   At most as many end so as end by M, and ``RISES`` more, so the order of the bound is as printed.
"""

from math import inf
from typing import NamedTuple

from unsaddle.descents.epoch import LESS, bound, error, forward, mean, memory, renew, size, trial
from unsaddle.kernel import (
    BOTH,
    GO,
    GRADIENT,
    NOTHING,
    STALLED,
    START,
    TRIAL,
    UNBOUNDED,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

PROBE, RENEW, AHEAD, MEAN = 2, 3, 4, 5
MORE = 2.0  # what L is multiplied by after a failure
SHORT, IDLE = 1e-4, 1000


class Settings(NamedTuple):
    """None."""


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin with the L there is; find one if there is none."""
    norm, far = ops.norm(gradient), size(ops, s) / ops.roundoff(s.x)
    fresh = s.descent._replace(value=value, least=norm, idle=0, far=far)
    fresh = fresh._replace(gradient=ops.keep(gradient))
    onward = ops.where(norm < inf, ops.where(fresh.smoothness > 0, RENEW, PROBE), UNBOUNDED)
    return s._replace(descent=fresh, phase=ops.where(norm <= s.tolerance, s.report, onward))


def downhill(ops: Ops, p: Parameters, s: State) -> Vector:
    """x - h g/|g|."""
    return ops.add(s.x, -SHORT * size(ops, s) / s.descent.least, s.descent.gradient)


def probe(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """L = |g(x - h g/|g|) - g(x)|/h; where that is nothing, such that the step is endless."""
    d, bend = s.descent, ops.norm(ops.axpy(-1.0, s.descent.gradient, gradient))
    found = ops.maximum(bend / (SHORT * size(ops, s)), d.least / (2 * d.far))
    return s._replace(descent=d._replace(smoothness=found), phase=RENEW)


def advance(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take x_{k+1} if f(x_{k+1}) <= f(x_0) - L S/(2(k + 1)), else begin at x_k with 2 L."""
    d, length, norm = s.descent, ops.norm(s.descent.ahead), ops.norm(gradient)
    k, path, noise = d.k + 1, d.path + length * length, error(ops, s)
    taken = value <= d.top - d.smoothness * path / (2 * (k + 1)) + noise
    better = (value < d.value - noise) | (norm < d.least)
    rises = taken & (value > d.value + noise) & (d.rises > 0)
    after = d._replace(
        gradient=ops.switch(taken, ops.hold(gradient), d.gradient),
        before=ops.switch(taken, d.gradient, d.before),
        step=ops.switch(taken, d.ahead, d.step),
        k=ops.where(taken, k, d.k),
        path=ops.where(taken, path, d.path),
        value=ops.where(taken, value, d.value),
        smoothness=ops.where(taken, d.smoothness, MORE * d.smoothness),
        least=ops.where(taken & (norm < d.least), norm, d.least),
        idle=ops.where(taken & better, 0, d.idle + 1),
        rises=ops.where(rises, d.rises - 1, d.rises),
    )
    arrived = taken & ((norm <= s.tolerance) | (s.left <= 1))
    stuck = (length <= 4 * ops.roundoff(s.x) * ops.norm(s.x)) | (d.idle >= IDLE)
    ahead = ops.where(length < d.far, ops.where(rises, RENEW, AHEAD), UNBOUNDED)
    onward = ops.where(taken, ahead, RENEW)
    return s._replace(
        x=ops.axpy(ops.where(taken, 1.0, 0.0), d.ahead, s.x),
        descent=after,
        left=ops.where(taken, s.left - 1, s.left),
        phase=ops.where(arrived, s.report, ops.where(stuck, STALLED, onward)),
    )


def learn(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """M bounds rho from below; the epoch ends when (k + 1)^5 M^2 S > L^2."""
    d, inside = s.descent, value < inf
    th = d.k / (d.k + 1)
    change = ops.maximum(d.change, bound(ops, s, th, value, gradient))
    most = d.smoothness * d.smoothness  # a square written out overflows to inf, not to an error
    over = ((d.k + 1.0) ** 5 * change * change * d.path > most) | (value == inf)
    arrived = (ops.norm(gradient) <= s.tolerance) & (value <= d.top + error(ops, s))
    less = ops.where(inside, LESS, MORE) * d.smoothness
    weight = 1 + th * d.weight
    share = ops.where(over, 0.0, 1 / weight)  # of y_k in the mean
    after = d._replace(
        ahead=ops.axpy(-1 / d.smoothness, gradient, ops.times(th, d.step)),
        mean=ops.axpy(share, forward(ops, p, s), ops.scale(1 - share, d.mean)),
        weight=weight,
        smoothness=ops.where(over, less, d.smoothness),
        change=change,
        known=ops.maximum(change, d.known),
        rises=ops.where(over, d.rises + 1, d.rises),
    )
    onward = ops.where(over, ops.where(d.k > 1, MEAN, RENEW), GO)
    return s._replace(
        x=ops.axpy(ops.where(arrived, th, 0.0), d.step, s.x),
        descent=after,
        phase=ops.where(arrived, s.report, onward),
    )


def judge(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Stay there if its gradient is small, else begin at x_k."""
    good = (ops.norm(gradient) <= s.tolerance) & (value <= s.descent.top + error(ops, s))
    phase = ops.where(good, s.report, RENEW)
    return s._replace(x=ops.switch(good, s.descent.mean, s.x), phase=phase)


mtagd = Part(
    {
        START: Phase(iterate, BOTH, start),
        PROBE: Phase(downhill, GRADIENT, probe),
        RENEW: Phase(iterate, NOTHING, renew),
        GO: Phase(trial, BOTH | TRIAL, advance),
        AHEAD: Phase(forward, BOTH | TRIAL, learn),
        MEAN: Phase(mean, BOTH | TRIAL, judge),
    },
    Settings,
    memory,
)
