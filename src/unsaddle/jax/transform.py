"""A solver as an optax transformation: an update takes one answer in, and leads on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from unsaddle.core.evidence import last_phase
from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.phases import VALUE
from unsaddle.jax.inputs import Tree, tree
from unsaddle.jax.loop import Phases, Run, due, first_state, look_up, loop, received, rest
from unsaddle.jax.ops import cast, ops
from unsaddle.jax.packing import pack
from unsaddle.jax.processes import agree

Transformation = optax.GradientTransformation | optax.GradientTransformationExtraArgs


class Stepped(NamedTuple):
    """The state of a transformation."""

    kernel: State
    ended: Any  # the phase in which the last run or search ended; 0 if none has
    sample: Any  # number of the sample that the next gradient is to be of
    finite: Any  # whether the last answer was; if not, it was not taken


def stepping(
    name: str,
    solver: Solver,
    parameters: Callable[[int], Parameters],
    seed: int,
) -> Transformation:
    """Give a solver as a transformation."""

    def init(params: Tree) -> Stepped:
        n = ops.size(params)
        return first(solver, parameters(n), params, seed)

    def update(
        updates: Tree, state: Any, params: Tree | None = None, **given: Any
    ) -> tuple[Tree, Stepped]:
        params = present(params)
        n = ops.size(params)
        phases, p = solver.phases, parameters(n)
        kernel, finite = advance(name, phases, p, state.kernel, params, updates, given)
        ends = [lambda s: cast(last_phase(ops, p, s), s.phase), lambda s: 0 * s.phase]
        over = jax.lax.cond(kernel.phase < 0, *ends, kernel)
        after = Stepped(kernel, over, Run(phases, p).first_sample(phases, kernel), finite)
        return towards(phases, p, kernel, params, finite), cast(after, state)

    if any(phase.needs & VALUE for phase in solver.phases.values()):
        return optax.GradientTransformationExtraArgs(init, update)
    return optax.GradientTransformation(init, update)


def first(solver: Solver, parameters: Parameters, params: Tree, seed: int) -> Stepped:
    """Give the first state, each leaf in an array of its own: the caller may donate them."""
    params = tree(params, "params", exactly=True)
    agree(params, first, settings=parameters, seed=seed)
    kernel = first_state(solver, parameters, params, seed)
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
    shape = () if value is None else jnp.shape(value)
    if shape != ():
        raise TypeError(f"value must be a scalar, got one of shape {shape}; pass value.sum()")
    run, now = Run(phases, p), rest(state)
    if value is None and value_fn is not None:
        asked = look_up({code: it.needs & VALUE > 0 for code, it in phases.items()}, state.phase)
        compute = lambda it: cast((value_fn(params), False), it)  # noqa: E731
        value, _ = loop(lambda it: it[1], compute, (now.value, asked))
    known = now.value if value is None else value
    known, slope, finite = received(phases, state._replace(x=params), known, gradient)
    told = now._replace(due=jnp.where(finite, look_up(run.takes, state.phase), 0))
    told = cast(told._replace(value=known, gradient=slope), now)
    moved = jax.lax.while_loop(lambda now: due(now) > 0, run.moved, pack(told))
    return moved.unpack().state, finite


def towards(phases: Phases, p: Parameters, state: State, params: Tree, finite: Any) -> Tree:
    """Give what leads from the parameters to the next point; zero after what was not finite."""
    return jax.tree.map(
        lambda new, old: jnp.where(finite, new - old, 0).astype(old.dtype),
        Run(phases, p).point(pack(rest(state))),
        params,
    )
