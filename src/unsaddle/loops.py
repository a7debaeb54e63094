"""The loop on JAX: one ``while_loop`` per phase inside an outer one; and what comes of it."""

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unsaddle.certify import SPREAD
from unsaddle.descents.gd import gd
from unsaddle.escapes.nc import SEARCH
from unsaddle.escapes.steady import clear
from unsaddle.kernel import (
    BEGIN,
    BLIND,
    CERTIFIED,
    ENDS,
    GRADIENT,
    SAME,
    TESTED,
    TRIAL,
    VALUE,
    Outcome,
    Parameters,
    Phase,
    Solver,
    State,
    compose,
)
from unsaddle.methods import FINEST
from unsaddle.ops import jax as ops
from unsaddle.result import STATUS
from unsaddle.search import PROBES, SEARCHES, power, settings
from unsaddle.trees import Tree, whole
from unsaddle.verdict import Verdict, largest, read

_OUTCOMES = {code: outcome for outcome, code in STATUS.items()}


class Solution(NamedTuple):
    """Where a run ended, and what it has shown there; a pytree."""

    x: Tree
    fun: Any
    status: Any  # 0 is success; the others as in ``unsaddle.minimize``
    verdict: Verdict
    values: Any  # how many of each were computed
    gradients: Any

    @property
    def success(self) -> Any:
        """Whether a certificate holds at x."""
        return self.status == STATUS[Outcome.CERTIFIED]

    @property
    def outcome(self) -> Outcome:
        """How the run ended, once it has been computed; of one run, not of a batch."""
        return _OUTCOMES[int(self.status)]


class Request(NamedTuple):
    """What is fixed when a run is compiled."""

    method: str
    parameters: Parameters
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    curvature_tol: float  # gamma
    failure_probability: float  # delta


class Carry(NamedTuple):
    """What a loop carries."""

    state: State
    value: Any
    gradient: Tree
    values: Any
    gradients: Any
    finite: Any


def drive(
    phases: Mapping[int, Phase],
    parameters: Any,
    fun: Callable[..., Any] | None,
    grad: Callable[..., Tree],
    carry: Carry,
    limit: Any,
    draw: Callable[[Any, Any, int], Tree] | None = None,
) -> Carry:
    """Run phases until one that is not among them is due, or something is wrong.

    Args:
        phases: Which to run; each gets a loop of its own.
        parameters: Of the method.
        fun: The value; None if no phase needs one.
        grad: The gradient; where samples are drawn, its second argument is one.
        carry: Where to begin.
        limit: How many gradients there may be in all.
        draw: Gives the sample of a seed from a number on, of a size; None if there are none.

    Returns:
        Where it ended.
    """

    def cost(phase: Phase) -> int:
        return 1 if draw is None else phase.size(parameters)

    def drawn(phase: Phase, state: State) -> tuple[State, tuple[Tree, ...]]:
        if draw is None:
            return state, ()
        many = cost(phase)
        after = state.drawn + (0 if phase.sample == SAME else many)
        return state._replace(drawn=after), (draw(state.seed, after - many, many),)

    def look(phase: Phase, carry: Carry) -> Carry:
        # The barrier: a phase of one trip is invariant in its loop, and XLA would hoist its look
        # out, to be taken whether it is due or not.
        state, value, gradient, values, gradients, finite = jax.lax.optimization_barrier(carry)
        if phase.needs:
            state, sample = drawn(phase, state)
            point = phase.at(ops, parameters, state)
            if phase.needs & VALUE and phase.needs & GRADIENT:
                value, gradient = jax.value_and_grad(fun)(point)  # type: ignore[arg-type]
            elif phase.needs & VALUE:
                value = fun(point)  # type: ignore[misc]
            else:
                gradient = grad(point, *sample)
            sane = True
            if phase.needs & GRADIENT:
                gradients += cost(phase)
                sane &= ops.dot(gradient, gradient) < jnp.inf
            if phase.needs & VALUE:
                values += 1
                sane &= jnp.isfinite(value)
            if phase.needs & TRIAL:
                value = jnp.where(sane, value, jnp.inf)
                gradient = ops.switch(sane, gradient, ops.times(0.0, state.x))
            else:
                finite &= sane
        after = phase.update(ops, parameters, state, value, gradient)
        new = Carry(after, value, gradient, values, gradients, finite)
        return jax.tree.map(lambda u, old: jnp.asarray(u, old.dtype), new, carry)

    def due(code: int, carry: Carry) -> Any:
        phase = phases[code]
        affordable = carry.gradients <= limit - cost(phase) if phase.needs & GRADIENT else True
        return carry.finite & (carry.state.phase == code) & affordable

    def running(carry: Carry) -> Any:
        return reduce(or_, (due(code, carry) for code in phases))

    def sweep(carry: Carry) -> Carry:
        for code, phase in sorted(phases.items()):
            carry = jax.lax.while_loop(partial(due, code), partial(look, phase), carry)
        return carry

    return jax.lax.while_loop(running, sweep, carry)


