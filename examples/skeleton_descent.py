"""Gradient descent with heavy-ball momentum: a skeleton, to be copied for a descent of your own.

Source: Polyak (1964), Some methods of speeding up the convergence of iteration methods. Name the
algorithm or the equation too.

Differences from the source, numbered, each a decision that a reader of it would trip over:

1. The test ``|g(x_t)| <= eps`` is made before the step, on the gradient that the step would use.
2. After a jump the momentum starts from zero.

The test is in ``tests/descents/test_skeleton.py``, and what to do next in ``docs/add-a-method.md``.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, START


class Memory(NamedTuple):
    """What the descent remembers from one query to the next. Its shape never changes."""

    velocity: Vector  # v_t = x_t - x_{t-1}

    def kinetic_energy(self, ops: Ops, p: "Settings") -> Scalar:
        """|v|^2 / (2 eta): what escapes that compare energies add to f; zero without momentum."""
        return ops.dot(self.velocity, self.velocity) / (2 * p.step)

    def constants_met(self) -> tuple[Scalar, Scalar]:
        """l and rho as met on the way, for searches that are told neither; zero: not measured."""
        return 0.0, 0.0


class Settings(NamedTuple):
    """Hyperparameters, which ``minimize`` takes by these names; a unit or symbol for each."""

    step: float  # eta, at most 1/l
    momentum: float  # beta, in [0, 1)


def start(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """v_{t+1} = -eta g(x_t). The docstring of an update is its formula."""
    return move(ops, s, gradient, ops.times(-p.descent.step, gradient))


def step(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """v_{t+1} = beta v_t - eta g(x_t)."""
    kept = ops.scale(p.descent.momentum, s.descent.velocity)  # consumes v_t: not to be read again
    return move(ops, s, gradient, ops.axpy(-p.descent.step, gradient, kept))  # consumes ``kept``


def move(ops: Ops, s: State, gradient: Vector, velocity: Vector) -> State:
    """x_{t+1} = x_t + v_{t+1}, unless |g(x_t)| <= eps: then x_t is reported."""
    small, left = ops.norm(gradient) <= s.tolerance, s.left - 1
    x = ops.axpy(ops.where(small, 0.0, 1.0), velocity, s.x)  # no Python ``if`` on data
    phase = ops.where(small | (left <= 0), s.report, GO)  # ``left``: steps that an escape asked for
    return s.descended(phase, x, left, Memory(velocity))


def memory(ops: Ops, x: Vector, settings: Settings) -> Memory:
    """At rest: what is known before the first query."""
    return Memory(ops.times(0.0, x))


heavy_ball = Part(
    phases={  # where to query, what is needed there, and what follows from the answer
        START: Phase(iterate, GRADIENT, start),  # from rest: at the beginning and after a jump
        GO: Phase(iterate, GRADIENT, step),  # with the momentum there is
    },  # a phase that asks for something new takes a number in ``PhaseName``, core/phases.py
    settings=Settings,
    memory=memory,
)
