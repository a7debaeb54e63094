"""A solver as an optax transformation: an update takes one answer in, and leads on."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from unsaddle.kernel import GRADIENT, NEW, TRIAL, VALUE, Parameters, Phase, Solver, State, Vector
from unsaddle.loops import first_state
from unsaddle.methods import STOCHASTIC
from unsaddle.ops import jax as ops
from unsaddle.trees import tree


class Stepped(NamedTuple):
    """The state of a transformation."""

    kernel: State
    ended: Any  # the phase in which the last run or search ended; 0 if none has
    sample: Any  # number of the sample that the next gradient is to be of
    finite: Any  # whether the last answer was; if not, it was not taken


def stepping(
    name: str, solver: Solver, parameters: Callable[[int], Parameters], seed: int
) -> optax.GradientTransformation | optax.GradientTransformationExtraArgs:
    """Give a solver as a transformation.

    Args:
        name: Of the method.
        solver: Its phases.
        parameters: Its hyperparameters for so many variables.
        seed: All randomness is a function of it.

    Returns:
        The transformation; with extra arguments if a phase needs a value.
    """
    phases = solver.phases

    def init(params: Vector) -> Stepped:
        kernel = first(solver, parameters(ops.size(params)), params, seed)
        return Stepped(kernel, jnp.int32(0), jnp.zeros_like(kernel.drawn), jnp.array(True))

    def update(
        updates: Vector, state: Any, params: Vector | None = None, **given: Any
    ) -> tuple[Vector, Stepped]:
        params = present(params)
        p = parameters(ops.size(params))
        kernel, finite = advance(name, phases, p, state.kernel, params, updates, given)
        number = state.sample
        if name in STOCHASTIC:
            taken, after = counted(phases, p, state.kernel.phase, kernel)
            kernel = kernel._replace(drawn=jnp.where(finite, taken.drawn, kernel.drawn))
            number = jnp.where(finite, after, number)
        ended = jnp.where(kernel.phase < 0, kernel.phase, 0).astype(state.ended.dtype)
        return towards(phases, p, kernel, params, finite), Stepped(kernel, ended, number, finite)

    if any(phase.needs & VALUE for phase in phases.values()):
        return optax.GradientTransformationExtraArgs(init, update)
    return optax.GradientTransformation(init, update)


def counted(
    phases: Mapping[int, Phase], p: Parameters, looked: Any, state: State
) -> tuple[State, Any]:
    """Count the samples that a look took, and number the one that the next look wants.

    Args:
        phases: Of the method.
        p: Its hyperparameters.
        looked: The phase that looked.
        state: After it.

    Returns:
        The state with its samples counted, and the number.
    """
    codes = sorted(phases)
    sizes = jnp.array([phases[code].size(p) for code in codes] + [0])
    fresh = jnp.array([phases[code].sample == NEW for code in codes] + [True])
    before, after = index(codes, looked), index(codes, state.phase)
    drawn = state.drawn + jnp.where(fresh[before], sizes[before], 0).astype(state.drawn.dtype)
    number = drawn - jnp.where(fresh[after], 0, sizes[after]).astype(drawn.dtype)
    return state._replace(drawn=drawn), number


def stepped(state: Any) -> list[Stepped]:
    """Find the states of the methods in the state of a chain, or of what masks parameters."""
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, Stepped))
    return [node for node in nodes if isinstance(node, Stepped)]


def present(params: Vector | None) -> Vector:
    """Check that there are parameters."""
    if params is None:
        raise ValueError("params are missing: call tx.update(gradients, state, params, value=...)")
    return params


def first(solver: Solver, parameters: Parameters, params: Vector, seed: int) -> State:
    """Give the first state, each leaf in an array of its own: the caller may donate them."""
    state = first_state(solver, parameters, tree(params, "params", exactly=True), seed)
    return jax.tree.map(jnp.array, state)


def advance(
    name: str,
    phases: Mapping[int, Phase],
    p: Parameters,
    state: State,
    params: Vector,
    gradient: Vector,
    given: dict[str, Any],
) -> tuple[State, Any]:
    """Move by the phase that looked at the parameters, and by those after it that need not look.

    Args:
        name: Of the method.
        phases: Of the method.
        p: Its hyperparameters.
        state: Before.
        params: Where the gradient is of.
        gradient: The gradient.
        given: With the value, or with a function for it.

    Returns:
        The state, and whether the answer was finite; if it was not, the state is as it was.

    Raises:
        TypeError: If there is no value.
    """
    value, value_fn = given.get("value"), given.get("value_fn")
    if value is None and value_fn is None and any(q.needs & VALUE for q in phases.values()):
        raise TypeError(
            f"{name} needs values: pass value=<the value at params>, or value_fn=<the function>, "
            "to update()"
        )

    def move(phase: Phase, state: State) -> tuple[State, Any]:
        known, slope, sane = value, gradient, jnp.array(True)
        if known is None:
            known = value_fn(params) if phase.needs & VALUE else jnp.nan  # type: ignore[misc]
        if phase.needs & GRADIENT:
            sane &= ops.dot(slope, slope) < jnp.inf
        if phase.needs & VALUE:
            sane &= jnp.isfinite(known)
        if phase.needs & TRIAL:
            known = jnp.where(sane, known, jnp.inf)
            slope, sane = ops.switch(sane, slope, ops.times(0.0, params)), jnp.array(True)
        after = lambda s: cast(phase.update(ops, p, s, known, slope), s)  # noqa: E731
        return jax.lax.cond(sane, after, lambda s: s, state), sane

    def stay(state: State) -> tuple[State, Any]:
        return state, jnp.array(True)

    loud = [code for code in sorted(phases) if phases[code].needs]
    branches: list[Callable[[State], Any]] = [partial(move, phases[code]) for code in loud]
    state, finite = jax.lax.switch(index(loud, state.phase), [*branches, stay], state)
    for code in sorted(phases):
        if not phases[code].needs:
            due = state.phase == code
            state, _ = jax.lax.cond(due, partial(move, phases[code]), stay, state)
    return state, finite


def towards(
    phases: Mapping[int, Phase], p: Parameters, state: State, params: Vector, finite: Any
) -> Vector:
    """Give what leads from the parameters to the next point; zero after what was not finite."""
    codes = sorted(phases)
    places = [lambda s, at=phases[code].at: at(ops, p, s) for code in codes]
    point = jax.lax.switch(index(codes, state.phase), [*places, lambda s: s.x], state)
    return jax.tree.map(
        lambda new, old: jnp.where(finite, new - old, 0).astype(old.dtype), point, params
    )


def index(codes: list[int], phase: Any) -> Any:
    """Give the place of a phase in a list, or the list's length if it is not there."""
    hit = jnp.array(codes) == phase
    return jnp.where(hit.any(), jnp.argmax(hit), len(codes))


def cast(state: State, like: State) -> State:
    """Give a state in the precisions of another."""
    return jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), state, like)
