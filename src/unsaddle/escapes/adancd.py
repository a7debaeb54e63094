"""AdaNCD: the step along negative curvature or along the gradient, whichever promises more.

Source: Liu, Li, Wang, Yi & Yang (2018), AdaNCD and AdaNCG, by way of its descriptions elsewhere. In
every iteration a unit vector v is sought with lambda_min >= q - max(eps_2, |g|^a)/2, q = v'Hv: far
from a stationary point Lanczos has little to show, and takes few products. Then

    x <- x - (2 |q|/rho) sign(<v, g>) v    if q < 0 and (2/3) |q|^3/rho^2 > |g|^2/(2 l),
    x <- x - g/l                            otherwise,

until q > -eps_2/2 and |g| <= eps_1.

Differences from the source:

1. |g|^a is not a curvature; here it is sqrt(rho |g|), that is a = 1/2, and at most l.
2. Those of ``ncd.py``, whose search and step these are; at the end the claim is that of Lanczos.
"""

from functools import cache
from math import inf

from unsaddle.core.kernel import Parameters, Part, Phase, State, Update, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, NOTHING, PROVE, START, PhaseName
from unsaddle.escapes import curvature_step
from unsaddle.escapes.curvature_step import step_of
from unsaddle.escapes.jump import JUMP, JUMP_BEGIN
from unsaddle.escapes.lanczos import lanczos
from unsaddle.escapes.ncd import stepping
from unsaddle.escapes.unless_steep import unless_steep

CHOOSE_STEP = PhaseName.CHOOSE_STEP


def loose(ops: Ops, p: Parameters, gradient: Vector) -> Parameters:
    """Let gamma be max(gamma, sqrt(rho |g|)), at most l."""
    c = p.escape
    wide = ops.sqrt(c.hessian_lipschitz * ops.norm(gradient))
    wide = ops.where(wide < c.smoothness, wide, c.smoothness)
    return p._replace(escape=c._replace(curvature_tol=ops.maximum(c.curvature_tol, wide)))


@cache
def loosened(update: Update, begins: bool) -> Update:
    """Give an update that counts with such a gamma; before the search has begun, g is lent."""

    def call(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        own = loose(ops, p, gradient if begins else s.escape.gradient)
        return update(ops, own, s, value, gradient)

    return call


def choose(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Step along g, or along v if that promises more."""
    e, l = s.escape, p.escape.smoothness  # noqa: E741
    promised = ops.dot(e.gradient, e.gradient) / (2 * l)
    curved = step_of(ops, p, e).decrease > promised
    x = ops.axpy(ops.where(curved, 0.0, -1 / l), e.gradient, s.x)
    return s._replace(x=x, phase=ops.where(curved, JUMP_BEGIN, START))


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Step along v; where curvature that was hardly seen does not pay, it is not tried again."""
    after = curvature_step.attempt(ops, p, s, value, gradient)
    e, vain = after.escape, after.phase == PROVE
    return after._replace(escape=e._replace(curvature=ops.where(vain, inf, e.curvature)))


def _part(search: Part) -> Part:
    phases = {
        code: phase._replace(update=loosened(phase.update, code == BEGIN))
        for code, phase in stepping(search).phases.items()
    }
    phases[JUMP] = phases[JUMP]._replace(update=attempt)
    whole = unless_steep(stepping(search)._replace(phases=phases), CHOOSE_STEP, CHOOSE_STEP)
    return whole._replace(phases={**whole.phases, CHOOSE_STEP: Phase(iterate, NOTHING, choose)})


adancd = _part(lanczos)
