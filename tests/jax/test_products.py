"""Exact products on JAX, by forward-over-reverse."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.jax as front  # noqa: E402
from unsaddle import Outcome  # noqa: E402


def fun(x: jax.Array, width: float = 1.0) -> jax.Array:
    """A saddle at zero whose one way down is a well of this width."""
    return x[1:] @ x[1:] / 2 + 1.08 * width**2 * jnp.cos(x[0] / width) + x[0] ** 2 / 2


slope = jax.grad(fun)
EXACT = {"hessp": True, "tol": 1e-3}  # one program


@pytest.mark.usefixtures("way")
def test_a_run_takes_products_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="unsaddle"):
        solution = front.minimize(fun, jnp.zeros(5), **EXACT)
    shown = solution.verdict.certificate()
    assert [record.getMessage() for record in caplog.records] == [str(shown)]
    assert solution.outcome is Outcome.CERTIFIED
    assert abs(float(solution.x[0])) > 0.3
    assert shown.exact
    assert int(solution.products) >= shown.products > 0
    assert "exact products" in str(shown)


@pytest.mark.usefixtures("way")
def test_a_well_narrower_than_any_probe_is_found_in_float32() -> None:
    """Far from the origin, where differences may be deceived."""
    x = jnp.full(50, 141.0, jnp.float32)

    def gradient(y: jax.Array) -> jax.Array:
        return slope(y - x, 1e-2)

    for seed in range(5):
        verdict = front.certify(gradient, x, curvature_tol=0.01, seed=seed, hessp=True)
        shown = verdict.certificate()
        assert shown.holds is False
        assert shown.gradients == 1
        np.testing.assert_allclose(shown.curvature, -0.08, atol=5e-2)


@pytest.mark.usefixtures("way")
def test_budget_and_words() -> None:
    solution = front.minimize(fun, jnp.zeros(5), max_gradients=3, **EXACT)
    assert solution.outcome is Outcome.BUDGET
    assert int(solution.gradients + solution.products) <= 3
    with pytest.raises(TypeError, match="hessp must be True or False"):
        front.minimize(fun, jnp.zeros(5), hessp=lambda x, p: p)  # type: ignore[arg-type]
