"""The optax transformations: in a chain, under jit, with a value or a function for it."""

from functools import cache, partial
from pathlib import Path

import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.optax as front  # noqa: E402
from tests.often import most_at_night  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.core.phases import PhaseName  # noqa: E402
from unsaddle.jax.transform import stepped  # noqa: E402
from unsaddle.methods.table import METHODS, STOCHASTIC  # noqa: E402

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}


def fun(tree):
    x, y = tree["x"], tree["y"]
    return x @ x / 2 - (y**2).sum() / 2 + (y**4).sum() / 4


def start():
    return {"x": jnp.ones(2), "y": jnp.zeros(1)}


def test_every_method_is_a_function_and_on_the_page():
    functions = {name: it for name, it in vars(front).items() if isinstance(it, partial)}
    assert {it.args[0] for it in functions.values()} == {*METHODS, *STOCHASTIC}
    page = (Path(__file__).parents[2] / "docs" / "jax.md").read_text()
    assert all(name in page for name in functions)
    assert all(f"`{name}`" in page for name in METHODS)


ALL = {
    **{name: partial(front.method, name, **CONSTANTS, decrease_available=1.0) for name in METHODS},
    "escape": partial(front.escape, optax.adam(0.03), **CONSTANTS),
}
answer = jax.jit(jax.value_and_grad(fun))


@cache
def compiled(name):
    """A transformation and its update, compiled once for all tests."""
    tx = ALL[name]()
    return tx, updating(tx)


def updating(tx):
    """The update of a transformation, compiled, with all that an inner optimiser may want."""
    return jax.jit(
        lambda gradient, state, params, value: tx.update(
            gradient, state, params, value=value, grad=gradient, value_fn=fun
        )
    )


def run(tx, steps, until=lambda state: front.outcome(state) is not None, update=None):
    params, update = start(), update or updating(tx)
    state = tx.init(params)
    for _ in range(steps):
        value, gradient = answer(params)
        updates, state = update(gradient, state, params, value)
        params = optax.apply_updates(params, updates)
        if until(state):
            break
    if stepped(state) and hasattr(update, "_cache_size"):  # one of this package: compiled once
        assert update._cache_size() == 1
    return params, state


@pytest.mark.parametrize("name", most_at_night(["ancgd"], ["pgd+nc", "ancgd"]))
def test_it_leaves_the_saddle_within_a_chain(name):
    tx, update = compiled(name)
    last = optax.GradientTransformationExtraArgs(
        tx.init, lambda gradient, state, params, value: update(gradient, state, params, value)
    )
    tx = optax.chain(optax.clip_by_global_norm(100.0), last)
    params, state = run(tx, 2000, update=lambda *given: tx.update(*given[:3], value=given[3]))
    assert front.outcome(state) is Outcome.CERTIFIED
    assert abs(abs(float(params["y"][0])) - 1) < 0.02
    assert jnp.allclose(params["x"], front.iterate(state, params)["x"], rtol=0, atol=1e-6)


def test_the_iterate_is_not_the_probe():
    tx, update = compiled("ancgd")
    params, state = run(tx, 3, lambda state: False, update)
    assert not jnp.array_equal(front.iterate(state, params)["x"], params["x"])
    assert front.iterate(optax.sgd(0.1).init(params), params) is params


INNER = {"adam": optax.adam(0.03), "sgd": optax.sgd(0.1, momentum=0.9), "lbfgs": optax.lbfgs()}


def escape_around(inner):
    return front.escape(INNER[inner], **CONSTANTS)


@pytest.mark.parametrize("inner", most_at_night(["adam", "lbfgs"], INNER))
def test_escape_leaves_where_the_inner_optimiser_stays(inner):
    params, _ = run(optax.with_extra_args_support(INNER[inner]), 400)
    assert float(params["y"][0]) == 0.0
    tx, update = compiled("escape") if inner == "adam" else (escape_around(inner), None)
    params, state = run(tx, 800, update=update)
    assert front.outcome(state) is Outcome.CERTIFIED
    assert abs(abs(float(params["y"][0])) - 1) < 0.02


def test_a_value_function_alone_will_do():
    tx = front.pgd_nc(**CONSTANTS)
    params = start()
    state = tx.init(params)
    step = jax.jit(lambda p, s: tx.update(jax.grad(fun)(p), s, p, value_fn=fun))
    while front.outcome(state) is None:
        updates, state = step(params, state)
        params = optax.apply_updates(params, updates)
    assert abs(abs(float(params["y"][0])) - 1) < 0.02


