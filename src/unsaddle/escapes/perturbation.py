"""Uniform perturbation: the escape of PGD (Jin et al. 2017) and PAGD (Jin et al. 2018).

The baselines of Zhang & Li (2021). Their own termination test asks whether the (Hamiltonian) energy
fell by a threshold within T steps of the perturbation. It proves nothing: where it passes, the
escape goes on to ``PROVE``.

Differences from the papers:

1. T is a whole number of steps, rounded up: an equality test on a fraction would never fire.
2. PAGD tests for NCE before it asks whether the gradient is small, as ANCGD does; in Jin et al.
   (2018) the order is the other way round. The two differ only where both are true.
"""

from typing import NamedTuple

from unsaddle.core.evidence import no_evidence
from unsaddle.core.kernel import Parameters, Part, Phase, State, ball, begin_search, iterate, watch
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GO, PROVE, VALUE, PhaseName

ENERGY_TEST = PhaseName.ENERGY_TEST


class Memory(NamedTuple):
    """The point before the perturbation."""

    anchor: Vector  # x~
    energy: Scalar  # E(x~) = f(x~) + |v|^2/(2 eta)
    evidence = no_evidence


class Settings(NamedTuple):
    """Hyperparameters."""

    radius: float  # r
    window: float  # t_thres of PGD, script T of PAGD
    decrease: float  # f_thres of PGD, script E of PAGD


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x_t <- x~ + xi, xi ~ Unif(B(r)); the momentum is kept."""
    s = begin_search(s)
    memory = Memory(ops.copy(s.x), value + s.descent.kinetic_energy(ops, p.descent))
    return s._replace(
        x=ops.axpy(p.escape.radius, ball(ops, s), s.x),
        escape=memory,
        left=p.escape.window,
        tolerance=-1.0,
        report=ENERGY_TEST,
        phase=GO,
    )


def energy_test(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Return x~ if E(x_{t+T}) - E(x~) > -F, else go on."""
    energy = value + s.descent.kinetic_energy(ops, p.descent)
    stuck = energy - s.escape.energy > -p.escape.decrease
    after = watch(ops, p, s, value, gradient)
    return after._replace(
        x=ops.switch(stuck, s.escape.anchor, s.x),
        phase=ops.where(stuck, PROVE, GO),
        stalled=s.stalled & stuck,
    )


perturbation = Part(
    {BEGIN: Phase(iterate, VALUE, begin), ENERGY_TEST: Phase(iterate, VALUE, energy_test)},
    Settings,
    lambda ops, x, settings: Memory(x, 0.0),
)
