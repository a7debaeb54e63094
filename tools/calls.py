"""The six calls that ``walk.py`` walks; each function imports what it needs and gives the call."""

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], Any]


def value(x: Any) -> Any:
    """A saddle at 0, minima at (0, 1) and (0, -1)."""
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4


def gradient(x: np.ndarray) -> np.ndarray:
    """Give its gradient."""
    return np.array([x[0], x[1] ** 3 - x[1]])


def minimize() -> Call:
    """``unsaddle.minimize(f, [1, 0], jac=grad)``, by way of a saddle to a certified minimum."""
    import unsaddle

    return lambda: unsaddle.minimize(value, [1.0, 0.0], jac=gradient)


def certify() -> Call:
    """``unsaddle.certify(grad, [0, 1])``."""
    import unsaddle

    return lambda: unsaddle.certify(gradient, [0.0, 1.0])


def escape_step() -> Call:
    """300 steps of ``unsaddle.torch.Escape(Adam)``, from a saddle to a certificate."""
    import torch

    import unsaddle.torch

    x = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    opt = unsaddle.torch.Escape(torch.optim.Adam([x], lr=0.02))

    def closure() -> Any:
        opt.zero_grad()
        loss = value(x)
        loss.backward()
        return loss

    return lambda: [opt.step(closure) for _ in range(300)]


def jax_minimize() -> Call:
    """``unsaddle.jax.minimize(f, [1, 0])``: what the host drives, and what reads the result."""
    import jax.numpy as jnp

    import unsaddle.jax

    x = jnp.array([1.0, 0.0])
    return lambda: unsaddle.jax.minimize(value, x)


def optax_escape() -> Call:
    """One update of ``unsaddle.optax.escape(optax.adam(0.03))``: what JAX traces."""
    import jax
    import jax.numpy as jnp
    import optax

    import unsaddle.optax

    x, tx = jnp.array([1.0, 0.0]), unsaddle.optax.escape(optax.adam(0.03))
    state, (f, slope) = tx.init(x), jax.value_and_grad(value)(x)
    return lambda: jax.jit(tx.update)(slope, state, x, value=f)


def reproduce() -> Call:
    """``unsaddle reproduce fig1``: one figure of the paper, and the report."""
    from unsaddle.cli import main

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            main(["reproduce", "fig1", "--output", folder])

    return call


CALLS = {
    "minimize": minimize,
    "certify": certify,
    "Escape.step": escape_step,
    "jax.minimize": jax_minimize,
    "optax.escape": optax_escape,
    "reproduce fig1": reproduce,
}
