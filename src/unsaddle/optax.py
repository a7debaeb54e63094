"""Every method as an optax transformation, and ``escape`` around any other.

The parameters hold the point at which the method wants the next gradient: one ``update`` takes one
answer in, and its updates lead to the next point. ``iterate(state, params)`` gives the point to
evaluate. A method that needs values takes them as optax does: ``value=`` is the value at the
parameters, or ``value_fn=`` computes it where it is needed.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("unsaddle.optax needs JAX and optax: pip install 'unsaddle[jax]'") from error

from unsaddle.escapes.anc import anc
from unsaddle.kernel import (
    BEGIN,
    ENDS,
    GO,
    GRADIENT,
    START,
    TRIAL,
    VALUE,
    Ops,
    Outcome,
    Parameters,
    Part,
    Phase,
    Scalar,
    Solver,
    State,
    Vector,
    compose,
)
from unsaddle.kernel import (
    iterate as at_iterate,
)
from unsaddle.loops import first_state
from unsaddle.methods import find, override
from unsaddle.ops import jax as ops

AGAIN = 2.0  # times tol: a gradient above this ends the quiet, and allows another search


class Stepped(NamedTuple):
    """The state of a transformation."""

    kernel: State
    ended: Any  # the phase in which the last run or search ended; 0 if none has


class Quiet(NamedTuple):
    """What ``escape`` remembers of the descent."""

    inner: Any  # the inner optimiser's state
    steps: Any  # for how many steps the gradient has been small
    armed: Any  # whether a search is allowed

    def kinetic(self, ops: Ops, p: Any) -> Scalar:
        """Zero: the momentum is the inner optimiser's."""
        return 0.0


def method(
    name: str,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
    tol: float = 1e-5,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    decrease_available: float | None = None,  # Delta_f
    seed: int = 0,
    **options: float,
) -> optax.GradientTransformation | optax.GradientTransformationExtraArgs:
    """Give a method as an optax transformation.

    Args:
        name: A name from ``unsaddle methods``.
        smoothness: Bound on the Hessian's norm; ``auto`` alone can do without.
        hessian_lipschitz: Lipschitz constant of the Hessian; ``auto`` alone can do without.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate over the whole run.
        decrease_available: Bound on f(x0) - min f; needed by pgd and pagd only.
        seed: All randomness is a function of it.
        **options: Single hyperparameters of the method, in place of the paper's.

    Returns:
        The transformation; with extra arguments if a phase of the method needs a value. When
        ``outcome(state)`` is there the updates are zero.
    """
    chosen = find(name)
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "decrease_available": decrease_available,
    }
    override(chosen.from_theory(**constants, n=1), options)  # complain now, not when tracing

    def parameters(params: Vector) -> Parameters:
        return override(chosen.from_theory(**constants, n=ops.size(params)), options)

    def init(params: Vector) -> Stepped:
        return Stepped(_first(chosen.solver, parameters(params), params, seed), jnp.int32(0))

    def update(
        updates: Vector, state: Any, params: Vector | None = None, **given: Any
    ) -> tuple[Vector, Stepped]:
        params = _present(params)
        phases = chosen.solver.phases
        kernel = _advance(name, phases, parameters(params), state.kernel, params, updates, given)
        ended = jnp.where(kernel.phase < 0, kernel.phase, 0).astype(state.ended.dtype)
        return _towards(phases, parameters(params), kernel, params), Stepped(kernel, ended)

    if any(phase.needs & VALUE for phase in chosen.solver.phases.values()):
        return optax.GradientTransformationExtraArgs(init, update)
    return optax.GradientTransformation(init, update)


auto = partial(method, "auto")
pgd = partial(method, "pgd")
pagd = partial(method, "pagd")
pgd_nc = partial(method, "pgd+nc")
ancgd = partial(method, "ancgd")
neon = partial(method, "neon")
neon_plus = partial(method, "neon+")


