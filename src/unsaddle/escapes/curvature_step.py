"""The step along a direction v of curvature q = v'Hv, as long as q says: 2 |q|/rho.

Source: Carmon, Duchi, Hinder & Sidford (2018), Negative-Curvature-Descent; Liu et al. (2018),
AdaNCD. As f(x + s v) <= f(x) + s <v, g> + q s^2/2 + rho |s|^3/6, it lowers f by (2/3) |q|^3/rho^2
at least.

Differences from the source are those of ``jump.py``, whose phases these are: both signs are tried
where the slope cannot decide, and a step that does not lower f as promised is not taken. The error
of q is taken off |q| first.
"""

from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import VALUE
from unsaddle.escapes import jump
from unsaddle.escapes.jump import JUMP, JUMP_BEGIN, landing


class Step(NamedTuple):
    """What ``jump.py`` asks for."""

    length: Scalar  # 2 |q|/rho
    decrease: Scalar  # (2/3) |q|^3/rho^2


def step_of(ops: Ops, p: Parameters, e: Any) -> Step:
    """Give the step along what a search has found; of length zero if that is nothing."""
    rho = p.escape.hessian_lipschitz
    size = ops.maximum(-e.curvature - e.largest_error(ops), 0.0)
    return Step(2 * size / rho, 2 / 3 * size * size * size / (rho * rho))


def aim(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Point v downhill."""
    p = p._replace(escape=step_of(ops, p, s.escape))
    return jump.aim(ops, p, s, value, gradient)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x <- x - (2 |q|/rho) sign(<v, g>) v if that lowers f as promised."""
    p = p._replace(escape=step_of(ops, p, s.escape))
    return jump.attempt(ops, p, s, value, gradient)


STEP_PHASES = {
    JUMP_BEGIN: Phase(iterate, VALUE, aim),
    JUMP: Phase(landing, VALUE, attempt),
}
