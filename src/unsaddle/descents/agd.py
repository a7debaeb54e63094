"""Accelerated gradient descent with negative curvature exploitation (NCE).

Source: Algorithm 2, lines 9 to 11 and 14 to 17, and Algorithm 6 of Zhang & Li (2021), which take
both from Jin, Netrapalli & Jordan (2018).

Differences from the paper:

1. The state keeps x_t and the velocity v_t; z_t = x_t + (1 - theta) v_t is formed to look there.
2. The inequality that calls for NCE is tested only where it can be seen in floating point:
   gamma |z - x|^2 > 4 ulp(f(x)) + 4 ulp(f(z)). This also covers v = 0, where print reads f <= f.
3. Algorithm 6 prints (z_{t+1}, 0) as its output; x_{t+1} is meant.
4. A start from rest (z = x) looks at one point instead of twice at the same one.
5. While the method waits for an earlier perturbation (PAGD) the gradient at x is not asked for.
"""

from typing import NamedTuple

from unsaddle.kernel import (
    BOTH,
    GO,
    GRADIENT,
    NOTHING,
    START,
    VALUE,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

LOOK, LOOK_VALUE, EXPLOIT, REST, PLUS, MINUS, ARRIVED = range(2, 9)


class Memory(NamedTuple):
    """Momentum, and what the look at z_t found."""

    velocity: Vector  # v_t
    ahead: Vector  # v_{t+1}, should the step be taken
    value: Scalar  # f(z_t); f(x_t + xi) during NCE
    slope: Scalar  # <g(z_t), x_t - z_t>
    gap: Scalar  # |z_t - x_t|^2

    def kinetic(self, ops: Ops, p: "Settings") -> Scalar:
        """|v|^2 / (2 eta): with f(x) it makes the Hamiltonian E."""
        return ops.dot(self.velocity, self.velocity) / (2 * p.step)

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho as met on the way: not measured."""
        return 0.0, 0.0


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta
    friction: float  # theta
    nce_curvature: float  # gamma
    nce_length: float  # s


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_1 = x_0 - eta g(x_0), v_1 = x_1 - x_0."""
    small = ops.norm(gradient) <= s.tolerance
    move, left = ops.where(small, 0.0, -p.descent.step), s.left - 1
    descent = s.descent._replace(velocity=ops.times(move, gradient))
    phase = ops.where(small | (left <= 0), s.report, GO)
    return s._replace(phase=phase, x=ops.axpy(move, gradient, s.x), left=left, descent=descent)


def ahead(ops: Ops, p: Parameters, s: State) -> Vector:
    """z_t = x_t + (1 - theta) v_t."""
    return ops.add(s.x, 1 - p.descent.friction, s.descent.velocity)


def look_ahead(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """v_{t+1} = (z_t - eta g(z_t)) - x_t, and the right-hand side of the NCE test."""
    v, keep = s.descent.velocity, 1 - p.descent.friction
    step = ops.axpy(-p.descent.step, gradient, ops.times(keep, v))
    slope, gap = -keep * ops.dot(gradient, v), keep**2 * ops.dot(v, v)
    phase = ops.where(s.tolerance < 0, LOOK_VALUE, LOOK)
    return State(phase, s.x, s.left, Memory(v, step, value, slope, gap), *s[4:])


def advance(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = x_t + v_{t+1}, unless f(x) <= f(z) + <g(z), x - z> - (gamma/2) |x - z|^2."""
    velocity, step, there, slope, gap = s.descent
    curvature = p.descent.nce_curvature * gap
    seen = curvature > 8 * ops.roundoff(s.x) * (abs(value) + abs(there))
    bent = seen & (value <= there + slope - curvature / 2)
    small = ops.norm(gradient) <= s.tolerance
    stay, left = bent | small, s.left - 1
    v = ops.switch(stay, velocity, step)
    x = ops.axpy(ops.where(stay, 0.0, 1.0), step, s.x)
    phase = ops.where(bent, EXPLOIT, ops.where(small | (left <= 0), ARRIVED, GO))
    return State(phase, x, left, Memory(v, step, there, slope, gap), *s[4:])


def arrive(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Let go of v_{t+1}, and report."""
    return s._replace(descent=s.descent._replace(ahead=s.descent.velocity), phase=s.report)


def exploit(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Where |v_t| >= s stop, else look at x_t + xi and x_t - xi."""
    fast = s.descent.gap >= ((1 - p.descent.friction) * p.descent.nce_length) ** 2
    rest = ops.where(s.tolerance < 0, START, REST)
    return s._replace(phase=ops.where(fast, rest, PLUS))


def aside(ops: Ops, p: Parameters, s: State) -> Vector:
    """x_t + xi, xi = s v_t/|v_t|; with -v_t the second time."""
    return ops.add(s.x, _reach(ops, p, s), s.descent.velocity)


def try_plus(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Remember f(x_t + xi), and turn round."""
    back = ops.scale(-1.0, s.descent.velocity)
    return s._replace(descent=s.descent._replace(velocity=back, value=value), phase=MINUS)


def try_minus(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = argmin { f(x_t + xi), f(x_t - xi) }, v_{t+1} = 0."""
    reach = ops.where(s.descent.value <= value, -1.0, 1.0) * _reach(ops, p, s)
    return s._replace(x=ops.axpy(reach, s.descent.velocity, s.x), phase=START)


def _reach(ops: Ops, p: Parameters, s: State) -> Scalar:
    return p.descent.nce_length / ops.norm(s.descent.velocity)


agd = Part(
    {
        START: Phase(iterate, GRADIENT, start),
        GO: Phase(ahead, BOTH, look_ahead),
        LOOK: Phase(iterate, BOTH, advance),
        LOOK_VALUE: Phase(iterate, VALUE, advance),
        EXPLOIT: Phase(iterate, NOTHING, exploit),
        REST: Phase(iterate, NOTHING, start),
        PLUS: Phase(aside, VALUE, try_plus),
        MINUS: Phase(aside, VALUE, try_minus),
        ARRIVED: Phase(iterate, NOTHING, arrive),
    },
    Settings,
    lambda ops, x: Memory(ops.times(0.0, x), x, 0.0, 0.0, 0.0),
)
