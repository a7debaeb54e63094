"""Every method as an optax transformation, and ``escape`` around any other.

The parameters hold the point at which the method wants the next gradient: one ``update`` takes one
answer in, and its updates lead to the next point. ``iterate(state, params)`` gives the point to
evaluate. A method that needs values takes them as optax does: ``value=`` is the value at the
parameters, or ``value_fn=`` computes it where it is needed.
"""

from functools import partial
from typing import Any, Unpack

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("unsaddle.optax needs JAX and optax: pip install 'unsaddle[jax]'") from error

from unsaddle import messages
from unsaddle.core.evidence import among
from unsaddle.core.kernel import Parameters, Phase, Solver, State
from unsaddle.core.kernel import iterate as at_iterate
from unsaddle.core.ops import Ops, Scalar
from unsaddle.core.outcome import ENDS, Outcome
from unsaddle.core.phases import BOTH, CERTIFIED, GRADIENT, UNCERTIFIED
from unsaddle.descents import wrapped
from unsaddle.descents.batches import ASK_ONCE, NEXT_BATCH
from unsaddle.escapes import confirmed_jump
from unsaddle.jax import inputs
from unsaddle.jax.inputs import Tree
from unsaddle.jax.ops import cast, ops
from unsaddle.jax.transform import (
    Stepped,
    Transformation,
    advance,
    first,
    present,
    stepped,
    stepping,
    towards,
)
from unsaddle.methods import checks
from unsaddle.methods.constants import DEFAULTS, Constants, Given, SampledGiven, spelled
from unsaddle.methods.search import around, wrapping
from unsaddle.methods.table import STOCHASTIC, find, parameters_of

RISK = DEFAULTS["failure_probability"]


@spelled()
def method(name: str, *, seed: int = 0, **given: Unpack[Given]) -> Transformation:
    """Give a method as an optax transformation.

    Args:
        name: A name from ``unsaddle methods``.
        seed: All randomness is a function of it.
        **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
            hyperparameters of the method, in place of the paper's.

    Returns:
        The transformation; with extra arguments if a phase of the method needs a value. When
        ``outcome(state)`` is not None, the updates are zero.

    Raises:
        ValueError: If the method is for samples, or a constant that it needs is missing.
    """
    find(name)
    if name in STOCHASTIC:
        raise ValueError(
            f"method {name!r} takes gradients of samples: "
            f"call unsaddle.optax.sampled({name!r}, ...)"
        )

    def parameters(n: int) -> Parameters:
        return parameters_of(name, n, given, method, messages.TRACED)

    parameters(1)  # complain now, not when tracing
    return stepping(name, find(name).solver, parameters, inputs.whole(seed))


@spelled(tol=1e-2)
def sampled(name: str, *, seed: int = 0, **given: Unpack[SampledGiven]) -> Transformation:
    """Give a method for minibatches as an optax transformation.

    The gradient is to be of the sample whose number is ``sample(state)``: the key for it is
    ``jax.random.fold_in(key, sample(state))``, and the same number means the same sample again.

    Args:
        name: ``sgd+nc``, ``neon2-online``, ``spider+``, ``sharp-sgd`` or ``psgd``.
        seed: All noise is a function of it; the samples are yours.
        **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
            hyperparameters of the method, in place of the preset's.

    Returns:
        The transformation. When ``outcome(state)`` is not None, updates are zero. As the size of
        the samples is not known here, nothing is certified: ``unsaddle.jax.certify`` does that.

    """
    checks.one_of("method", name, STOCHASTIC)
    words: dict[str, Any] = {"tol": 1e-2, **given}

    def parameters(n: int) -> Parameters:
        return parameters_of(name, n, words, sampled, messages.TRACED)

    parameters(1)  # complain now, not when tracing
    return stepping(name, find(name).unproved, parameters, inputs.whole(seed))


auto = partial(method, "auto")
agd_auto = partial(method, "agd-auto")
pgd = partial(method, "pgd")
pagd = partial(method, "pagd")
pgd_nc = partial(method, "pgd+nc")
ancgd = partial(method, "ancgd")
neon = partial(method, "neon")
neon_plus = partial(method, "neon+")
neon2 = partial(method, "neon2")
cdhs = partial(method, "cdhs")
adancg = partial(method, "adancg")
fastcubic = partial(method, "fastcubic")
agd_lanczos = partial(method, "agd+lanczos")
sgd_nc = partial(sampled, "sgd+nc")
neon2_online = partial(sampled, "neon2-online")
sharp_sgd = partial(sampled, "sharp-sgd")
spider_plus = partial(sampled, "spider+")
psgd = partial(sampled, "psgd")


