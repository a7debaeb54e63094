"""The optax transformations: in a chain, under jit, with a value or a function for it."""

from functools import partial
from pathlib import Path

import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.optax as front  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.methods import METHODS, STOCHASTIC  # noqa: E402

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}


def fun(tree):
    x, y = tree["x"], tree["y"]
    return x @ x / 2 - (y**2).sum() / 2 + (y**4).sum() / 4


def start():
    return {"x": jnp.ones(2), "y": jnp.zeros(1)}


def test_every_method_is_a_function_and_on_the_page():
    functions = {name: it for name, it in vars(front).items() if isinstance(it, partial)}
    assert {it.args[0] for it in functions.values()} == {*METHODS, *STOCHASTIC}
    page = (Path(__file__).parents[1] / "docs" / "jax.md").read_text()
    assert all(name in page for name in functions)
    assert all(f"`{name}`" in page for name in METHODS)


def run(tx, steps, until=lambda state: front.outcome(state) is not None):
    params = start()
    state = tx.init(params)

    @jax.jit
    def step(params, state):
        value, gradient = jax.value_and_grad(fun)(params)
        updates, state = tx.update(
            gradient, state, params, value=value, grad=gradient, value_fn=fun
        )
        return optax.apply_updates(params, updates), state

    for _ in range(steps):
        params, state = step(params, state)
        if until(state):
            break
    if front.iterate(state, None) is not None:  # one of this package: compiled once
        assert step._cache_size() == 1
    return params, state


@pytest.mark.parametrize("method", [front.pgd_nc, front.ancgd], ids=["pgd+nc", "ancgd"])
def test_it_leaves_the_saddle_within_a_chain(method):
    tx = optax.chain(optax.clip_by_global_norm(100.0), method(**CONSTANTS))
    params, state = run(tx, 2000)
    assert front.outcome(state) is Outcome.CERTIFIED
    assert abs(abs(float(params["y"][0])) - 1) < 0.02
    assert jnp.allclose(params["x"], front.iterate(state, params)["x"], rtol=0, atol=1e-6)


def test_the_iterate_is_not_the_probe():
    params, state = run(front.ancgd(**CONSTANTS), 3, until=lambda state: False)
    assert not jnp.array_equal(front.iterate(state, params)["x"], params["x"])
    assert front.iterate(optax.sgd(0.1).init(params), params) is params


INNER = {"adam": optax.adam(0.03), "sgd": optax.sgd(0.1, momentum=0.9), "lbfgs": optax.lbfgs()}


@pytest.mark.parametrize("inner", INNER)
def test_escape_leaves_where_the_inner_optimiser_stays(inner):
    params, _ = run(optax.with_extra_args_support(INNER[inner]), 400)
    assert float(params["y"][0]) == 0.0
    params, state = run(front.escape(INNER[inner], **CONSTANTS), 800)
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


def test_bad_input():
    tx = front.ancgd(**CONSTANTS)
    state = tx.init(start())
    with pytest.raises(TypeError, match=r"value=.*value_fn="):
        tx.update(start(), state, start())
    with pytest.raises(ValueError, match="params are missing"):
        tx.update(start(), state, value=0.0)
    with pytest.raises(TypeError, match="windows"):
        front.ancgd(**CONSTANTS, windows=3)
    with pytest.raises(ValueError, match="patience"):
        front.escape(optax.sgd(0.1), patience=0, **CONSTANTS)
