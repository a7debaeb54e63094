"""A deep linear network from zero, in JAX: all layers vanish, and so does the gradient."""

import jax
import jax.numpy as jnp

import unsaddle.jax

jax.config.update("jax_enable_x64", True)
keys = jax.random.split(jax.random.key(0), 2)
inputs = jax.random.normal(keys[0], (100, 4))
targets = inputs @ jax.random.normal(keys[1], (4, 4))


def loss(layers):
    """Mean squared error of the product of the layers."""
    first, second = layers["first"], layers["second"]
    return jnp.mean((inputs @ first @ second - targets) ** 2)


zero = {"first": jnp.zeros((4, 4)), "second": jnp.zeros((4, 4))}
print(f"gradient at zero: {jnp.abs(jax.grad(loss)(zero)['first']).max():.1g}")
solution = unsaddle.jax.minimize(loss, zero)
print(
    f"loss {loss(zero):.4f} at zero, {solution.fun:.4f} at the end, {solution.gradients} gradients"
)
print(solution.certificate)
