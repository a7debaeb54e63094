"""Vectors as pytrees of jax arrays; every function is pure and traces under ``jax.jit``."""

from typing import Any

import jax
import jax.numpy as jnp

Vector = Any

sqrt = jnp.sqrt
log = jnp.log
maximum = jnp.maximum
where = jnp.where


def dot(x: Vector, y: Vector) -> Any:
    """Inner product, summed over the leaves, in single precision at least."""
    return sum(
        jnp.vdot(u, v, preferred_element_type=jnp.promote_types(u.dtype, jnp.float32))
        for u, v in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True)
    )


def norm(x: Vector) -> Any:
    """Euclidean length."""
    return jnp.sqrt(dot(x, x))


def axpy(a: Any, x: Vector, y: Vector) -> Vector:
    """y + a x."""
    return jax.tree.map(lambda u, v: (v + a * u).astype(v.dtype), x, y)


def scale(a: Any, x: Vector) -> Vector:
    """a x."""
    return jax.tree.map(lambda u: (a * u).astype(u.dtype), x)


times = scale


def add(x: Vector, a: Any, y: Vector) -> Vector:
    """x + a y."""
    return axpy(a, y, x)


def keep(x: Vector) -> Vector:
    """x itself, which nobody can change."""
    return x


def switch(condition: Any, x: Vector, y: Vector) -> Vector:
    """Choose the vector x where the condition holds, else y."""
    return jax.tree.map(lambda u, v: jnp.where(condition, u, v), x, y)


def noise(like: Vector, seed: Any, episode: Any) -> Vector:
    """Standard normal vector of like's shapes and precision, a function of (seed, episode)."""
    leaves, form = jax.tree.flatten(like)
    keys = jax.random.split(_key(seed, episode, 0), len(leaves))
    drawn = [
        jax.random.normal(key, leaf.shape, leaf.dtype)
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(form, drawn)


def uniform(like: Vector, seed: Any, episode: Any) -> Any:
    """Scalar in (0, 1), a function of (seed, episode), independent of the noise."""
    return 1 - jax.random.uniform(_key(seed, episode, 1), dtype=_dtype(like))


def size(x: Vector) -> int:
    """How many numbers x has."""
    return sum(leaf.size for leaf in jax.tree.leaves(x))


def roundoff(x: Vector) -> float:
    """Unit roundoff of the coarsest precision in x."""
    return float(jnp.finfo(_dtype(x)).eps) / 2


def tiny(x: Vector) -> float:
    """Smallest normal number of the coarsest precision in x."""
    return float(jnp.finfo(_dtype(x)).tiny)


def _dtype(x: Vector) -> Any:
    return max((leaf.dtype for leaf in jax.tree.leaves(x)), key=lambda d: jnp.finfo(d).eps)


def _key(seed: Any, episode: Any, which: int) -> Any:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), episode), which)
