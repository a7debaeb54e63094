"""Methods x landscapes x backends: given the same noise, the same queries in the same order."""

import numpy as np
import pytest

from tests.conformance.backends import run_jax, run_numpy, run_optax, run_torch
from unsaddle import landscapes

WIDE = {"radius": 1e-3}  # over a shorter one, rounding alone turns the direction by more than TOL
METHODS = {  # a new method joins here
    "auto": {"noise": 2.5e-7},  # which makes the radius as wide
    "pgd": WIDE,
    "pagd": WIDE,
    "pgd+nc": WIDE,
    "ancgd": WIDE,
    "neon": WIDE,
    "neon+": WIDE,
}
BACKENDS = {"torch": run_torch, "jax": run_jax, "optax": run_optax}  # a new backend here
LANDSCAPES = {"quartic": landscapes.quartic, "wells": lambda: landscapes.wells(n=128)}
LOOKS = 160  # the mirror symmetry of a saddle turns rounding into the side of a jump later on
TOL = 1e-12


def tilted_start(f):
    """A start near the saddle, off every axis of symmetry."""
    tilt = np.cos(np.arange(1, f.n + 1))
    return f.saddles[0] + 0.02 * tilt / np.linalg.norm(tilt)


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
        **METHODS[method],
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