def first_state(solver: Solver, parameters: Any, x: Tree, seed: Any, **given: Any) -> State:
    """Give the first state as arrays, whose types the loops then keep.

    Args:
        solver: The method.
        parameters: Of the method.
        x: The start.
        seed: Of its noise.
        **given: Fields of the state to replace.

    Returns:
        The state; scalars are of the finest precision in x, and of single precision at least.
    """
    real = jnp.result_type(jnp.float32, *(leaf.dtype for leaf in jax.tree.leaves(x)))
    state = solver.start(ops, parameters, x, whole(seed))._replace(**given)
    return jax.tree.map(
        lambda u: jnp.asarray(u, real if isinstance(u, float) else jnp.result_type(u)), state
    )


def rest(state: State) -> Carry:
    """Give what a loop carries at first."""
    nan, zero = jnp.full_like(state.tolerance, jnp.nan), jnp.array(0)
    return Carry(state, nan, ops.times(0.0, state.x), zero, zero, jnp.array(True))


def confirm(
    request: Request,
    grad: Callable[..., Tree],
    ran: Carry,
    limit: Any,
    frozen: tuple[int, Tree] | None = None,
) -> tuple[Carry, Verdict]:
    """Put the growth certificate behind a method's own termination test, if that passed.

    Args:
        request: What the run was for.
        grad: The gradient.
        ran: Where it ended.
        limit: How many gradients there may be in all.
        frozen: The sample to look at, and its size, if the gradient is of samples.

    Returns:
        Where that ended, and the verdict.
    """
    smoothness, hessian_lipschitz, gamma = constants(request, ran.state)
    delta = request.failure_probability
    wanted = settings(ops, "anc", ran.state.x, smoothness, hessian_lipschitz, gamma, delta)
    parameters, solver = Parameters(0.0, None, wanted), compose(gd, SEARCHES["anc"])
    state = first_state(
        solver, parameters, ran.state.x, ran.state.seed,
        phase=jnp.where(unconfirmed(ran.state), BEGIN, TESTED), episode=ran.state.episode,
    )  # fmt: skip
    phases = {
        BEGIN: solver.phases[BEGIN]._replace(needs=GRADIENT),
        SEARCH: solver.phases[SEARCH],
    }
    draw = None
    if frozen is not None:
        many, sample = frozen
        phases = {code: each._replace(size=lambda p: many) for code, each in phases.items()}
        draw = lambda seed, first, size: sample  # noqa: E731
    checked = drive(phases, parameters, None, grad, ran._replace(state=state), limit, draw)
    return checked, read(checked.state, gamma, delta, checked.gradients - ran.gradients)


def constants(request: Request, state: State) -> tuple[Any, Any, Any]:
    """Give l, rho and gamma of a search: what was given, or what the search has met.

    Args:
        request: What was given.
        state: In which the run ended.

    Returns:
        The three.
    """
    e, tiny = state.escape, ops.tiny(state.x)
    if not hasattr(e, "basis"):
        return request.smoothness, request.hessian_lipschitz, request.curvature_tol
    seen = e.sight
    smoothness = jnp.maximum(SPREAD * largest(e), 4 * seen.error)
    smoothness = jnp.maximum(smoothness, math.sqrt(tiny))
    rho = (2 * seen.error + e.strange) / jnp.maximum(seen.radius, tiny) + tiny
    return smoothness, rho, jnp.clip(seen.curvature_tol, tiny, smoothness)


