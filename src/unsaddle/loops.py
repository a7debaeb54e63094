"""The loop on JAX: one ``while_loop`` per phase inside an outer one."""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("unsaddle.jax needs JAX: pip install 'unsaddle[jax]'") from error

from unsaddle.certificate import Certificate
from unsaddle.escapes.jump import MEASURE
from unsaddle.kernel import CERTIFIED, GRADIENT, VALUE, Phase, Solver, State
from unsaddle.ops import jax as ops
from unsaddle.search import KINDS

Tree = Any


class Verdict(NamedTuple):
    """What a search has shown: ``unsaddle.Certificate`` in the form of arrays."""

    holds: Any  # 1 certified, 0 refuted, -1 undecided
    curvature_tol: Any
    failure_probability: Any
    curvature: Any
    direction: Tree  # zero unless refuted
    gradients: Any
    rigorous: Any  # whether the certificate holds against any gradient error up to the floor

    def certificate(self) -> Certificate:
        """Give the certificate that this is, once it has been computed."""
        holds = {1: True, 0: False, -1: None}[int(self.holds)]
        return Certificate(
            holds=holds,
            curvature_tol=float(self.curvature_tol),
            failure_probability=float(self.failure_probability),
            curvature=float(self.curvature),
            direction=self.direction if holds is False else None,
            gradients=int(self.gradients),
            note=KINDS[bool(self.rigorous)] if holds else "",
        )


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
    fun: Callable[[Tree], Any] | None,
    grad: Callable[[Tree], Tree],
    carry: Carry,
    limit: Any,
) -> Carry:
    """Run phases until one that is not among them is due, or something is wrong.

    Args:
        phases: Which to run; each gets a loop of its own.
        parameters: Of the method.
        fun: The value; None if no phase needs one.
        grad: The gradient.
        carry: Where to begin.
        limit: How many gradients there may be in all.

    Returns:
        Where it ended.
    """

    def look(phase: Phase, carry: Carry) -> Carry:
        # The barrier: a phase of one trip is invariant in its loop, and XLA would hoist its look
        # out, to be taken whether it is due or not.
        state, value, gradient, values, gradients, finite = jax.lax.optimization_barrier(carry)
        if phase.needs:
            point = phase.at(ops, parameters, state)
            if phase.needs & VALUE and phase.needs & GRADIENT:
                value, gradient = jax.value_and_grad(fun)(point)  # type: ignore[arg-type]
            elif phase.needs & VALUE:
                value = fun(point)  # type: ignore[misc]
            else:
                gradient = grad(point)
            if phase.needs & GRADIENT:
                gradients += 1
                finite &= ops.dot(gradient, gradient) < jnp.inf
            if phase.needs & VALUE:
                values += 1
                finite &= jnp.isfinite(value)
        after = phase.update(ops, parameters, state, value, gradient)
        new = Carry(after, value, gradient, values, gradients, finite)
        return jax.tree.map(lambda u, old: jnp.asarray(u, old.dtype), new, carry)

    def due(code: int, carry: Carry) -> Any:
        affordable = carry.gradients < limit if phases[code].needs & GRADIENT else True
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
    state = solver.start(ops, parameters, x, seed)._replace(**given)
    return jax.tree.map(
        lambda u: jnp.asarray(u, real if isinstance(u, float) else jnp.result_type(u)), state
    )


def rest(state: State) -> Carry:
    """Give what a loop carries at first."""
    nan, zero = jnp.full_like(state.tolerance, jnp.nan), jnp.array(0)
    return Carry(state, nan, ops.times(0.0, state.x), zero, zero, jnp.array(True))


def read(state: State, curvature_tol: Any, failure_probability: float, gradients: Any) -> Verdict:
    """Say what a search has shown.

    Args:
        state: In which it ended.
        curvature_tol: What was asked for.
        failure_probability: Over the whole run.
        gradients: That it took.

    Returns:
        The verdict.
    """
    e, seen = state.escape, state.escape.sight
    over = (state.phase < 0) | (state.phase == MEASURE)
    refuted = over & (e.curvature + seen.error <= -seen.curvature_tol / 2)
    holds = jnp.where(state.phase == CERTIFIED, 1, jnp.where(refuted, 0, -1))
    delta = jnp.asarray(failure_probability, seen.error.dtype)
    return Verdict(
        holds=holds,
        curvature_tol=jnp.where(holds < 0, curvature_tol, seen.curvature_tol),
        failure_probability=jnp.where(holds > 0, delta, jnp.where(refuted, 0.0, 1.0)),
        curvature=e.curvature,
        direction=ops.scale(
            jnp.where(refuted, 1 / ops.maximum(ops.norm(e.direction), ops.tiny(state.x)), 0.0),
            e.direction,
        ),
        gradients=gradients,
        rigorous=seen.error * seen.needed <= seen.curvature_tol / 4,
    )
