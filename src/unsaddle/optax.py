"""Every method as an optax transformation, and ``escape`` around any other.

The parameters hold the point at which the method wants the next gradient: one ``update`` takes one
answer in, and its updates lead to the next point. ``iterate(state, params)`` gives the point to
evaluate. A method that needs values takes them as optax does: ``value=`` is the value at the
parameters, or ``value_fn=`` computes it where it is needed.
"""

import math
from functools import partial
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("unsaddle.optax needs JAX and optax: pip install 'unsaddle[jax]'") from error

from unsaddle import asked
from unsaddle.escapes.stride import MEASURE
from unsaddle.escapes.window import window
from unsaddle.hints import TRACED
from unsaddle.kernel import (
    BEGIN,
    CERTIFIED,
    ENDS,
    GO,
    GRADIENT,
    START,
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
from unsaddle.methods import STOCHASTIC, find
from unsaddle.search import AGAIN, ROUGH, wanted
from unsaddle.stochastic import settle
from unsaddle.theory import check
from unsaddle.transform import Stepped, advance, cast, first, present, stepped, stepping, towards


class Quiet(NamedTuple):
    """What ``escape`` remembers of the descent."""

    inner: Any  # the inner optimiser's state
    steps: Any  # for how many steps the gradient has been small
    armed: Any  # whether a search is allowed

    def kinetic(self, ops: Ops, p: Any) -> Scalar:
        """Zero: the momentum is the inner optimiser's."""
        return 0.0

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho as met on the way: not measured."""
        return 0.0, 0.0


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
        smoothness: Bound on the Hessian's norm; the ``auto`` ones can do without.
        hessian_lipschitz: Lipschitz constant of the Hessian; the ``auto`` ones can do without.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate over the whole run.
        decrease_available: Bound on f(x0) - min f; needed by pgd and pagd only.
        seed: All randomness is a function of it.
        **options: Single hyperparameters of the method, in place of the paper's.

    Returns:
        The transformation; with extra arguments if a phase of the method needs a value. When
        ``outcome(state)`` is there the updates are zero.

    Raises:
        ValueError: If the method is for samples, or a constant that it needs is missing.
    """
    chosen = find(name)
    if name in STOCHASTIC:
        raise ValueError(
            f"method {name!r} takes gradients of samples: "
            f"call unsaddle.optax.sampled({name!r}, ...)"
        )
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "decrease_available": decrease_available,
    }

    def parameters(n: int) -> Parameters:
        return asked.parameters(name, chosen, n, constants, options, method, TRACED)

    parameters(1)  # complain now, not when tracing
    return stepping(name, chosen.solver, parameters, seed)


def sampled(
    name: str,
    *,
    smoothness: float = math.nan,  # l
    hessian_lipschitz: float = math.nan,  # rho
    stochastic_smoothness: float = math.nan,  # lt
    variance: float = math.nan,  # sigma^2
    tol: float = 1e-2,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    decrease_available: float | None = None,  # Delta_f
    preset: str = "practical",
    seed: int = 0,
    **options: float,
) -> optax.GradientTransformation:
    """Give a method for minibatches as an optax transformation.

    The gradient is to be of the sample whose number is ``sample(state)``: the key for it is
    ``jax.random.fold_in(key, sample(state))``, and the same number means the same sample again.

    Args:
        name: ``sgd+nc`` or ``psgd``.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        stochastic_smoothness: Bound on the norm of every single sample's Hessian.
        variance: Of the gradient of one sample: the mean of |g(x; theta) - g(x)|^2.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to look for. Default sqrt(rho tol).
        failure_probability: Chance of an error in each trial of a direction.
        decrease_available: Bound on f(x0) - min f; needed by the printed preset only.
        preset: ``practical``, or ``printed`` for the parameters of the papers.
        seed: All noise is a function of it; the samples are yours.
        **options: Single hyperparameters of the method, in place of the preset's.

    Returns:
        The transformation. When ``outcome(state)`` is there the updates are zero.
    """
    given = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "stochastic_smoothness": stochastic_smoothness,
        "variance": variance,
        "tol": tol,
        "curvature_tol": curvature_tol or math.sqrt(max(hessian_lipschitz * tol, 0.0)),
        "failure_probability": failure_probability,
    }
    settle(name, preset, 1, given, decrease_available, options)  # complain now, not when tracing
    return stepping(
        name,
        find(name).solver,
        lambda n: settle(name, preset, n, given, decrease_available, options),
        seed,
    )


auto = partial(method, "auto")
agd_auto = partial(method, "agd-auto")
pgd = partial(method, "pgd")
pagd = partial(method, "pagd")
pgd_nc = partial(method, "pgd+nc")
ancgd = partial(method, "ancgd")
neon = partial(method, "neon")
neon_plus = partial(method, "neon+")
agd_lanczos = partial(method, "agd+lanczos")
sgd_nc = partial(sampled, "sgd+nc")
psgd = partial(sampled, "psgd")


