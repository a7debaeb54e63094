"""Gradient descent: the last line of Algorithm 5 of Zhang & Li (2021).

Differences from the paper: none. The test ``|g(x_t)| <= eps`` of line 3 is made here, on the
gradient that the step uses.
"""

from typing import NamedTuple

from unsaddle.kernel import (
    GO,
    GRADIENT,
    START,
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
    """Nothing but the iterate."""

    def kinetic(self, ops: Ops, p: "Settings") -> Scalar:
        """Zero: there is no momentum."""
        return 0.0

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho as met on the way: not measured."""
        return 0.0, 0.0


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta = 1/l


def step(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = x_t - eta g(x_t)."""
    small = ops.norm(gradient) <= s.tolerance
    x = ops.axpy(ops.where(small, 0.0, -p.descent.step), gradient, s.x)
    left = s.left - 1
    phase = ops.where(small | (left <= 0), s.report, GO)
    return State(phase, x, left, *s[3:])


STEP = Phase(iterate, GRADIENT, step)

gd = Part({START: STEP, GO: STEP}, Settings, lambda ops, x: Memory())
