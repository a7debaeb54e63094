"""One kernel, traced: the phases run unchanged inside ``jax.jit`` and take the same path."""

import numpy as np
import pytest

from tests.drive import trace
from tests.often import most_at_night
from unsaddle import landscapes
from unsaddle.core.phases import GRADIENT, VALUE
from unsaddle.methods.table import METHODS
from unsaddle.numpy.ops import ops as numpy_ops

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


OFTEN = ("ancgd",)  # the others at night, as tests/conformance compiles them all


@pytest.mark.parametrize("method", most_at_night(OFTEN, METHODS))
def test_a_whole_run_under_jit(method, monkeypatch):
    """All phases in one compiled loop end where NumPy ends, after as many queries."""
    from unsaddle.jax.loop import Oracle, Run, first_state, rest
    from unsaddle.jax.ops import ops as jax_ops

    f = landscapes.quartic()
    parameters = METHODS[method].from_theory(
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
        tol=1e-2,
        n=2,
        decrease_available=1.0,
    )
    solver = METHODS[method].solver
    drawn = jnp.array([numpy_ops.normal(np.zeros(2), 0, j) for j in range(50)])
    radii = jnp.array([numpy_ops.uniform(np.zeros(2), 0, j) for j in range(50)])
    monkeypatch.setattr(jax_ops, "normal", lambda like, seed, j: drawn[j])
    monkeypatch.setattr(jax_ops, "uniform", lambda like, seed, j: radii[j])

    @jax.custom_vjp
    def value(x):
        return f.value(x)

    value.defvjp(
        lambda x: (f.value(x), f.gradient(x)), lambda gradient, weight: (weight * gradient,)
    )

    @jax.jit
    def solve(x):
        state = first_state(solver, parameters, x, 0)
        return Run(solver.phases, parameters, Oracle(value, f.gradient)).drive(rest(state))

    ran = solve(jnp.zeros(2))
    start = solver.start(numpy_ops, parameters, np.zeros(2), 0)
    points, states = trace(solver, parameters, start, f)
    needs = [solver.phases[state.phase].needs for state in states if state.phase >= 0]
    assert int(ran.state.phase) == states[-1].phase
    assert len(points) == sum(need > 0 for need in needs)
    assert int(ran.values) == sum(need & VALUE > 0 for need in needs)
    assert int(ran.gradients) == sum(need & GRADIENT > 0 for need in needs)
    np.testing.assert_allclose(np.asarray(ran.state.x), states[-1].x, rtol=0, atol=1e-10)