def escape(
    inner: optax.GradientTransformation,
    *,
    tol: float = 1e-3,  # eps
    patience: int = 10,
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
    reset: bool = True,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """Put the escape of agd-auto around any optax optimiser.

    Descends with the inner optimiser. When the gradient norm has been at most ``tol`` at
    ``patience`` steps, without once exceeding twice that in between, it searches for negative
    curvature, one gradient per update, and jumps along it, or certifies that there is none. A jump
    that does not lower the value is halved, and at last not taken. The next search waits until
    the gradient has been above ``2 tol``; ``outcome(state)`` tells how the last one ended, if not
    by a jump.

    Args:
        inner: The optimiser to descend with; it is given the extra arguments too.
        tol: Gradient norm below which to search.
        patience: For how many steps it must have been below.
        curvature_tol: Curvature to certify. Default sqrt(rho tol), where rho is given or met, and
            at least 1e-3 of the curvature that is met.
        failure_probability: Chance of a false certificate over the whole run.
        smoothness: Bound on the Hessian's norm, if it is known; measured in any case.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise.
        reset: Whether a jump resets the inner optimiser's state; schedules go on.
        seed: All randomness is a function of it.

    Returns:
        The transformation, whose ``update`` needs ``params`` and ``value`` or ``value_fn``.

    Raises:
        TypeError: If inner is not an optax optimiser.
        ValueError: If patience is not positive.
    """
    if not hasattr(inner, "update"):
        raise TypeError(
            f"inner must be an optax optimiser, got {type(inner).__name__}; "
            "pass escape(optax.adam(1e-3), ...)"
        )
    if not patience > 0:
        raise ValueError(f"patience must be positive, got {patience!r}")
    optimiser = optax.with_extra_args_support(inner)
    constants = {
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
    }
    known = check({word: value for word, value in constants.items() if value is not None})
    p = Parameters(known.pop("tol"), None, wanted(**{"curvature_tol": None, **known}, finest=ROUGH))

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
                inner = renewed(optimiser.init(s.x), s.descent.inner)
                s = s._replace(descent=s.descent._replace(inner=inner))
            return go(ops, p, s, value, gradient)

        descent = Part(
            {START: Phase(at_iterate, GRADIENT, restart), GO: Phase(at_iterate, GRADIENT, go)},
            Quiet,
            lambda ops, x: Quiet(optimiser.init(x), 0, True),
        )
        return compose(descent, window)

    def init(params: Vector) -> Stepped:
        kernel = first(solver({}), p, params, seed)
        return Stepped(kernel, jnp.int32(0), jnp.int32(0), jnp.array(True))

    def update(
        updates: Vector, state: Any, params: Vector | None = None, **given: Any
    ) -> tuple[Vector, Stepped]:
        params = present(params)
        phases = solver(given).phases
        s, finite = advance("escape", phases, p, state.kernel, params, updates, given)
        claims = (s.phase == MEASURE) & (s.escape.found == math.inf)  # no jump is needed for that
        s = s._replace(phase=jnp.where(claims, CERTIFIED, s.phase))
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
        s = cast(s, state.kernel)
        return towards(phases, p, s, params, finite), Stepped(s, ended, state.sample, finite)

    return optax.GradientTransformationExtraArgs(init, update)


def renewed(fresh: Any, old: Any) -> Any:
    """Give a fresh state in which schedules, and what the user may have set, are as they were."""

    def whole(node: Any) -> bool:
        return isinstance(node, optax.ScaleByScheduleState) or hasattr(node, "hyperparams")

    def choose(new: Any, before: Any) -> Any:
        if not whole(new):
            return new
        if hasattr(new, "inner_state"):
            return before._replace(inner_state=renewed(new.inner_state, before.inner_state))
        return before

    return jax.tree.map(choose, fresh, old, is_leaf=whole)


def iterate(state: Any, params: Vector) -> Vector:
    """Give the point to evaluate: the iterate, while the parameters hold a probe.

    Args:
        state: The state of a transformation, perhaps inside a chain, or of several for a part of
            the parameters each.
        params: The parameters, which are given back as far as no method of this package has them.

    Returns:
        The iterate.
    """

    def hidden(node: Any) -> bool:
        return isinstance(node, optax.MaskedNode)

    for found in stepped(state):
        own = lambda mine, theirs: theirs if hidden(mine) else mine  # noqa: E731
        params = jax.tree.map(own, found.kernel.x, params, is_leaf=hidden)
    return params


def outcome(state: Any) -> Outcome | None:
    """Say how a method ended, or the last search of ``escape``.

    Args:
        state: The state of a transformation, perhaps inside a chain; where there are several, that
            of the first that is not certified counts.

    Returns:
        The outcome, or None if there is none yet. ``NOT_FINITE`` while the last gradient or value
        was: nothing was changed then, and the next one that is finite goes on.
    """
    ends = [ENDS.get(int(it.ended)) if it.finite else Outcome.NOT_FINITE for it in stepped(state)]
    pending = [end for end in ends if end is not Outcome.CERTIFIED]
    return (pending or ends or [None])[0]


def sample(state: Any) -> Any:
    """Give the number of the sample that the next gradient is to be of; may be traced.

    Args:
        state: The state of ``sgd_nc`` or ``psgd``, perhaps inside a chain.

    Returns:
        The number; the same as before where the same sample is wanted again.
    """
    found = stepped(state)
    return found[0].sample if found else jnp.int32(0)