@messages.knowing(messages.TRACED)
@spelled(tol="auto")
def escape(
    inner: optax.GradientTransformation,
    *,
    patience: int = 10,
    reset: bool = True,
    seed: int = 0,
    **given: Unpack[Constants],
) -> optax.GradientTransformationExtraArgs:
    """Put the escape of agd-auto around any optax optimiser.

    Descends with the inner optimiser, and searches for negative curvature, one gradient per update,
    where the gradient norm has been at most ``tol`` at ``patience`` steps, without once exceeding
    twice that in between. The search jumps, or certifies that there is no negative curvature. A
    jump that does not lower the value is halved, and at last not taken. The next search waits until
    the gradient has been above ``2 tol``; ``outcome(state)`` tells how the last one ended, if not
    by a jump.

    Where ``tol`` is not given it is 1e-3, and minibatches are searched too where the training is
    stuck: over ``5 * patience`` steps the mean gradient is lost in the noise and the value does
    not fall. The gradient is then to be of the minibatch whose number is ``sample(state)``, which
    stays the same through a search, and changes to confirm a jump. Where the same number has
    brought another gradient, there is no search, and the outcome is ``UNRESOLVED``; of one
    minibatch nothing is certified: it is ``UNCERTIFIED``.

    Args:
        inner: The optimiser to descend with; it is given the extra arguments too.
        patience: For how many steps the gradient must have been below tol.
        reset: Whether a jump that is kept resets the inner optimiser's state; schedules go on.
        seed: All randomness is a function of it.
        **given: Constants of the function and targets (see ``unsaddle.Constants``). What is not
            given is measured; curvature_tol is then sqrt(rho tol), and at least 1e-3 of the
            curvature that is met.

    Returns:
        The transformation, whose ``update`` needs ``params`` and ``value`` or ``value_fn``.

    Raises:
        TypeError: If inner is not an optax optimiser.
    """
    if not (hasattr(inner, "init") and hasattr(inner, "update")):
        raise TypeError(
            f"inner must be an optax optimiser, got {type(inner).__name__}; "
            "pass escape(optax.adam(1e-3), ...)"
        )
    patience, reset = checks.whole("patience", patience, least=1), checks.yes_or_no("reset", reset)
    seed = inputs.whole(seed)
    p = around(patience, **{"tol": "auto", "failure_probability": RISK, **given})
    optimiser = optax.with_extra_args_support(inner)

    def init(params: Tree) -> Stepped:
        return first(_solver(optimiser, reset, p, {}), p, params, seed)

    def update(
        updates: Tree, state: Any, params: Tree | None = None, **given: Any
    ) -> tuple[Tree, Stepped]:
        params = present(params)
        phases = _solver(optimiser, reset, p, given).phases
        s, finite = advance("escape", phases, p, state.kernel, params, updates, given)
        over, of_a_batch = s.phase < 0, (s.phase == CERTIFIED) & s.descent.noisy
        ended = jnp.where(over, jnp.where(of_a_batch, UNCERTIFIED, s.phase), state.ended)
        s = chosen(over, wrapped.descend_again(ops, p, s), s, s)
        number = state.sample + among(s.phase, NEXT_BATCH)
        after = Stepped(s, ended, number, finite)
        return towards(phases, p, s, params, finite), cast(after, state)

    return optax.GradientTransformationExtraArgs(init, update)


def _solver(
    optimiser: optax.GradientTransformationExtraArgs,
    reset: bool,
    p: Parameters,
    extra: dict[str, Any],  # arguments for the optimiser
) -> Solver:
    """Give the inner optimiser as a descent, and the search around it."""

    def go(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Tree) -> State:
        """Descend by one step of the inner optimiser, unless it is time to search."""
        after, steps = wrapped.search_due(ops, p, s, value, gradient, ASK_ONCE)
        move, inner = optimiser.update(gradient, s.descent.inner, s.x, **extra)
        x = ops.switch(steps, optax.apply_updates(s.x, move), s.x)
        inner = ops.switch(steps, inner, s.descent.inner)
        return after._replace(x=x, descent=after.descent._replace(inner=inner))

    def restart(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Tree) -> State:
        """Descend from a new place, unless that is to be confirmed first."""
        asks = confirmed_jump.unconfirmed(ops, s, value)
        back = confirmed_jump.ask(ops, s, value)
        on = wrapped.arrived(ops, p, s)
        if reset:
            inner = renewed(optimiser.init(s.x), s.descent.inner)
            on = on._replace(descent=on.descent._replace(inner=inner))
        return chosen(asks, back, go(ops, p, on, value, gradient), s)

    needs = BOTH if p.descent.block else GRADIENT
    start, steps = Phase(at_iterate, BOTH, restart), Phase(at_iterate, needs, go)
    return wrapping(
        start, steps, lambda ops, x, settings: wrapped.memory(ops, x, settings, optimiser.init(x))
    )


def chosen(condition: Any, one: State, other: State, like: State) -> State:
    """Give one state or the other, in the precisions of a third."""
    return jax.tree.map(partial(jnp.where, condition), cast(one, like), cast(other, like))


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


def iterate(state: Any, params: Tree) -> Tree:
    """Give the point to evaluate: the iterate, while the parameters hold a probe.

    Args:
        state: The state of a transformation, perhaps inside a chain, or of several for a part of
            the parameters each.
        params: The parameters; those that no method of this package moves are returned as they are.

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
        The outcome, or None if there is none yet. ``NOT_FINITE`` if the last gradient or value
        was NaN or infinite: it changed nothing, and the run goes on with the next finite one.
    """
    ends = [ENDS.get(int(it.ended)) if it.finite else Outcome.NOT_FINITE for it in stepped(state)]
    pending = [end for end in ends if end is not Outcome.CERTIFIED]
    return (pending or ends or [None])[0]


def sample(state: Any) -> Any:
    """Give the number of the sample from which to compute the next gradient; may be traced.

    Args:
        state: The state of a ``sampled`` method or of ``escape``, perhaps inside a chain.

    Returns:
        The number; the same as before where the same sample is wanted again.
    """
    found = stepped(state)
    return found[0].sample if found else jnp.int32(0)
