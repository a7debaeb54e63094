"""The JAX front end: pure, compiled once, batched, on pytrees, and honest about its end.

What a run promises is tried in both ways that it may go (``way``): on the host, and traced.
"""

import re
from itertools import product

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.jax as front  # noqa: E402
from tests.often import most_at_night  # noqa: E402
from unsaddle import Outcome, minimize  # noqa: E402
from unsaddle.methods.table import METHODS  # noqa: E402

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2, "method": "ancgd"}
GIVEN = {"smoothness": 3.0, "hessian_lipschitz": 9.0, "curvature_tol": 0.25}  # exact in float32
ONE = (1.0,)  # scale: with GIVEN one program for all tests
TRACES = []


def fun(tree, scale=1.0):
    """Half of x^2 - y^2, and y^4/4, times scale; notes that it is traced."""
    TRACES.append(1)
    x, y = tree["x"], tree["y"]
    return scale * (x @ x / 2 - (y**2).sum() / 2 + (y**4).sum() / 4)


slope = jax.grad(fun)  # made once, and compiled once for each of its settings


def start(dtype=None):
    return {"x": jnp.ones(2, dtype), "y": jnp.zeros(1, dtype)}


def minimum():
    return {"x": jnp.zeros(2), "y": jnp.ones(1)}


def value(x):
    return float(x[:2] @ x[:2] / 2 - x[2] ** 2 / 2 + x[2] ** 4 / 4)


def gradient(x):
    return np.append(x[:2], x[2] ** 3 - x[2])


@pytest.fixture(scope="module")
def solution():
    return front.minimize(fun, start(), **CONSTANTS)


def test_it_prints_as_a_result_of_numpy(solution):
    text = repr(solution)
    assert "outcome: Outcome.CERTIFIED" in text
    assert "certificate: certified: no curvature below" in text
    assert max(map(len, text.splitlines())) <= 100


def test_it_leaves_the_saddle_and_keeps_the_form_and_the_precision(solution):
    assert solution.outcome is Outcome.CERTIFIED
    assert bool(solution.success)
    assert solution.x.keys() == {"x", "y"}
    assert solution.x["y"].dtype == jnp.float32
    assert abs(abs(float(solution.x["y"][0])) - 1) < 0.02
    certificate = solution.verdict.certificate()
    assert certificate.holds
    assert certificate.curvature_tol == pytest.approx(0.3, rel=0.02)
    assert "practical" in certificate.note


def test_curvature_seen_for_sure_refutes_where_the_floor_was_raised():
    """Half of the raised floor, twice what single precision may hide; a fifth of that is hidden."""
    given = {"smoothness": 1.0, "hessian_lipschitz": 1e-3, "curvature_tol": 1e-3}
    spectrum = jnp.linspace(0.1, 1, 20)

    def bowl(x, low):
        return spectrum.at[0].set(low) * (x - 100)

    seen, hidden = (
        front.certify(bowl, jnp.full(20, 100.0), (low,), **given).certificate()
        for low in (-2.2e-3, -4.4e-4)
    )
    assert seen.holds is False
    assert seen.curvature_tol == pytest.approx(1e-3)
    assert hidden.holds
    assert hidden.curvature_tol == pytest.approx(0.0044, rel=0.02)
    assert hidden.failure_probability == 1e-3
    assert "raised from 0.001 to 0.0044" in hidden.note


@pytest.mark.usefixtures("way")
def test_no_second_trace_and_no_transfer():
    """The second call runs what the first compiled; the host asks for what it looks at."""
    arguments = jax.device_put((start(), 3, 10**6))
    front.minimize(fun, arguments[0], seed=arguments[1], max_gradients=arguments[2], **CONSTANTS)
    before = len(TRACES)
    with jax.transfer_guard("disallow"):
        again = front.minimize(
            fun, arguments[0], seed=arguments[1], max_gradients=arguments[2], **CONSTANTS
        )
        jax.block_until_ready(again)
    assert len(TRACES) == before


def mixed():
    return {"x": jnp.ones(2, jnp.bfloat16), "y": jnp.zeros(1)}


@pytest.mark.parametrize(
    "method", most_at_night(["auto", "pgd", "ancgd", "neon2", "fastcubic"], METHODS)
)
def test_no_method_returns_to_the_host(method):
    """A whole run is one program: the function stands in it three times, and no host is called.

    Nor does any warn of mixed and coarse precisions, as tracing would.
    """
    given = CONSTANTS | {"method": method, "decrease_available": 1.0}

    def marked(tree):
        return fun(tree) + jnp.sinh(tree["x"]).sum()

    traced = jax.make_jaxpr(lambda x: front.minimize(marked, x, **given), return_shape=True)
    program, shapes = traced(mixed())
    assert shapes.x["x"].dtype == jnp.bfloat16
    program = str(program)
    assert "callback" not in program
    assert program.count(" sinh ") == 3  # with its gradient, alone, and at the end


