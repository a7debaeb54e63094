"""The sampled kernels, traced: a whole run inside ``jax.jit`` takes the path that NumPy takes."""

import numpy as np
import pytest

from tests.sampled import trace
from tests.test_fidelity_sampled import TOL, settings
from unsaddle import landscapes
from unsaddle.descents.sgd import sgd
from unsaddle.escapes.snc import snc
from unsaddle.kernel import GRADIENT, SAME, TESTED, Parameters, compose
from unsaddle.ops import numpy as numpy_ops

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def test_algorithm_8_under_jit(monkeypatch):
    from unsaddle.ops import jax as jax_ops

    with jax.enable_x64(True):
        f, solver = landscapes.quartic(), compose(sgd, snc)
        p = Parameters(0.75 * TOL, sgd.settings(1 / f.smoothness, 30), settings(f))
        table = jnp.array([numpy_ops.noise(np.zeros(2), 0, j) for j in range(400)])
        monkeypatch.setattr(jax_ops, "noise", lambda like, seed, j: table[j])
        codes = sorted(solver.phases)

        def gradient_of(x, first):
            """Noise that is a function of the sample's number, and that the kernel must match."""
            return f.gradient(x) + 0.01 * jnp.sin(first + 2.0 * x)

        def look(phase):
            def step(carry):
                state, gradient, looks = carry
                if phase.needs & GRADIENT:
                    many = phase.size(p)
                    drawn = state.drawn if phase.sample == SAME else state.drawn + many
                    state = state._replace(drawn=drawn)
                    gradient = gradient_of(phase.at(jax_ops, p, state), drawn - many)
                    looks = looks + 1
                after = phase.update(jax_ops, p, state, jnp.nan, gradient)
                cast = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), after, state)
                return cast, gradient, looks

            return step

        @jax.jit
        def solve(x):
            state = jax.tree.map(jnp.asarray, solver.start(jax_ops, p, x, 0))
            branches = [look(solver.phases[code]) for code in codes]

            def body(carry):
                index = jnp.searchsorted(jnp.array(codes), carry[0].phase)
                return jax.lax.switch(index, branches, carry)

            start = (state, jnp.zeros(2), jnp.array(0))
            return jax.lax.while_loop(lambda carry: carry[0].phase >= 0, body, start)

        x = np.array([1e-3, 2e-3])
        state, _, looks = solve(jnp.array(x))
        mine, states = trace(solver, p, solver.start(numpy_ops, p, x, 0), None, answer=gradient_of)
        assert int(state.phase) == states[-1].phase == TESTED
        assert int(looks) == len(mine) > 300
        assert int(state.drawn) == states[-1].drawn
        np.testing.assert_allclose(np.asarray(state.x), states[-1].x, rtol=0, atol=1e-10)
