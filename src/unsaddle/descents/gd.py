"""Gradient descent: the last line of Algorithm 5 of Zhang & Li (2021).

Differences from the paper: none. The test ``|g(x_t)| <= eps`` of line 3 is made here, on the
gradient that the step uses.
"""

from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, START


def no_momentum(memory: Any, ops: Ops, p: Any) -> Scalar:
    """Zero: the kinetic energy of a descent without momentum of its own."""
    return 0.0


def not_measured(memory: Any) -> tuple[Scalar, Scalar]:
    """Zero: the l and rho of a descent that measures neither."""
    return 0.0, 0.0


class Memory(NamedTuple):
    """Nothing but the iterate."""

    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta = 1/l


def step(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = x_t - eta g(x_t)."""
    small, left = ops.norm(gradient) <= s.tolerance, s.left - 1
    x = ops.axpy(ops.where(small, 0.0, -p.descent.step), gradient, s.x)
    return s.descended(ops.where(small | (left <= 0), s.report, GO), x, left, s.descent)


STEP = Phase(iterate, GRADIENT, step)

gd = Part({START: STEP, GO: STEP}, Settings, lambda ops, x, settings: Memory())
