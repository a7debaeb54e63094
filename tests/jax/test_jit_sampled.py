"""The sampled kernels, traced: a whole run inside ``jax.jit`` takes the path that NumPy takes."""

import numpy as np
import pytest

from tests.paper.test_fidelity_sampled import TOL, settings
from tests.sampled import trace
from unsaddle import landscapes
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import UNCERTIFIED
from unsaddle.descents.sgd import sgd
from unsaddle.escapes.snc import snc
from unsaddle.numpy.ops import ops as numpy_ops

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def test_algorithm_8_under_jit(monkeypatch):
    from unsaddle.jax.loop import Oracle, Run, first_state, rest
    from unsaddle.jax.ops import ops as jax_ops

    with jax.enable_x64(True):
        f, solver = landscapes.quartic(), compose(sgd, snc)
        p = Parameters(0.75 * TOL, sgd.settings(1 / f.smoothness, 30), settings(f))
        table = jnp.array([numpy_ops.normal(np.zeros(2), 0, j) for j in range(400)])
        monkeypatch.setattr(jax_ops, "normal", lambda like, seed, j: table[j])

        def gradient_of(x, first):
            """Noise that is a function of the sample's number, and that the kernel must match."""
            return f.gradient(x) + 0.01 * jnp.sin(first + 2.0 * x)

        @jax.jit
        def solve(x):
            oracle = Oracle(gradient=gradient_of, draw=lambda seed, first, size: first)
            return Run(solver.phases, p, oracle).drive(rest(first_state(solver, p, x, 0)))

        x = np.array([1e-3, 2e-3])
        ran = solve(jnp.array(x))
        mine, states = trace(solver, p, solver.start(numpy_ops, p, x, 0), None, answer=gradient_of)
        assert int(ran.state.phase) == states[-1].phase == UNCERTIFIED
        assert int(ran.gradients) == sum(size for _, _, size in mine)
        assert len(mine) > 300
        assert int(ran.state.drawn) == states[-1].drawn
        np.testing.assert_allclose(np.asarray(ran.state.x), states[-1].x, rtol=0, atol=1e-10)
