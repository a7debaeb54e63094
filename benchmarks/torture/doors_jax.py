"""The public doors on JAX and in optax, each with a call that is in order."""

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import optax

import unsaddle.jax as front
import unsaddle.optax as transforms
from benchmarks.torture import nasty
from benchmarks.torture.doors import CONSTANTS, SAMPLED, Door

jax.config.update("jax_enable_x64", True)


COMPILED = (  # what is compiled when all arguments are checked
    ("unsaddle.jax.minimize", "_solve"),
    ("unsaddle.jax.minimize", "_solve_on_host"),
    ("unsaddle.jax.minimize", "_solve_many"),
    ("unsaddle.jax.certify", "_find"),
    ("unsaddle.jax.certify", "_find_on_host"),
    ("unsaddle.jax.stochastic", "_solve"),
)
UPDATES = 2  # of a transformation


class TakenError(Exception):
    """All arguments were checked, and taken."""


@contextlib.contextmanager
def nothing_compiled() -> Iterator[None]:
    """Let every door end where it would compile what it was given."""
    with contextlib.ExitStack() as stack:
        for module, name in COMPILED:
            place = importlib.import_module(module)
            stack.enter_context(patch.object(place, name, side_effect=TakenError))
        stack.enter_context(patch(f"{__name__}.UPDATES", 0))
        stack.enter_context(contextlib.suppress(TakenError))
        yield


def fun(x: Any, *more: Any) -> Any:
    """x^2/2 - y^2/2 + y^4/4; y is the last variable."""
    flat = jnp.ravel(jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(x)]))
    return flat[:-1] @ flat[:-1] / 2 - flat[-1] ** 2 / 2 + flat[-1] ** 4 / 4


gradient = jax.grad(fun)


def _updated(make: Any, **given: Any) -> None:
    """Make a transformation and take two updates."""
    params = jnp.array([1.0, 0.1])
    tx: Any = make(**given)
    state = tx.init(params)
    for _ in range(UPDATES):
        grad = gradient(params)
        updates, state = tx.update(grad, state, params, value=fun(params))
        params = optax.apply_updates(params, updates)


def _transformed(name: Any = "pgd+nc", **given: Any) -> None:
    _updated(transforms.method, name=name, **given)


def _sampled(name: Any = "psgd", **given: Any) -> None:
    _updated(transforms.sampled, name=name, **given)


def _escaping(inner: Any = None, **given: Any) -> None:
    _updated(transforms.escape, inner=optax.sgd(0.1) if inner is None else inner, **given)


def jax_doors() -> dict[str, Door]:
    """Give the doors on JAX and in optax."""
    start = {"fun": fun, "x0": np.array([1.0, 0.1]), "max_gradients": 20, "method": "pgd+nc"}
    many = {"fun": fun, "starts": np.array([[1.0, 0.1]]), "max_gradients": 20, "method": "pgd+nc"}
    search = {"grad": gradient, "x": np.array([0.0, 1.0]), "max_gradients": 20}
    rows = np.linspace(-1, 1, 9)
    drawn = {"fun": fun, "x0": np.array([1.0, 0.1]), "samples": rows, "max_samples": 20, **SAMPLED}
    words = ("tol", "curvature_tol", "failure_probability", "smoothness", "gradient_noise", "step")
    return {
        "jax.minimize": Door(front.minimize, start | CONSTANTS, ("step", "length")),
        "jax.minimize_many": Door(front.minimize_many, many | CONSTANTS),
        "jax.certify": Door(front.certify, search),
        "jax.find_negative_curvature": Door(front.find_negative_curvature, search),
        "jax.minimize_stochastic": Door(
            front.minimize_stochastic, {**drawn, "method": "psgd"}, ("batch", "radius")
        ),
        "optax.method": Door(_transformed, CONSTANTS, (*words, "seed")),
        "optax.sampled": Door(_sampled, SAMPLED, (*words, "seed", "batch", "preset")),
        "optax.escape": Door(_escaping, {}, ("patience", "reset", "seed", *words[:-1])),
    }


def values() -> dict[str, Any]:
    """Give the nasty values, and those that only JAX has."""
    return {
        **nasty.values(),
        "jnp of 1.5": jnp.array(1.5),
        "jnp of two": jnp.array([1.0, 2.0]),
        "jnp of none": jnp.zeros(0),
        "a key": jax.random.key(0),
        "a shape": jax.ShapeDtypeStruct((2,), jnp.float32),
    }