@pytest.mark.parametrize(
    "name", most_at_night(["escape"], ["auto", "agd-auto", "escape", "ancgd", "neon+"])
)
def test_parameters_and_state_may_be_donated(name):
    """No two fields share a buffer, neither at first nor later, and none is the parameters'."""
    tx = ALL[name]()

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state):
        value, gradient = jax.value_and_grad(fun)(params)
        updates, state = tx.update(gradient, state, params, value=value)
        return optax.apply_updates(params, updates), state

    for init in (tx.init, jax.jit(tx.init)):
        params = start()
        state = init(params)
        for _ in range(40):
            params, state = step(params, state)
        assert jnp.isfinite(front.iterate(state, params)["x"]).all()


def spoilt(gradient):
    return {**gradient, "y": gradient["y"] + jnp.nan}


@jax.jit
def unchanged(before, after, move):
    """Whether a state is as it was, and the parameters stay."""
    pairs = jax.tree.map(lambda u, v: (u == v).all(), before.kernel, after.kernel)
    still = jax.tree.map(lambda u: ~u.any(), move)
    return jnp.array(jax.tree.leaves((pairs, still))).all()


@pytest.mark.parametrize("name", most_at_night(["ancgd", "escape"], ["pgd+nc", "ancgd", "escape"]))
def test_an_answer_that_is_not_finite_changes_nothing(name):
    """In every phase: the update is zero, the state as it was, and the run can go on."""
    (tx, update), refused = compiled(name), []
    params, state = start(), tx.init(start())
    while front.outcome(state) is not Outcome.CERTIFIED:
        value, gradient = answer(params)
        refused.append([])
        for slope, height in ((spoilt(gradient), value), (gradient, jnp.inf * value**0)):
            move, same = update(slope, state, params, height)
            refused[-1].append(not same.finite)
            assert same.finite or unchanged(state, same, move)
        move, state = update(gradient, state, params, value)
        params = optax.apply_updates(params, move)
    gradients, values = map(sum, zip(*refused, strict=True))
    assert 0.9 * len(refused) < gradients < len(refused)  # the others want a value only
    assert values >= 1
    assert abs(abs(float(params["y"][0])) - 1) < 0.02


def escaped(value, gradient, known):
    """Run until a search does not end in a jump."""
    tx = front.escape(optax.sgd(1e-3), patience=2, **known)
    params, state = jnp.zeros(2), tx.init(jnp.zeros(2))
    step = jax.jit(lambda p, s: tx.update(gradient(p), s, p, value=value(p)))
    while front.outcome(state) is None:
        updates, state = step(params, state)
        params = optax.apply_updates(params, updates)
    return front.outcome(state), front.iterate(state, params)


def test_a_jump_out_of_the_domain_is_shortened():
    """The first ones, half a unit long, leave |w| < 0.1; at last one pays, as on torch."""

    def walled(w):
        return 2.5 * (w[1] ** 2 - w[0] ** 2) - 0.001 * jnp.log(0.01 - w[0] ** 2)

    known = {"smoothness": 300.0, "hessian_lipschitz": 0.5, "curvature_tol": 1.0}
    with jax.enable_x64(True):
        outcome, w = escaped(walled, jax.grad(walled), known)
    assert outcome is Outcome.CERTIFIED
    assert 0 < abs(float(w[0])) < 0.1


def test_a_jump_that_never_pays_is_not_taken():
    """Gradients of a saddle, values of a bowl: every jump fails, and the parameters come back."""
    known = {"smoothness": 1.0, "hessian_lipschitz": 0.5}
    outcome, w = escaped(lambda w: w @ w, lambda w: w * jnp.array([1.0, -1.0]), known)
    assert outcome is Outcome.JUMP_FAILED
    assert not w.any()


def test_what_was_not_finite_is_said_and_wanted_again():
    given = {"stochastic_smoothness": 6.0, "variance": 0.01}
    tx = front.sgd_nc(**CONSTANTS, **given)
    update = jax.jit(lambda gradient, state: tx.update(gradient, state, start()))
    gradient = jax.grad(fun)(start())
    _, state = update(gradient, tx.init(start()))
    number = front.sample(state)
    assert number > 0
    move, state = update(spoilt(gradient), state)
    assert front.sample(state) == number
    assert front.outcome(state) is Outcome.NOT_FINITE
    assert not move["y"].any()
    _, state = update(gradient, state)
    assert front.outcome(state) is None
    assert front.sample(state) > number


@pytest.mark.parametrize(
    "injected", most_at_night([True], [False, True]), ids=["schedule", "hyperparams"]
)
def test_a_jump_resets_moments_but_no_schedule(injected):
    schedule = optax.exponential_decay(0.05, 1, 0.999)
    inner = optax.inject_hyperparams(optax.adam)(schedule) if injected else optax.adam(schedule)
    tx = front.escape(inner, **CONSTANTS, patience=1)
    counts, params, state = [], {"x": jnp.zeros(2), "y": jnp.zeros(1)}, None
    state = tx.init(params)
    update = jax.jit(lambda p, s: tx.update(jax.grad(fun)(p), s, p, value=fun(p)))
    for _ in range(120):
        move, state = update(params, state)
        params = optax.apply_updates(params, move)
        inner = state.kernel.descent.inner
        adam = (inner.inner_state if injected else inner)[0]
        counts.append((int(adam.count), int(inner.count if injected else inner[1].count)))
    moments, schedules = zip(*counts, strict=True)
    assert schedules == tuple(sorted(schedules))
    assert schedules[-1] >= moments[-1] > 10
    assert abs(float(params["y"][0])) > 0.5


