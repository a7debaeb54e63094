"""A solver as an optax transformation: an update takes one answer in, and leads on."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("unsaddle.optax needs JAX and optax: pip install 'unsaddle[jax]'") from error

from unsaddle.kernel import NEW, TRIAL, VALUE, Parameters, Phase, Solver, State, Vector
from unsaddle.loops import first_state
from unsaddle.methods import STOCHASTIC
from unsaddle.ops import jax as ops


class Stepped(NamedTuple):
    """The state of a transformation."""

    kernel: State
    ended: Any  # the phase in which the last run or search ended; 0 if none has
    sample: Any  # number of the sample that the next gradient is to be of


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
        return Stepped(kernel, jnp.int32(0), jnp.zeros_like(kernel.drawn))

    def update(
        updates: Vector, state: Any, params: Vector | None = None, **given: Any
    ) -> tuple[Vector, Stepped]:
        params = present(params)
        p = parameters(ops.size(params))
        kernel = advance(name, phases, p, state.kernel, params, updates, given)
        number = state.sample
        if name in STOCHASTIC:
            kernel, number = counted(phases, p, state.kernel.phase, kernel)
        ended = jnp.where(kernel.phase < 0, kernel.phase, 0).astype(state.ended.dtype)
        return towards(phases, p, kernel, params), Stepped(kernel, ended, number)

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


def stepped(state: Any) -> Stepped | None:
    """Find the state of a method in the state of a chain."""
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, Stepped))
    return next((node for node in nodes if isinstance(node, Stepped)), None)


def present(params: Vector | None) -> Vector:
    """Check that there are parameters."""
    if params is None:
        raise ValueError("params are missing: call tx.update(gradients, state, params, value=...)")
    return params


def first(solver: Solver, parameters: Parameters, params: Vector, seed: int) -> State:
    """Give the first state, in arrays of its own."""
    x = jax.tree.map(jnp.array, params)  # not the same buffers: the caller may donate them
    return first_state(solver, parameters, x, seed)


def advance(
    name: str,
    phases: Mapping[int, Phase],
    p: Parameters,
    state: State,
    params: Vector,
    gradient: Vector,
    given: dict[str, Any],
) -> State:
    """Move by the phase that looked at the parameters, and by those after it that need not look."""
    value, value_fn = given.get("value"), given.get("value_fn")
    if value is None and value_fn is None and any(q.needs & VALUE for q in phases.values()):
        raise TypeError(
            f"{name} needs values: pass value=<the value at params>, or value_fn=<the function>, "
            "to update()"
        )

    def move(phase: Phase, state: State) -> State:
        known, slope = value, gradient
        if known is None:
            known = value_fn(params) if phase.needs & VALUE else jnp.nan  # type: ignore[misc]
        if phase.needs & TRIAL:
            sane = jnp.isfinite(known) & (ops.dot(slope, slope) < jnp.inf)
            known = jnp.where(sane, known, jnp.inf)
            slope = ops.switch(sane, slope, ops.times(0.0, params))
        return cast(phase.update(ops, p, state, known, slope), state)

    loud = [code for code in sorted(phases) if phases[code].needs]
    branches: list[Callable[[State], State]] = [partial(move, phases[code]) for code in loud]
    state = jax.lax.switch(index(loud, state.phase), [*branches, lambda s: s], state)
    for code in sorted(phases):
        if not phases[code].needs:
            due = state.phase == code
            state = jax.lax.cond(due, partial(move, phases[code]), lambda s: s, state)
    return state


def towards(phases: Mapping[int, Phase], p: Parameters, state: State, params: Vector) -> Vector:
    """Give what leads from the parameters to the next point."""
    codes = sorted(phases)
    places = [lambda s, at=phases[code].at: at(ops, p, s) for code in codes]
    point = jax.lax.switch(index(codes, state.phase), [*places, lambda s: s.x], state)
    return jax.tree.map(lambda new, old: (new - old).astype(old.dtype), point, params)


def index(codes: list[int], phase: Any) -> Any:
    """Give the place of a phase in a list, or the list's length if it is not there."""
    hit = jnp.array(codes) == phase
    return jnp.where(hit.any(), jnp.argmax(hit), len(codes))


def cast(state: State, like: State) -> State:
    """Give a state in the precisions of another."""
    return jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), state, like)
