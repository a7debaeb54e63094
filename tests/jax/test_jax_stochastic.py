"""``minimize_stochastic`` on JAX: pure, from keys or from data, certified over more than it saw."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.jax as front  # noqa: E402
from unsaddle import Outcome  # noqa: E402

CONSTANTS = {
    "smoothness": 3.0,
    "hessian_lipschitz": 6.0,
    "stochastic_smoothness": 4.0,
    "variance": 0.02,
    "tol": 0.1,
    "batch": 320,  # ten times the default: a gradient of 0.075 is then within tol, by 8 deviations
}
TRACES = []


def fun(tree, theta):
    """Half of x^2 - y^2, y^4/4 and <theta, (x, y)>; notes that it is traced."""
    TRACES.append(1)
    x, y = tree["x"], tree["y"]
    return x**2 / 2 - y**2 / 2 + y**4 / 4 + theta.mean(0) @ jnp.array([x, y])


def samples(key, size):
    return 0.1 * jax.random.normal(key, (size, 2))


def start():
    return {"x": jnp.array(0.0), "y": jnp.array(0.0)}


def solve(seed):
    return front.minimize_stochastic(fun, start(), samples, seed=seed, **CONSTANTS)


def test_from_keys_over_seeds_in_one_call():
    """Eight seeds: all certified by fresh samples."""
    many = jax.vmap(solve)(jnp.arange(8))
    assert many.success.all()
    np.testing.assert_allclose(np.abs(many.x["y"]), 1.0, atol=0.1)
    np.testing.assert_allclose(many.verdict.curvature_tol, (6 * 0.1) ** 0.5, rtol=1e-4)
    np.testing.assert_allclose(many.verdict.failure_probability, 1e-3, rtol=1e-4)


@pytest.mark.nightly  # each of the two is compiled in every run, by a test of its own
def test_a_run_of_a_batch_is_as_one_alone():
    many, alone = jax.vmap(solve)(jnp.arange(8)), [solve(seed).x["y"] for seed in (0, 1)]
    np.testing.assert_allclose(alone, many.x["y"][:2], atol=1e-2)


@pytest.mark.nightly  # every method is compiled in tests/conformance
@pytest.mark.parametrize("method", ["neon2-online", "spider+", "sharp-sgd"])
def test_the_other_methods_end_certified_too(method):
    """Four seeds in one call; the descent's batches are ten times the default, as above."""
    batches = {"spider+": {"first_batch": 640}, "sharp-sgd": {"batch": 3000}}.get(method, {})
    solve = lambda seed: front.minimize_stochastic(  # noqa: E731
        fun, start(), samples, method, seed=seed, **{**CONSTANTS, **batches}
    )
    many = jax.vmap(solve)(jnp.arange(4))
    assert many.success.all()
    np.testing.assert_allclose(np.abs(many.x["y"]), 1.0, atol=0.1)
    np.testing.assert_allclose(many.verdict.failure_probability, 1e-3, rtol=1e-4)


def test_from_data_the_certificate_is_over_all_of_it():
    """What is cut short by its budget is not traced again."""
    data = samples(jax.random.key(5), 400)
    found = front.minimize_stochastic(fun, start(), data, **CONSTANTS)
    assert found.outcome is Outcome.CERTIFIED
    assert float(found.fun) == pytest.approx(float(fun(found.x, data)), abs=1e-6)
    assert found.verdict.certificate().gradients % 400 == 0
    before, most = len(TRACES), int(found.gradients)
    for limit in (most - 1, most - int(found.verdict.gradients)):
        short = front.minimize_stochastic(fun, start(), data, max_samples=limit, **CONSTANTS)
        assert short.outcome is Outcome.BUDGET  # in the certificate
        assert short.verdict.certificate().holds is None
    assert len(TRACES) == before


def test_psgd_ends_with_its_budget():
    found = front.minimize_stochastic(
        fun, start(), samples, "psgd", max_samples=2000, radius=0.02, step=0.1,
        **{**CONSTANTS, "batch": 1},
    )  # fmt: skip
    assert found.outcome is Outcome.BUDGET
    assert int(found.gradients) == 2000
    assert abs(abs(float(found.x["y"])) - 1) < 0.3
    assert found.verdict.certificate().holds is None


BAD = {
    "max_samples is missing": lambda: front.minimize_stochastic(
        fun, start(), samples, "psgd", **CONSTANTS
    ),
    "minimize_stochastic": lambda: front.minimize(fun, start(), method="sgd+nc"),
    "variance is missing": lambda: front.minimize_stochastic(
        fun, start(), samples, **{k: v for k, v in CONSTANTS.items() if k != "variance"}
    ),
    "a batch of 500": lambda: front.minimize_stochastic(
        fun, start(), jnp.ones((400, 2)), **{**CONSTANTS, "batch": 500}
    ),
    "same number of rows": lambda: front.minimize_stochastic(
        fun, start(), (jnp.ones((4, 2)), jnp.ones(3)), **CONSTANTS
    ),
    "more than can be counted": lambda: front.minimize_stochastic(
        fun, start(), samples, preset="printed", decrease_available=1.0, **CONSTANTS
    ),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input(words):
    with pytest.raises((ValueError, TypeError), match=words):
        BAD[words]()
