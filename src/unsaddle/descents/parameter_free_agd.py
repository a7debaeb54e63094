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
4. A step out of the domain did not decrease f. One too short for floating point is a stall, and so
   are a thousand of which neither f nor |g| has become lower, and 100,000 at all: where f has a
   kink, L doubles for ever. One of length |x|/roundoff is an endless fall.
5. An epoch also ends where f rises: on a quadratic, where M is zero, there would be one epoch only.
   At most as many end so as end by M, and 64 more, so the order of the bound is as printed.
6. Where |g| has not been halved for eight steps, those counted that were not taken, it is compared
   with its noise (``noise_floor.py``): noise that hides the way down doubles L for ever. Where the
   descent gives up, L is forgotten: a jump from there would land where no step moves x. If three in
   a row give up without a fall, and not for noise, the run ends: g is not the gradient of f.
"""

from math import inf

from unsaddle.core.kernel import NoSettings, Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, GO, GRADIENT, NOTHING, START, TRIAL, PhaseName
from unsaddle.descents import epoch
from unsaddle.descents.epoch import TUNING, momentum, rounding, size
from unsaddle.descents.noise_floor import NOISE_FLOOR, close_by, may_be_noise, stepped
from unsaddle.descents.noise_floor import measure as measure_noise
from unsaddle.descents.progress import begun, forget, progressed
from unsaddle.descents.rho_bound import bound

FIRST_SMOOTHNESS, NEW_EPOCH = PhaseName.FIRST_SMOOTHNESS, PhaseName.NEW_EPOCH
EXTRAPOLATED, EPOCH_MEAN = PhaseName.EXTRAPOLATED, PhaseName.EPOCH_MEAN
GIVE_UP, UNBOUNDED = PhaseName.GIVE_UP, PhaseName.UNBOUNDED


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin with the L there is; find one if there is none."""
    norm, far = ops.norm(gradient), size(ops, s) / ops.roundoff(s.x)
    so_far, arrived = s.descent.progress, s.descent.smoothness > 0  # who gave up has forgotten L
    progress = begun(so_far, value, norm, far, ops.where(arrived, 0, so_far.futile))
    fresh = s.descent._replace(value=value, gradient=ops.copy(gradient), progress=progress)
    fresh = fresh._replace(floor=fresh.floor._replace(lowest=norm, since=0))
    known = ops.where(fresh.smoothness > 0, NEW_EPOCH, FIRST_SMOOTHNESS)
    onto = ops.where(norm < inf, known, UNBOUNDED)
    return s._replace(descent=fresh, phase=ops.where(norm <= s.tolerance, s.report, onto))


def downhill(ops: Ops, p: Parameters, s: State) -> Vector:
    """x - h g/|g|."""
    length = TUNING.first_probe * size(ops, s)
    return ops.add(s.x, -length / s.descent.progress.least, s.descent.gradient)


