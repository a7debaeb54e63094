"""Methods x landscapes x backends: given the same noise, the same queries in the same order."""

import numpy as np
import pytest

from tests.conformance.backends import run_jax, run_numpy, run_optax, run_torch
from tests.drive import trace
from unsaddle import METHODS as METHODS_TABLE
from unsaddle import landscapes
from unsaddle.kernel import GRADIENT, NOTHING, VALUE
from unsaddle.ops import numpy as numpy_ops

METHODS = ("pgd", "pagd", "pgd+nc", "ancgd")  # a new method joins here
BACKENDS = {"torch": run_torch, "jax": run_jax, "optax": run_optax}  # a new backend here
LANDSCAPES = {"quartic": landscapes.quartic, "wells": lambda: landscapes.wells(n=4)}
LOOKS = 160  # the mirror symmetry of a saddle turns rounding into the side of a jump later on
TOL = 1e-12


def tilted_start(f):
    """A start near the saddle, off every axis of symmetry."""
    return f.saddles[0] + 0.02 * np.cos(np.arange(1, f.n + 1))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("landscape", LANDSCAPES)
@pytest.mark.parametrize("method", METHODS)
def test_same_queries(method, landscape, backend, monkeypatch):
    pytest.importorskip(backend)
    f = LANDSCAPES[landscape]()
    given = {
        "smoothness": f.smoothness,
        "hessian_lipschitz": f.hessian_lipschitz,
        "tol": 0.05,
        "decrease_available": 1.0,
        "radius": 1e-3,  # over a shorter one, rounding alone turns the direction by more than TOL
    }
    x = tilted_start(f)
    expected = run_numpy(method, f, x, given, LOOKS, monkeypatch)
    if backend == "torch":
        asked = run_torch(method, f, x, given, LOOKS, monkeypatch)
    else:
        import jax

        with jax.enable_x64(True):
            asked = BACKENDS[backend](method, f, x, given, LOOKS, monkeypatch)
    asked = asked[: len(expected)]
    assert asked.shape == expected.shape
    np.testing.assert_allclose(asked, expected, rtol=0, atol=TOL)


@pytest.mark.parametrize("landscape", LANDSCAPES)
def test_agd_auto_asks_the_same_with_the_vectors_of_torch(landscape, monkeypatch):
    """It has no constants that the front ends could give it, so the kernel is run by itself."""
    torch = pytest.importorskip("torch")
    from unsaddle.ops import torch as ops

    f, line = LANDSCAPES[landscape](), METHODS_TABLE["agd-auto"]
    parameters, x = line.from_theory(tol=1e-3, n=f.n), tilted_start(f)
    start = line.solver.start(numpy_ops, parameters, x.copy(), 0)
    expected, states = trace(line.solver, parameters, start, f, LOOKS)
    drawn = numpy_ops.noise
    monkeypatch.setattr(ops, "noise", lambda like, s, j: [torch.tensor(drawn(x, s, j))])
    state = line.solver.start(ops, parameters, [torch.tensor(x)], 0)
    asked, value, gradient = [], np.nan, [torch.zeros(f.n, dtype=torch.float64)]
    while state.phase >= 0 and len(asked) < LOOKS:
        at, needs, update, *_ = line.solver.phases[state.phase]
        if needs != NOTHING:
            point = at(ops, parameters, state)[0].clone()
            asked.append(point.numpy())
            value = float(f.value(point)) if needs & VALUE else value
            gradient = [f.gradient(point).clone()] if needs & GRADIENT else gradient
        state = update(ops, parameters, state, value, gradient)
    assert state.phase == states[-1].phase
    np.testing.assert_allclose(np.array(asked), expected, rtol=0, atol=TOL)
