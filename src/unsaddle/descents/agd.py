"""Accelerated gradient descent with negative curvature exploitation (NCE).

Source: Algorithm 2, lines 9 to 11 and 14 to 17, and Algorithm 6 of Zhang & Li (2021), which take
both from Jin, Netrapalli & Jordan (2018).

Differences from the paper:

1. The state keeps x_t and the velocity v_t; z_t = x_t + (1 - theta) v_t is formed to query there.
2. The inequality that calls for NCE is tested only where floating point can show it: where
   gamma |z - x|^2 is a visible change of f. This also covers v = 0, where print reads f <= f.
3. Algorithm 6 prints (z_{t+1}, 0) as its output; x_{t+1} is meant.
4. A start from rest (z = x) queries one point instead of twice the same one.
5. While the method waits for an earlier perturbation (PAGD) the gradient at x is not asked for.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, GO, GRADIENT, NOTHING, START, VALUE, PhaseName
from unsaddle.core.resolution import visible_change
from unsaddle.descents.gd import not_measured

NCE_TEST, NCE_TEST_VALUE, NCE = PhaseName.NCE_TEST, PhaseName.NCE_TEST_VALUE, PhaseName.NCE
NCE_REST, NCE_PLUS, NCE_MINUS = PhaseName.NCE_REST, PhaseName.NCE_PLUS, PhaseName.NCE_MINUS


class Memory(NamedTuple):
    """Momentum, and what the query at z_t found."""

    velocity: Vector  # v_t
    ahead: Vector  # v_{t+1}, should the step be taken
    value: Scalar  # f(z_t); f(x_t + xi) during NCE
    slope: Scalar  # <g(z_t), x_t - z_t>
    gap: Scalar  # |z_t - x_t|^2
    constants_met = not_measured

    def kinetic_energy(self, ops: Ops, p: "Settings") -> Scalar:
        """|v|^2 / (2 eta): with f(x) it makes the Hamiltonian E."""
        return ops.dot(self.velocity, self.velocity) / (2 * p.step)


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta
    friction: float  # theta
    nce_curvature: float  # gamma
    nce_length: float  # s


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_1 = x_0 - eta g(x_0), v_1 = x_1 - x_0."""
    small, left = ops.norm(gradient) <= s.tolerance, s.left - 1
    move = ops.where(small, 0.0, -p.descent.step)
    descent = s.descent._replace(velocity=ops.times(move, gradient))
    phase = ops.where(small | (left <= 0), s.report, GO)
    return s.descended(phase, ops.axpy(move, gradient, s.x), left, descent)


def ahead(ops: Ops, p: Parameters, s: State) -> Vector:
    """z_t = x_t + (1 - theta) v_t."""
    return ops.add(s.x, 1 - p.descent.friction, s.descent.velocity)


def step_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """v_{t+1} = (z_t - eta g(z_t)) - x_t, and the right-hand side of the NCE test."""
    v, momentum = s.descent.velocity, 1 - p.descent.friction
    step = ops.axpy(-p.descent.step, gradient, ops.times(momentum, v))
    slope, gap = -momentum * ops.dot(gradient, v), momentum**2 * ops.dot(v, v)
    phase = ops.where(s.tolerance < 0, NCE_TEST_VALUE, NCE_TEST)
    return s.descended(phase, s.x, s.left, Memory(v, step, value, slope, gap))


def advance(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = x_t + v_{t+1}, unless f(x) <= f(z) + <g(z), x - z> - (gamma/2) |x - z|^2."""
    velocity, step, there, slope, gap = s.descent
    curvature = p.descent.nce_curvature * gap
    visible = curvature > visible_change(ops, s.x, value, there)
    bent = visible & (value <= there + slope - curvature / 2)
    small = ops.norm(gradient) <= s.tolerance
    stay, left = bent | small, s.left - 1
    v = ops.switch(stay, velocity, step)
    x = ops.axpy(ops.where(stay, 0.0, 1.0), step, s.x)
    phase = ops.where(bent, NCE, ops.where(small | (left <= 0), PhaseName.AGD_REPORT, GO))
    return s.descended(phase, x, left, Memory(v, step, there, slope, gap))


def report(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Let go of v_{t+1}, and report."""
    return s._replace(descent=s.descent._replace(ahead=s.descent.velocity), phase=s.report)


def exploit(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Where |v_t| >= s stop, else query x_t + xi and x_t - xi."""
    fast = s.descent.gap >= ((1 - p.descent.friction) * p.descent.nce_length) ** 2
    return s._replace(phase=ops.where(fast, ops.where(s.tolerance < 0, START, NCE_REST), NCE_PLUS))


def nce_trial(ops: Ops, p: Parameters, s: State) -> Vector:
    """x_t + xi, xi = s v_t/|v_t|; with -v_t the second time."""
    return ops.add(s.x, _reach(ops, p, s), s.descent.velocity)


def try_plus(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Remember f(x_t + xi), and turn round."""
    back = ops.scale(-1.0, s.descent.velocity)
    return s._replace(descent=s.descent._replace(velocity=back, value=value), phase=NCE_MINUS)


def try_minus(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = argmin { f(x_t + xi), f(x_t - xi) }, v_{t+1} = 0."""
    reach = ops.where(s.descent.value <= value, -1.0, 1.0) * _reach(ops, p, s)
    return s._replace(x=ops.axpy(reach, s.descent.velocity, s.x), phase=START)


def _reach(ops: Ops, p: Parameters, s: State) -> Scalar:
    return p.descent.nce_length / ops.norm(s.descent.velocity)


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """At rest, and nothing compared yet."""
    return Memory(ops.times(0.0, x), x, 0.0, 0.0, 0.0)


agd = Part(
    {
        START: Phase(iterate, GRADIENT, start),
        GO: Phase(ahead, BOTH, step_ahead),
        NCE_TEST: Phase(iterate, BOTH, advance),
        NCE_TEST_VALUE: Phase(iterate, VALUE, advance),
        NCE: Phase(iterate, NOTHING, exploit),
        NCE_REST: Phase(iterate, NOTHING, start),
        NCE_PLUS: Phase(nce_trial, VALUE, try_plus),
        NCE_MINUS: Phase(nce_trial, VALUE, try_minus),
        PhaseName.AGD_REPORT: Phase(iterate, NOTHING, report),
    },
    Settings,
    memory,
)