def test_single_and_double_precision_go_together():
    """Each leaf keeps its own; nothing warns of it, as tracing would."""
    with jax.enable_x64(True):
        x0 = {"x": jnp.ones(2, jnp.float64), "y": jnp.zeros((), jnp.float32)}
        found = jax.eval_shape(lambda x: front.minimize(fun, x, tol=1e-3), x0)
    assert (found.x["x"].dtype, found.x["y"].dtype) == (jnp.float64, jnp.float32)


@pytest.mark.parametrize("method", most_at_night(["pgd"], ["pgd", "pgd+nc"]))
def test_under_jit_in_double_precision_with_arguments(method):
    """The method's own test and the jump; a new argument does not recompile."""
    with jax.enable_x64(True):
        solve = jax.jit(
            lambda x, scale: front.minimize(
                fun, x, (scale,), decrease_available=1.0, **CONSTANTS | {"method": method}
            )
        )
        for scale in (1.0, 0.9):
            found = solve(start(), scale)
            assert found.x["y"].dtype == jnp.float64
            assert found.outcome is Outcome.CERTIFIED
            assert float(found.fun) == pytest.approx(-0.25 * scale, abs=1e-3)
        assert solve._cache_size() == 1


def test_auto_needs_no_constants_and_steps_back_from_infinity():
    """From the far side of a logarithm's domain."""

    def walled(tree):
        x, y = tree["x"], tree["y"]
        return x.sum() - jnp.log(x).sum() - (y**2).sum() / 2 + (y**4).sum() / 4

    found = front.minimize(walled, {"x": jnp.full(3, 0.1), "y": jnp.zeros(3)}, tol=1e-3)
    assert found.outcome is Outcome.CERTIFIED
    np.testing.assert_allclose(found.x["x"], 1.0, atol=1e-3)
    np.testing.assert_allclose(np.abs(found.x["y"]), 1.0, atol=1e-3)
    assert found.verdict.certificate().curvature == pytest.approx(1.0, abs=0.05)


@pytest.mark.usefixtures("way")
def test_a_budget_is_kept_as_on_numpy():
    """As many gradients, the same outcome; the iterate may be one step further."""
    for limit in (0, 1, 9):
        found = front.minimize(fun, start(), max_gradients=limit, **CONSTANTS)
        x0 = np.array([1, 1, 0], np.float32)
        expected = minimize(value, x0, jac=gradient, max_gradients=limit, **CONSTANTS)
        assert found.outcome is expected.outcome is Outcome.BUDGET
        assert int(found.gradients) == expected.njev == limit
        assert float(found.fun) <= expected.fun + 1e-6
        assert found.verdict.certificate().holds is None


@pytest.mark.usefixtures("way")
def test_a_function_that_is_not_finite():
    """The first step goes to where y^4 overflows: what is returned is finite, and no success."""
    found = front.minimize(fun, {"x": jnp.ones(2), "y": jnp.full(1, 1e5)}, **CONSTANTS)
    assert found.outcome is Outcome.NOT_FINITE
    assert not bool(found.success)
    assert all(np.isfinite(leaf).all() for leaf in found.x.values())
    assert np.isfinite(found.fun)


@pytest.fixture(scope="module")
def many():
    starts = jax.tree.map(lambda u: jnp.tile(u, (2000, 1)), start())
    return front.minimize_many(fun, starts, **CONSTANTS)


def test_many_seeds_at_once(many, solution):
    """2000 runs from one start: all certified, on both sides, and the first as if alone."""
    assert bool(many.all.success.all())
    sides = jnp.sign(many.all.x["y"][:, 0])
    assert 870 < int((sides > 0).sum()) < 1130  # fair coin: outside with probability 6e-9
    assert float(many.best.fun) == float(many.all.fun.min())
    np.testing.assert_allclose(many.all.x["y"][0], solution.x["y"], atol=1e-4)
    assert int(many.all.gradients[0]) == int(solution.gradients)


def test_one_start_is_used_for_all_seeds(many):
    one = front.minimize_many(
        fun, jax.tree.map(lambda u: u[None], start()), seeds=jnp.arange(2000), **CONSTANTS
    )
    np.testing.assert_array_equal(one.all.x["y"], many.all.x["y"])