def escape(
    inner: optax.GradientTransformation,
    *,
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    tol: float = 1e-3,  # eps
    patience: int = 10,
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    reset: bool = True,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """Put the escape of ANCGD around any optax optimiser.

    Descends with the inner optimiser. When the gradient norm has been at most ``tol`` at
    ``patience`` steps, without once exceeding twice that in between, it searches for negative
    curvature, one gradient per update, and jumps along it, or certifies that there is none. A jump
    that does not lower the value is not taken. The next search waits until the gradient has been
    above ``2 tol``; ``outcome(state)`` tells how the last one ended, if not by a jump.

    Args:
        inner: The optimiser to descend with; it is given the extra arguments too.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        tol: Gradient norm below which to search.
        patience: For how many steps it must have been below.
        curvature_tol: Curvature to certify. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate over the whole run.
        reset: Whether a jump resets the inner optimiser's state.
        seed: All randomness is a function of it.

    Returns:
        The transformation, whose ``update`` needs ``params`` and ``value`` or ``value_fn``.

    Raises:
        ValueError: If patience is not positive.
    """
    if not patience > 0:
        raise ValueError(f"patience must be positive, got {patience!r}")
    optimiser = optax.with_extra_args_support(inner)
    table = find("ancgd").from_theory
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
    }
    table(**constants, n=1)

    def solver(extra: dict[str, Any]) -> Solver:
        def go(ops: Ops, p: Any, s: State, value: Scalar, gradient: Vector) -> State:
            """Descend by one step of the inner optimiser, unless it is time to search."""
            norm, quiet = ops.norm(gradient), s.descent
            loud = norm > AGAIN * tol
            steps = jnp.where(loud, 0, quiet.steps + (norm <= tol))
            armed = quiet.armed | loud
            due = armed & (norm <= s.tolerance) & (steps >= patience)
            move, after = optimiser.update(gradient, quiet.inner, s.x, **extra)
            left = s.left - 1
            return s._replace(
                x=ops.switch(due, s.x, optax.apply_updates(s.x, move)),
                descent=Quiet(ops.switch(due, quiet.inner, after), steps, armed),
                left=left,
                phase=jnp.where(due, BEGIN, jnp.where(left <= 0, s.report, GO)),
            )

        def restart(ops: Ops, p: Any, s: State, value: Scalar, gradient: Vector) -> State:
            """Descend from a new place."""
            if reset:
                s = s._replace(descent=s.descent._replace(inner=optimiser.init(s.x)))
            return go(ops, p, s, value, gradient)

        descent = Part(
            {START: Phase(at_iterate, GRADIENT, restart), GO: Phase(at_iterate, GRADIENT, go)},
            Quiet,
            lambda ops, x: Quiet(optimiser.init(x), 0, True),
        )
        return compose(descent, anc)

    def parameters(params: Vector) -> Parameters:
        return table(**constants, n=ops.size(params))._replace(descent=None)

    def init(params: Vector) -> Stepped:
        return Stepped(_first(solver({}), parameters(params), params, seed), jnp.int32(0))

    def update(
        updates: Vector, state: Any, params: Vector | None = None, **given: Any
    ) -> tuple[Vector, Stepped]:
        params = _present(params)
        phases, p = solver(given).phases, parameters(params)
        s = _advance("escape", phases, p, state.kernel, params, updates, given)
        over = s.phase < 0
        ended = jnp.where(over, s.phase, state.ended).astype(state.ended.dtype)
        s = s._replace(
            phase=jnp.where(over, GO, s.phase),
            left=jnp.where(over, math.inf, s.left),
            tolerance=jnp.where(over, tol, s.tolerance),
            report=jnp.where(over, BEGIN, s.report),
            descent=s.descent._replace(
                steps=jnp.where(over, 0, s.descent.steps), armed=s.descent.armed & ~over
            ),
        )
        s = _cast(s, state.kernel)
        return _towards(phases, p, s, params), Stepped(s, ended)

    return optax.GradientTransformationExtraArgs(init, update)


def iterate(state: Any, params: Vector) -> Vector:
    """Give the point to evaluate: the iterate, while the parameters hold a probe.

    Args:
        state: The state of a transformation, perhaps inside a chain.
        params: The parameters, which are given back if no method of this package is in the state.

    Returns:
        The iterate.
    """
    found = _stepped(state)
    return params if found is None else found.kernel.x


def outcome(state: Any) -> Outcome | None:
    """Say how a method ended, or the last search of ``escape``.

    Args:
        state: The state of a transformation, perhaps inside a chain.

    Returns:
        The outcome, or None if there is none yet.
    """
    found = _stepped(state)
    return None if found is None else ENDS.get(int(found.ended))


def _stepped(state: Any) -> Stepped | None:
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, Stepped))
    return next((node for node in nodes if isinstance(node, Stepped)), None)


def _present(params: Vector | None) -> Vector:
    if params is None:
        raise ValueError("params are missing: call tx.update(gradients, state, params, value=...)")
    return params


def _first(solver: Solver, parameters: Parameters, params: Vector, seed: int) -> State:
    x = jax.tree.map(jnp.array, params)  # not the same buffers: the caller may donate them
    return first_state(solver, parameters, x, seed)


def _advance(
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
        return _cast(phase.update(ops, p, state, known, slope), state)

    loud = [code for code in sorted(phases) if phases[code].needs]
    branches: list[Callable[[State], State]] = [partial(move, phases[code]) for code in loud]
    state = jax.lax.switch(_index(loud, state.phase), [*branches, lambda s: s], state)
    for code in sorted(phases):
        if not phases[code].needs:
            due = state.phase == code
            state = jax.lax.cond(due, partial(move, phases[code]), lambda s: s, state)
    return state


def _towards(phases: Mapping[int, Phase], p: Parameters, state: State, params: Vector) -> Vector:
    """Give what leads from the parameters to the next point."""
    codes = sorted(phases)
    places = [lambda s, at=phases[code].at: at(ops, p, s) for code in codes]
    point = jax.lax.switch(_index(codes, state.phase), [*places, lambda s: s.x], state)
    return jax.tree.map(lambda new, old: (new - old).astype(old.dtype), point, params)


def _index(codes: list[int], phase: Any) -> Any:
    """Give the place of a phase in a list, or the list's length if it is not there."""
    hit = jnp.array(codes) == phase
    return jnp.where(hit.any(), jnp.argmax(hit), len(codes))


def _cast(state: State, like: State) -> State:
    return jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), state, like)
