"""Vectors as pytrees of jax arrays; every function is pure and traces under ``jax.jit``."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.custom_batching
import jax.numpy as jnp

Vector = Any
SIZES = 32, 128, 512  # of leading parts of a shelf

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


hold = keep


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


def key(seed: Any, first: Any) -> Any:
    """Give the key of the samples from a number on, independent of the noise."""
    return _key(seed, first, 2)


def _key(seed: Any, episode: Any, which: int) -> Any:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), episode), which)


def shelf(x: Vector, places: int) -> Vector:
    """Room for so many vectors like x, all zero."""
    return jax.tree.map(lambda leaf: jnp.zeros((places, *leaf.shape), leaf.dtype), x)


def put(shelf: Vector, i: Any, x: Vector) -> Vector:
    """The shelf with x in place i."""
    return jax.tree.map(lambda rows, leaf: rows.at[i].set(leaf.astype(rows.dtype)), shelf, x)


def pick(shelf: Vector, i: Any) -> Vector:
    """The vector in place i."""
    return jax.tree.map(lambda rows: rows[i], shelf)


def against(shelf: Vector, filled: Any, x: Vector) -> Any:
    """Inner products of x with the first vectors of a shelf, the other places zero."""

    def products(size: int, shelf: Vector, x: Vector) -> Any:
        parts = jax.tree.map(lambda u, v: jnp.tensordot(u[:size], v, v.ndim), shelf, x)
        return jnp.pad(sum(jax.tree.leaves(parts)), (0, places - size))

    places = len(jax.tree.leaves(shelf)[0])
    return _leading(_enough(places, filled, products, shelf, x), filled)


def mix(shelf: Vector, filled: Any, weights: Any) -> Vector:
    """Weighted sum of the first vectors of a shelf."""

    def mixed(size: int, shelf: Vector, weights: Any) -> Vector:
        return jax.tree.map(
            lambda u: jnp.tensordot(weights[:size], u[:size], 1).astype(u.dtype), shelf
        )

    return _enough(len(weights), filled, mixed, shelf, _leading(weights, filled))


def blank(like: Vector, places: int) -> Any:
    """Room for so many scalars, all zero."""
    return jnp.zeros(places, jnp.promote_types(_dtype(like), jnp.float32))


def record(row: Any, i: Any, a: Any) -> Any:
    """The row with a in place i."""
    return row.at[i].set(a)


def read(row: Any, i: Any) -> Any:
    """The scalar in place i."""
    return row[i]


def repeat(count: int, body: Callable[[Any, Any], Any], carry: Any) -> Any:
    """carry <- body(j, carry) for j = 0, ..., count - 1, in one loop."""
    return jax.lax.fori_loop(0, count, body, carry)


def ritz(diagonal: Any, beside: Any, filled: Any) -> tuple[Any, Any]:
    """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
    diagonal, beside = _leading(diagonal, filled), _leading(beside, filled)
    outside = 1 + 3 * jnp.max(jnp.abs(diagonal) + jnp.abs(beside))
    within = jnp.arange(len(diagonal)) < filled
    linked = jnp.where(within[1:], beside[:-1], 0)

    def lowest(size: int, diagonal: Any, linked: Any) -> tuple[Any, Any]:
        matrix = jnp.diag(diagonal[:size])
        above = jnp.diag(linked[: size - 1], 1)
        values, vectors = jnp.linalg.eigh(matrix + above + above.T)
        vector = vectors[:, 0] * jnp.where(vectors[0, 0] < 0, -1, 1)
        return values[0], jnp.pad(vector, (0, len(diagonal) - size))

    return _enough(len(diagonal), filled, lowest, jnp.where(within, diagonal, outside), linked)


def _leading(row: Any, filled: Any) -> Any:
    return jnp.where(jnp.arange(len(row)) < filled, row, 0)


def _enough(places: int, filled: Any, work: Callable[..., Any], *given: Any) -> Any:
    """Work on the least of a few sizes that covers what is filled, under vmap in all members."""
    sizes = [*(size for size in SIZES if size < places), places]
    which = sum((filled > size for size in sizes[:-1]), jnp.int32(0))

    @jax.custom_batching.custom_vmap
    def chosen(which: Any, *given: Any) -> Any:
        return jax.lax.switch(which, [partial(work, size) for size in sizes], *given)

    @chosen.def_vmap
    def together(members: int, batched: Any, which: Any, *given: Any) -> tuple[Any, Any]:
        def all_members(own: bool, u: Any) -> Any:
            return u if own else jnp.broadcast_to(u, (members, *jnp.shape(u)))

        given = jax.tree.map(all_members, tuple(batched[1:]), given)
        works = [jax.vmap(partial(work, size)) for size in sizes]  # not each of them, with a select
        found = jax.lax.switch(jnp.max(which), works, *given)
        return found, jax.tree.map(lambda leaf: True, found)

    return chosen(which, *given)
