"""Bad input to the JAX front end is named before anything is compiled."""

import sys

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.jax as front  # noqa: E402
from tests.jax.test_jax import CONSTANTS, fun, start  # noqa: E402


class Unhashable:
    __hash__ = None

    def __call__(self, x):
        return 0.0


ITSELF: list[object] = []
ITSELF.append(ITSELF)

BAD = {
    "smoothness is missing.*or use 'auto'": lambda: front.minimize(
        fun, start(), method="ancgd", hessian_lipschitz=1.0
    ),
    "x0 is empty": lambda: front.minimize(fun, {}, **CONSTANTS),
    "stack real and imaginary": lambda: front.minimize(fun, jnp.ones(2) * 1j, **CONSTANTS),
    "jnp.float32, x0": lambda: front.minimize(fun, start(jnp.float16), **CONSTANTS),
    "did you mean 'ancgd'": lambda: front.minimize(fun, start(), **CONSTANTS | {"method": "anc"}),
    "max_gradient is unknown; did you mean 'max_gradients'": lambda: front.minimize(
        fun, start(), max_gradient=3
    ),
    "floating-point number, got bool": lambda: front.minimize(lambda x: x[0] > 0, jnp.ones(2)),
    "starts is of unsaddle.jax.minimize_many": lambda: front.minimize(fun, start(), starts=3),
    "jac is not needed": lambda: front.minimize(fun, start(), jac=jax.grad(fun)),
    "seed is seeds here": lambda: front.minimize_many(fun, jnp.ones((3, 2)), seed=3),
    "max_gradients must be a whole number": lambda: front.minimize(fun, start(), max_gradients=-1),
    "seed must be one whole number, not": lambda: front.minimize(
        fun, start(), seed=jax.random.key(0)
    ),
    "seed must be a whole number >= 0, at most 2147483647": lambda: front.minimize(
        fun, start(), seed=2**40
    ),
    "max_gradients must be one whole number": lambda: front.minimize_many(
        fun, jnp.ones((3, 2)), max_gradients=jnp.arange(3)
    ),
    "seed must be a whole number >= 0, got -1": lambda: front.minimize(fun, start(), seed=-1),
    "seeds must be whole numbers": lambda: front.minimize_many(
        fun, jnp.ones((1, 2)), seeds=[0.5, 1.5]
    ),
    "tol is compiled in": lambda: jax.jit(lambda tol: front.minimize(fun, start(), tol=tol))(0.1),
    "smoothness is compiled in": lambda: jax.jit(
        lambda l: front.certify(jax.grad(fun), start(), smoothness=l)  # noqa: E741
    )(1.0),
    "fun must be hashable": lambda: front.minimize(Unhashable(), start()),
    "tol=-1 was passed": lambda: front.minimize(fun, start(), tol=-1),
    r"one number, got shape \(2,\)": lambda: front.minimize(lambda x: x, jnp.ones(2)),
    "one number, got NoneType": lambda: front.minimize(lambda x: None, jnp.ones(2)),
    "fun must be callable, got ArrayImpl": lambda: front.minimize(jnp.ones(2), jnp.ones(2)),
    "x0 must be a tree of numbers, got 'abc'": lambda: front.minimize(fun, "abc"),
    r"shapes of x.*pass jax\.grad\(fun\)": lambda: front.certify(fun, start()),
    "jac is grad here": lambda: front.certify(jac=jax.grad(fun), x=start()),
    "args must be a tree of arrays, got one that contains itself": lambda: front.certify(
        jax.grad(fun), start(), ITSELF
    ),
    "windows": lambda: front.minimize(fun, start(), windows=3, **CONSTANTS),
    "stacked along a first axis": lambda: front.minimize_many(fun, {"x": 1.0}, **CONSTANTS),
    "one per start": lambda: front.minimize_many(
        fun, jnp.ones((3, 2)), seeds=jnp.arange(2), **CONSTANTS
    ),
    "curvature_tol=-1.0 was passed, expected": lambda: front.certify(
        jax.grad(fun), start(), curvature_tol=-1.0
    ),
    "failure_probability=2.0 was passed, expected a number in": lambda: front.certify(
        jax.grad(fun), start(), failure_probability=2.0
    ),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input(words):
    with pytest.raises((ValueError, TypeError), match=words):
        BAD[words]()


@pytest.mark.parametrize("inner", [{}, {"a": 1}, set()], ids=str)
def test_what_has_an_update_need_not_be_an_optimiser(inner):
    from unsaddle.optax import escape

    with pytest.raises(TypeError, match="inner must be an optax optimiser, got"):
        escape(inner)


def test_words_that_say_the_same_are_compiled_once(monkeypatch):
    """Another order, or None in place of nothing, is no other claim."""
    claims = []
    host = sys.modules["unsaddle.jax.certify"].host
    monkeypatch.setattr(host, "either", lambda here, traced, given, x: claims.append(given))
    grad, words = jax.grad(lambda x: (x**2).sum()), {"probe_radius": 1e-3, "smoothness": 2.0}
    for each in (words, dict(reversed(words.items())), {**words, "gradient_noise": None}):
        front.certify(grad, jnp.ones(2), **each)
    assert claims[1:] == claims[:1] * 2
