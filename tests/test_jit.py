"""One kernel, traced: the phases run unchanged inside ``jax.jit`` and take the same path."""

import numpy as np
import pytest

from unsaddle import landscapes
from unsaddle.kernel import NOTHING, VALUE
from unsaddle.methods import METHODS
from unsaddle.ops import numpy as numpy_ops

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("method", METHODS)
def test_a_whole_run_under_jit(method, monkeypatch):
    """All phases in one compiled loop end where NumPy ends, after as many looks."""
    from unsaddle.ops import jax as jax_ops

    f = landscapes.quartic()
    parameters = METHODS[method].from_theory(
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
        tol=1e-2,
        n=2,
        decrease_available=1.0,
    )
    solver = METHODS[method].solver
    codes = sorted(solver.phases)
    drawn = jnp.array([numpy_ops.noise(np.zeros(2), 0, j) for j in range(50)])
    radii = jnp.array([numpy_ops.uniform(np.zeros(2), 0, j) for j in range(50)])
    monkeypatch.setattr(jax_ops, "noise", lambda like, seed, j: drawn[j])
    monkeypatch.setattr(jax_ops, "uniform", lambda like, seed, j: radii[j])

    def look(phase):
        def step(carry):
            state, value, gradient, looks = carry
            if phase.needs != NOTHING:
                point = phase.at(jax_ops, parameters, state)
                value = f.value(point) if phase.needs & VALUE else value
                gradient = f.gradient(point) if phase.needs & ~VALUE else gradient
                looks = looks + 1
            after = phase.update(jax_ops, parameters, state, value, gradient)
            cast = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), after, state)
            return cast, value, gradient, looks

        return step

    @jax.jit
    def solve(x):
        state = jax.tree.map(jnp.asarray, solver.start(jax_ops, parameters, x, 0))
        branches = [look(solver.phases[code]) for code in codes]

        def body(carry):
            index = jnp.searchsorted(jnp.array(codes), carry[0].phase)
            return jax.lax.switch(index, branches, carry)

        start = (state, jnp.array(0.0), jnp.zeros(2), jnp.array(0))
        return jax.lax.while_loop(lambda carry: carry[0].phase >= 0, body, start)

    state, _, _, looks = solve(jnp.zeros(2))
    from tests.drive import trace

    points, states = trace(
        solver, parameters, solver.start(numpy_ops, parameters, np.zeros(2), 0), f
    )
    assert int(state.phase) == states[-1].phase
    assert int(looks) == len(points)
    np.testing.assert_allclose(np.asarray(state.x), states[-1].x, rtol=0, atol=1e-10)