def test_a_jump_in_the_middle_keeps_the_count():
    """Sixty steps to the saddle, and the schedule goes on from sixty."""
    tx = front.escape(optax.adam(optax.constant_schedule(0.03)), **CONSTANTS)
    _, state = run(tx, 300, until=lambda s: abs(float(s.kernel.x["y"][0])) > 0.3 and s.kernel.phase)
    adam, schedule = (part.count for part in state.kernel.descent.inner)
    assert int(adam) < 40 < 60 < int(schedule)


def test_several_methods_for_a_part_of_the_parameters_each():
    """The iterate is put together; the end is that of the one that has not ended."""
    sampled = {"stochastic_smoothness": 6.0, "variance": 0.01}
    parts = {"one": front.ancgd(**CONSTANTS), "two": front.psgd(**CONSTANTS, **sampled)}
    tx = optax.multi_transform(parts, {"x": "one", "y": "two"})
    params, state = run(tx, 2000, lambda state: any(int(it.ended) for it in stepped(state)))
    ends = {int(it.ended) for it in stepped(state)}
    assert ends == {0, PhaseName.CERTIFIED}
    assert front.outcome(state) is None
    point = front.iterate(state, params)
    assert point.keys() == params.keys()
    assert all(point[name].shape == params[name].shape for name in point)


@pytest.mark.nightly  # as one of several, above
def test_a_method_for_a_part_of_the_parameters_only():
    masked = optax.masked(front.ancgd(**CONSTANTS), {"x": True, "y": False})
    params, state = run(masked, 3, until=lambda state: False)
    point = front.iterate(state, params)
    assert point["y"] is params["y"]
    assert not jnp.array_equal(point["x"], params["x"])


def test_bad_input():
    for dtype, words in (("complex64", "stack real"), ("float16", "range"), ("int32", "floating")):
        with pytest.raises(TypeError, match=words):
            front.ancgd(**CONSTANTS).init(jnp.zeros(2, dtype))
        with pytest.raises(TypeError, match=words):
            front.escape(optax.sgd(0.1), **CONSTANTS).init(jnp.zeros(2, dtype))
    tx = front.ancgd(**CONSTANTS)
    state = tx.init(start())
    with pytest.raises(TypeError, match=r"value=.*value_fn="):
        tx.update(start(), state, start())
    with pytest.raises(TypeError, match=r"value must be a scalar, got one of shape \(1,\)"):
        tx.update(start(), state, start(), value=jnp.zeros(1))
    with pytest.raises(ValueError, match="params are missing"):
        tx.update(start(), state, value=0.0)
    with pytest.raises(TypeError, match="windows"):
        front.ancgd(**CONSTANTS, windows=3)
    with pytest.raises(TypeError, match=r"got str; pass escape\(optax\.adam"):
        front.escape("adam", **CONSTANTS)
    with pytest.raises(TypeError, match=r"learning_rate is step here"):
        front.ancgd(**CONSTANTS, learning_rate=0.1)
    with pytest.raises(ValueError, match="patience"):
        front.escape(optax.sgd(0.1), patience=0, **CONSTANTS)


minibatches = front.escape(optax.sgd(0.1), patience=4)


@jax.jit
def minibatch_step(params, state, count, by_number):
    """On the minibatch that is wanted, or on one of another number every time."""
    number = jnp.where(by_number, front.sample(state), count)
    slope = jax.random.normal(jax.random.fold_in(jax.random.key(0), number), (2,))
    batch = lambda params: fun(params) + slope @ params["x"]  # noqa: E731
    value, gradient = jax.value_and_grad(batch)(params)
    updates, state = minibatches.update(gradient, state, params, value=value)
    return optax.apply_updates(params, updates), state


@pytest.mark.parametrize("by_number", [True, False], ids=["sample(state)", "another every time"])
def test_escape_on_minibatches_searches_one_and_leaves(by_number):
    """Where the number of the minibatch is not heeded there is no search, and the outcome says so.

    The noise is along x: it does not lead away from the saddle.
    """
    params = start()
    state, ends = minibatches.init(params), set()
    for count in range(400):
        params, state = minibatch_step(params, state, count, by_number)
        ends.add(front.outcome(state))
    y = abs(float(front.iterate(state, params)["y"][0]))
    assert Outcome.CERTIFIED not in ends
    if by_number:
        assert abs(y - 1) < 0.02
    else:
        assert ends == {None, Outcome.UNRESOLVED}
        assert y == 0
