"""A solver as an optax transformation: an update takes one answer in, and leads on."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from unsaddle.core.kernel import Parameters, Phase, Solver, State, iterate
from unsaddle.core.outcome import last_phase
from unsaddle.core.phases import SAME, VALUE
from unsaddle.jax.inputs import Tree, tree, whole
from unsaddle.jax.loop import Oracle, cast, drive, first_state, index, moved, received, rest
from unsaddle.jax.ops import ops

Transformation = optax.GradientTransformation | optax.GradientTransformationExtraArgs
Phases = Mapping[int, Phase]


class Stepped(NamedTuple):
    """The state of a transformation."""

    kernel: State
    ended: Any  # the phase in which the last run or search ended; 0 if none has
    sample: Any  # number of the sample that the next gradient is to be of
    finite: Any  # whether the last answer was; if not, it was not taken


def stepping(
    name: str, solver: Solver, parameters: Callable[[int], Parameters], seed: int
) -> Transformation:
    """Give a solver as a transformation."""
    phases = solver.phases

    def init(params: Tree) -> Stepped:
        return first(solver, parameters(ops.size(params)), params, seed)

    def update(
        updates: Tree, state: Any, params: Tree | None = None, **given: Any
    ) -> tuple[Tree, Stepped]:
        params = present(params)
        p = parameters(ops.size(params))
        kernel, finite = advance(name, phases, p, state.kernel, params, updates, given)
        over = jnp.where(kernel.phase < 0, last_phase(ops, kernel.phase, kernel.stalled), 0)
        after = Stepped(kernel, over, _next_sample(phases, p, kernel), finite)
        return towards(phases, p, kernel, params, finite), cast(after, state)

    if any(phase.needs & VALUE for phase in phases.values()):
        return optax.GradientTransformationExtraArgs(init, update)
    return optax.GradientTransformation(init, update)


def first(solver: Solver, parameters: Parameters, params: Tree, seed: int) -> Stepped:
    """Give the first state, each leaf in an array of its own: the caller may donate them."""
    params = tree(params, "params", exactly=True)
    kernel = first_state(solver, parameters, params, whole(seed))
    ended, number = jnp.zeros_like(kernel.phase), jnp.zeros_like(kernel.drawn)
    return jax.tree.map(jnp.array, Stepped(kernel, ended, number, jnp.array(True)))


def present(params: Tree | None) -> Tree:
    """Check that there are parameters."""
    if params is None:
        raise ValueError("params are missing: call tx.update(gradients, state, params, value=...)")
    return params


def stepped(state: Any) -> list[Stepped]:
    """Find the states of the methods in the state of a chain, or of what masks parameters."""
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, Stepped))
    return [node for node in nodes if isinstance(node, Stepped)]


def advance(
    name: str,
    phases: Phases,
    p: Parameters,
    state: State,
    params: Tree,
    gradient: Tree,
    given: dict[str, Any],
) -> tuple[State, Any]:
    """Move by the phase that queries the parameters, and by those after it that ask for nothing."""
    value, value_fn = given.get("value"), given.get("value_fn")
    if value is None and value_fn is None and any(q.needs & VALUE for q in phases.values()):
        raise TypeError(
            f"{name} needs values: pass value=<the value at params>, or value_fn=<the function>, "
            "to update()"
        )
    now = rest(state)

    def take(phase: Phase, state: State) -> tuple[State, Any, Tree, Any]:
        known = value
        if known is None:
            known = value_fn(params) if phase.needs & VALUE else jnp.nan  # type: ignore[misc]
        known, slope, finite = received(phase, params, known, gradient)
        move = lambda s: moved(phase, p, s, known, slope)  # noqa: E731
        after = jax.lax.cond(finite, move, lambda s: s, state)
        return after, *cast((known, slope), (now.value, now.gradient)), finite

    def stay(state: State) -> tuple[State, Any, Tree, Any]:
        return state, now.value, now.gradient, jnp.array(True)

    loud, quiet = _parted(phases)
    branches: list[Callable[[State], Any]] = [partial(take, phases[code]) for code in loud]
    state, known, slope, finite = jax.lax.switch(index(loud, state.phase), [*branches, stay], state)
    then = now._replace(state=state, value=known, gradient=slope)
    return drive({code: phases[code] for code in quiet}, p, Oracle(), then).state, finite


def towards(phases: Phases, p: Parameters, state: State, params: Tree, finite: Any) -> Tree:
    """Give what leads from the parameters to the next point; zero after what was not finite."""
    codes = [code for code in _parted(phases)[0] if phases[code].at is not iterate]
    places = [lambda s, at=phases[code].at: at(ops, p, s) for code in codes]
    point = jax.lax.switch(index(codes, state.phase), [*places, lambda s: s.x], state)
    return jax.tree.map(
        lambda new, old: jnp.where(finite, new - old, 0).astype(old.dtype), point, params
    )


def _parted(phases: Phases) -> tuple[list[int], list[int]]:
    """Part the phases that ask for something from those that do not."""
    loud = [code for code in sorted(phases) if phases[code].needs]
    return loud, [code for code in sorted(phases) if not phases[code].needs]


def _next_sample(phases: Phases, p: Parameters, state: State) -> Any:
    """Number the sample that the next query wants: the last one again, or a new one."""
    again = {code: it.size(p) for code, it in phases.items() if it.sample == SAME}
    sizes = jnp.array([*again.values(), 0])
    return state.drawn - sizes[index([*again], state.phase)]