@pytest.mark.parametrize("method", most_at_night(["lanczos"], ["anc", "nc", "lanczos"]))
def test_certify_under_vmap(method):
    """A saddle and two minima in one call."""
    points = {"x": jnp.zeros((3, 2)), "y": jnp.array([[0.0], [1.0], [-1.0]])}
    verdict = jax.jit(
        jax.vmap(
            lambda x: front.find_negative_curvature(slope, x, method=method, curvature_tol=0.2)
        )
    )(points)
    assert verdict.holds.tolist() == [0, 1, 1]
    assert abs(float(verdict.direction["y"][0, 0])) > 0.7
    assert not verdict.direction["y"][1:].any()
    assert verdict.failure_probability.tolist() == pytest.approx([0.0, 1e-3, 1e-3])


@pytest.mark.usefixtures("way")
def test_certify_with_given_constants_and_a_budget():
    assert front.certify(slope, minimum(), ONE, **GIVEN).certificate().holds
    short = front.certify(slope, minimum(), ONE, max_gradients=5, **GIVEN).certificate()
    assert short.holds is None
    assert short.gradients == 5
    assert short.failure_probability == 1.0


@pytest.mark.usefixtures("way")
def test_a_gradient_that_is_made_once_is_traced_once():
    holds = [front.certify(slope, start(), ONE, seed=0, **GIVEN).holds]
    before = len(TRACES)
    holds += [front.certify(slope, start(), (2.0,), seed=seed, **GIVEN).holds for seed in (1, 2)]
    assert len(TRACES) == before
    assert holds == [0, 0, 0]


def test_certify_tells_the_slope_and_why_it_is_undecided():
    """As on NumPy: the gradient's norm, whether x is stationary, and what was too noisy."""
    still = front.certify(slope, minimum(), curvature_tol=2.0).certificate()
    assert still.gradient_norm == 0
    assert "stationary" not in still.note
    sloping = front.certify(slope, {"x": jnp.ones(2), "y": jnp.ones(1)}, curvature_tol=2.0)
    assert float(sloping.gradient_norm) == pytest.approx(2**0.5)
    assert sloping.certificate().gradient_norm == pytest.approx(2**0.5)
    assert "The gradient's norm is 1.41: x is not stationary" in sloping.certificate().note
    short = front.certify(slope, minimum(), ONE, max_gradients=5, **GIVEN).certificate()
    assert short.note.startswith("The budget was spent before the search could decide.")
    coarse = jax.tree.map(jnp.bfloat16, minimum())
    blind = front.certify(slope, coarse, ONE, **GIVEN).certificate()
    assert blind.holds is None
    assert "no curvature above their own error" in blind.note
    assert blind.curvature_tol == 0.25  # as asked
    least = re.search("Curvature of less than (.+) cannot be told", blind.note)
    assert least
    assert float(least[1]) > 3.0


def test_constants_may_be_arrays_of_one_number():
    """They are compiled in, as Python numbers."""
    arrays = {name: jnp.float32(number) for name, number in GIVEN.items()}
    both = [front.certify(slope, minimum(), ONE, **given) for given in (GIVEN, arrays)]
    assert both[0].holds == both[1].holds == 1
    assert both[0].gradients == both[1].gradients
    smoothness = jnp.float32(CONSTANTS["smoothness"])
    assert front.minimize(fun, start(), **CONSTANTS | {"smoothness": smoothness}).success


WELLS = [(3.0, 0.03), (30.0, 0.3), (300.0, 0.03), (3000.0, 0.3)]


@pytest.mark.parametrize(
    ("method", "gamma"),
    most_at_night([("anc", None), ("nc", 0.1)], product(["anc", "nc"], [0.1, None])),
)
def test_a_narrow_well_far_away_is_no_floor(method, gamma):
    """The gradient is odd about the saddle, so that no third derivative shows how it bends."""

    def narrow(x, centre, width):
        z = x - centre
        return z.at[0].set(-z[0] + z[0] ** 3 / width**2)

    for far, width in WELLS:
        centre = jnp.zeros(20).at[1].set(far)
        for seed in range(3):
            claim = front.find_negative_curvature(
                narrow, centre, (centre, width), method, gamma, seed=seed
            )
            assert int(claim.holds) < 1 or float(claim.curvature_tol) > 1


@pytest.mark.nightly  # they are traced above, and run by certify
def test_mixed_and_coarse_precisions_are_kept():
    found = front.minimize(fun, mixed(), max_gradients=400, **CONSTANTS | {"tol": 0.05})
    assert found.x["x"].dtype == jnp.bfloat16
    assert found.x["y"].dtype == jnp.float32


def test_a_coarse_claim_is_called_weak():
    claim = front.certify(slope, minimum(), curvature_tol=2.0).certificate()
    assert claim.holds
    assert "It is weak: the largest curvature is only" in claim.note