def measure(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """L = |g(x - h g/|g|) - g(x)|/h; where that is nothing, such that the step is endless."""
    d, bend = s.descent, ops.norm(ops.axpy(-1.0, s.descent.gradient, gradient))
    endless = d.progress.least / (2 * d.progress.far)
    found = ops.maximum(bend / (TUNING.first_probe * size(ops, s)), endless)
    return s._replace(descent=d._replace(smoothness=found), phase=NEW_EPOCH)


def advance(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Take x_{k+1} if f(x_{k+1}) <= f(x_0) - L S/(2(k + 1)), else begin at x_k with 2 L."""
    d, noise, norm = s.descent, rounding(ops, s), ops.norm(gradient)
    length = ops.norm(d.ahead)
    path = d.epoch.path + length * length
    taken = value <= d.epoch.top - d.smoothness * path / (2 * (d.epoch.k + 2)) + noise
    rises = taken & (value > d.value + noise) & (d.progress.rises > 0)
    after = epoch.moved(ops, d, value, gradient, path, taken)
    progress = progressed(ops, d.progress, after.value, ops.where(taken, norm, inf), noise)
    progress = progress._replace(rises=progress.rises - ops.where(rises, 1, 0))
    steps = stepped(ops, d.floor, ops.where(taken, norm, inf), ops.where(taken, d.smoothness, 0.0))
    back = ops.where(taken & ops.where(rises, False, True), EXTRAPOLATED, NEW_EPOCH)
    after = after._replace(progress=progress, floor=steps._replace(back=back))
    x = ops.axpy(ops.where(taken, 1.0, 0.0), d.ahead, s.x)
    phase = next_phase(ops, p, s, after, length, ops.where(taken, norm, inf))
    return s.descended(phase, x, ops.where(taken, s.left - 1, s.left), after)


def next_phase(
    ops: Ops, p: Parameters, s: State, after: epoch.Memory, length: Scalar, norm: Scalar
) -> Scalar:
    """Report, give up, end, see if it is noise, or go on; the norm of no step is infinite."""
    taken, progress = norm < inf, after.progress
    arrived = taken & ((norm <= s.tolerance) | (s.left <= 1))
    short = length <= TUNING.shortest * ops.roundoff(s.x) * ops.norm(s.x)
    noisy = may_be_noise(ops, p, s, after.floor, norm)
    ahead = ops.where(noisy, NOISE_FLOOR, after.floor.back)
    ahead = ops.where(taken & (length >= progress.far), UNBOUNDED, ahead)
    return ops.where(arrived, s.report, ops.where(short | progress.stuck, GIVE_UP, ahead))


def ends(d: epoch.Memory, change: Scalar) -> Scalar:
    """(k + 1)^5 M^2 S > L^2; a square written out overflows to inf, not to an error."""
    most = d.smoothness * d.smoothness
    return (d.epoch.k + 1.0) ** 5 * change * change * d.epoch.path > most


def learn(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """M bounds rho from below; the epoch ends when (k + 1)^5 M^2 S > L^2."""
    d, th = s.descent, momentum(s.descent)
    change = ops.maximum(d.epoch.change, bound(ops, s, value, gradient))
    over = ends(d, change) | (value == inf)
    arrived = (ops.norm(gradient) <= s.tolerance) & (value <= d.epoch.top + rounding(ops, s))
    after = epoch.averaged(ops, p, s, gradient, over)
    after = after._replace(
        smoothness=ops.where(over, epoch.ended(ops, d, value), d.smoothness),
        known=ops.maximum(change, d.known),
        epoch=after.epoch._replace(change=change),
        progress=d.progress._replace(rises=d.progress.rises + ops.where(over, 1, 0)),
    )
    phase = ops.where(over, ops.where(d.epoch.k > 1, EPOCH_MEAN, NEW_EPOCH), GO)
    x = ops.axpy(ops.where(arrived, th, 0.0), d.step, s.x)
    return s.descended(ops.where(arrived, s.report, phase), x, s.left, after)


def judge(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Stay there if its gradient is small, else begin at x_k."""
    low = value <= s.descent.epoch.top + rounding(ops, s)
    good = (ops.norm(gradient) <= s.tolerance) & low
    phase = ops.where(good, s.report, NEW_EPOCH)
    return s._replace(x=ops.switch(good, s.descent.mean, s.x), phase=phase)


parameter_free_agd = Part(
    {
        START: Phase(iterate, BOTH, start),
        FIRST_SMOOTHNESS: Phase(downhill, GRADIENT, measure),
        NEW_EPOCH: Phase(iterate, NOTHING, epoch.renew),
        GO: Phase(epoch.trial, BOTH | TRIAL, advance),
        EXTRAPOLATED: Phase(epoch.forward, BOTH | TRIAL, learn),
        EPOCH_MEAN: Phase(epoch.mean, BOTH | TRIAL, judge),
        NOISE_FLOOR: Phase(close_by, GRADIENT, measure_noise),
        GIVE_UP: Phase(iterate, GRADIENT, forget),
    },
    NoSettings,
    epoch.memory,
)