def unconfirmed(state: State) -> Any:
    """Say whether a method's own test has passed, or Lanczos is full; a window has had its say."""
    return False if hasattr(state.escape, "window") else state.phase == TESTED


def follow(
    ran: Carry, look: Callable[[Tree], Tree], centre: Tree, constants: Any, seed: Any, limit: Any
) -> Carry:
    """Search by ``nc`` as far as was sounded, with l by power steps if it is not given.

    Args:
        ran: In which the sounding ended.
        look: The gradient at a point.
        centre: That at x.
        constants: l, rho, gamma and delta, the first three None if they are not given.
        seed: Of the noise.
        limit: How many gradients there may be in all.

    Returns:
        In which the search ended.
    """
    smoothness, _, curvature_tol, failure_probability = constants
    x, seen, spent = ran.state.x, ran.state.escape.sight, ran.gradients
    if smoothness is None:
        enough = spent + PROBES <= limit
        measure = lambda: jnp.maximum(  # noqa: E731
            power(ops, jax.jit(look), x, centre, seed, seen.radius), seen.smoothness
        )
        smoothness = jax.lax.cond(enough, measure, lambda: seen.smoothness)
        spent, limit = spent + jnp.where(enough, PROBES, 0), jnp.where(enough, limit, 0)
    gamma = curvature_tol or FINEST * smoothness
    rho = 2 * seen.error / seen.radius + ops.tiny(x)
    sought = settings(ops, "nc", x, smoothness, rho, gamma, failure_probability)
    parameters = Parameters(0.0, None, sought._replace(radius=seen.radius))
    solver, blind = compose(gd, SEARCHES["nc"]), ran.state.phase == BLIND
    state = first_state(solver, parameters, x, seed, phase=jnp.where(blind, BLIND, BEGIN))
    state = state._replace(escape=state.escape._replace(sight=seen))
    carry = rest(state)._replace(gradient=centre, gradients=spent, finite=ran.finite)
    phases = {code: solver.phases[code] for code in (BEGIN, SEARCH)}
    ran = drive(phases, parameters, None, look, carry, limit)
    claims, affords = ran.state.phase == CERTIFIED, ran.gradients + 2 <= limit
    last = jax.lax.cond(claims & affords, partial(_steadied, look), lambda s: s, ran.state)
    last = last._replace(phase=jnp.where(claims & ~affords, SEARCH, last.phase))
    return ran._replace(state=last, gradients=ran.gradients + jnp.where(claims & affords, 2, 0))


def _steadied(look: Callable[[Tree], Tree], s: State) -> State:
    """Take a claim back where the gradient bends along what has decayed slowest."""
    e, radius = s.escape, s.escape.sight.radius
    u = ops.times(1 / ops.norm(e.direction), e.direction)
    near, far = (look(ops.add(s.x, share * radius, u)) for share in (0.5, 1.0))
    holds = clear(ops, e.sight, e.gradient, near, far)
    return s._replace(phase=jnp.where(holds, s.phase, TESTED))


def status(ran: Carry, checked: Carry, holds: Any) -> Any:
    """Give the number of the outcome, in the order of precedence.

    Args:
        ran: Where a run ended.
        checked: Where the search ended that was to confirm it.
        holds: What the verdict says.

    Returns:
        The number.
    """
    phase = ran.state.phase
    tested = {-1: Outcome.TESTED, 0: Outcome.REFUTED, 1: Outcome.CERTIFIED}
    number = jnp.where(phase >= 0, STATUS[Outcome.BUDGET], STATUS[Outcome.TESTED])
    for code, outcome in ENDS.items():
        number = jnp.where(phase == code, STATUS[outcome], number)
    for verdict, outcome in tested.items():
        number = jnp.where((phase == TESTED) & (holds == verdict), STATUS[outcome], number)
    short = (checked.state.phase == BEGIN) | (checked.state.phase == SEARCH)
    number = jnp.where((phase == TESTED) & short, STATUS[Outcome.BUDGET], number)
    return jnp.where(ran.finite & checked.finite, number, STATUS[Outcome.NOT_FINITE])
