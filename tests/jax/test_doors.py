"""Every method on many starts at once: all leave the saddle and end certified.

The other doors, ``minimize`` and optax, are tried with every method in ``tests/conformance``.
"""

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.jax  # noqa: E402
from tests.often import most_at_night  # noqa: E402
from unsaddle.methods.table import METHODS  # noqa: E402

KNOWN = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "decrease_available": 1.0}
OFTEN = ("agd-auto",)  # a vmapped program takes long to compile
NEEDED = {name: {word: KNOWN[word] for word in it.constants} for name, it in METHODS.items()}


def fun(x):
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4


@pytest.mark.parametrize("method", most_at_night(OFTEN, METHODS))
def test_many_starts_under_jit(method):
    def solve(starts):
        return unsaddle.jax.minimize_many(fun, starts, (), method, tol=1e-2, **NEEDED[method])

    found = jax.jit(solve)(jnp.array([[1.0, 0.0], [0.5, 0.0]]))
    assert found.all.success.all()
    assert abs(abs(float(found.best.x[1])) - 1) < 0.02


def test_the_auto_ones_need_nothing():
    assert {name for name, needed in NEEDED.items() if not needed} == {"auto", "agd-auto"}


def test_time_is_not_known_to_compiled_code():
    doors = unsaddle.jax.minimize, unsaddle.jax.minimize_many, unsaddle.jax.certify
    for door in doors:
        with pytest.raises(TypeError, match="max_seconds is not known here, as compiled code"):
            door(fun, jnp.ones((1, 2)), max_seconds=1)
