"""Perturbed stochastic gradient descent: noise at every step, no trigger and no end.

Source: Jin, Netrapalli, Ge, Kakade & Jordan (2021), the baseline of Zhang & Li (2021).

Differences from the paper:

1. The noise is given as it moves x: ``radius`` is the root mean square length eta r of eta xi,
   where xi ~ N(0, (r^2/n) I). (Per coordinate it is r/sqrt(n), not r as in several programs.)
2. The paper takes one sample a step; ``batch`` of them divide the variance.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GO, GRADIENT, NEW, START
from unsaddle.descents.gd import no_momentum, not_measured
from unsaddle.descents.sgd import batch


class Memory(NamedTuple):
    """How far it is."""

    steps: Scalar  # t
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    step: float  # eta
    radius: float  # eta r
    batch: int  # samples in each gradient


def step(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_{t+1} = x_t - eta (g(x_t; theta_t) + xi_t), xi_t ~ N(0, (r^2/n) I)."""
    t = s.descent.steps + 1
    spread = p.descent.radius / ops.size(s.x) ** 0.5
    x = ops.axpy(-p.descent.step, gradient, s.x)
    x = ops.axpy(-spread, ops.normal(s.x, s.seed, t), x)
    return s._replace(x=x, descent=Memory(t), phase=GO)


STEP = Phase(iterate, GRADIENT, step, NEW, batch)

psgd = Part({START: STEP, GO: STEP}, Settings, lambda ops, x, settings: Memory(0))
