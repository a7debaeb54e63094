"""Vectors as pytrees of jax arrays; every operation is pure and traces under ``jax.jit``."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jax
import jax.custom_batching
import jax.numpy as jnp

from unsaddle.core.ops import OWN_STREAM, Operations

Vector = Any  # a pytree of arrays, for which JAX has no type
Block = Vector  # with one dimension more, the first, in every leaf
Row = jax.Array
Scalar = jax.Array | float
C = TypeVar("C")
SIZES = 32, 128, 512  # of leading parts of a block: each is compiled, the least that covers is run


class JaxOps:
    """The operations of :class:`unsaddle.core.ops.Operations` on pytrees."""

    sqrt = staticmethod(jnp.sqrt)
    log = staticmethod(jnp.log)
    maximum = staticmethod(jnp.maximum)

    def dot(self, x: Vector, y: Vector) -> Scalar:
        """Inner product, summed over the leaves, in single precision at least."""
        return sum(
            jnp.vdot(u, v, preferred_element_type=jnp.promote_types(u.dtype, jnp.float32))
            for u, v in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True)
        )

    def norm(self, x: Vector) -> Scalar:
        """Euclidean length, of a vector or of a row."""
        return jnp.sqrt(self.dot(x, x))

    def axpy(self, a: Scalar, x: Vector, y: Vector) -> Vector:
        """y + a x."""
        return jax.tree.map(lambda u, v: (v + a * u).astype(v.dtype), x, y)

    def scale(self, a: Scalar, x: Vector) -> Vector:
        """a x; of a block too."""
        return jax.tree.map(lambda u: (a * u).astype(u.dtype), x)

    times = scale  # nothing is consumed here

    def add(self, x: Vector, a: Scalar, y: Vector) -> Vector:
        """x + a y."""
        return self.axpy(a, y, x)

    def copy(self, x: Vector) -> Vector:
        """x itself, which nobody can change."""
        return x

    def retain(self, gradient: Vector) -> Vector:
        """The gradient itself, which nobody can change."""
        return gradient

    def switch(self, condition: Scalar, x: Vector, y: Vector) -> Vector:
        """The vector x where the condition holds, else y."""
        return jax.tree.map(lambda u, v: jnp.where(condition, u, v), x, y)

    def where(self, condition: Scalar, a: Scalar, b: Scalar) -> jax.Array:
        """The scalar a where the condition holds, else b."""
        return jnp.where(condition, a, b)

    def noise(self, like: Vector, seed: Scalar, episode: Scalar) -> Vector:
        """Standard normal vector of like's shapes and precision, a function of (seed, episode)."""
        leaves, form = jax.tree.flatten(like)
        keys = jax.random.split(_key(seed, episode, 0), len(leaves))
        drawn = [
            jax.random.normal(key, leaf.shape, leaf.dtype)
            for key, leaf in zip(keys, leaves, strict=True)
        ]
        return jax.tree.unflatten(form, drawn)

    def uniform(self, like: Vector, seed: Scalar, episode: Scalar) -> Scalar:
        """Scalar in (0, 1), a function of (seed, episode), independent of the noise."""
        return 1 - jax.random.uniform(_key(seed, episode, 1), dtype=_dtype(like))

    def key(self, seed: Scalar, first: Scalar) -> jax.Array:
        """The key of the samples from a number on; an operation of this backend only."""
        return _key(seed, first, 2)

    def finite(self, x: Vector) -> jax.Array:
        """Whether all numbers of x are finite."""
        return jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(x)]).all()

    def size(self, x: Vector) -> int:
        """How many numbers x has."""
        return sum(leaf.size for leaf in jax.tree.leaves(x))

    def roundoff(self, x: Vector) -> float:
        """Unit roundoff of the coarsest precision in x."""
        return float(jnp.finfo(_dtype(x)).eps) / 2

    def tiny(self, x: Vector) -> float:
        """Smallest normal number of the coarsest precision in x."""
        return float(jnp.finfo(_dtype(x)).tiny)

    def vectors(self, x: Vector, count: int) -> Block:
        """A block of so many vectors like x, all zero."""
        return jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype), x)

    def set_vector(self, block: Block, i: Scalar, x: Vector) -> Block:
        """The block with x in place i."""
        return jax.tree.map(lambda rows, leaf: rows.at[i].set(leaf.astype(rows.dtype)), block, x)

    def get_vector(self, block: Block, i: Scalar) -> Vector:
        """The vector in place i."""
        return jax.tree.map(lambda rows: rows[i], block)

    def inner_products(self, block: Block, count: Scalar, x: Vector) -> Row:
        """Inner products of x with the first vectors of a block, zero in the other places."""

        def products(size: int, block: Block, x: Vector) -> Row:
            parts = jax.tree.map(lambda u, v: jnp.tensordot(u[:size], v, v.ndim), block, x)
            return jnp.pad(sum(jax.tree.leaves(parts)), (0, places - size))

        places = len(jax.tree.leaves(block)[0])
        return _leading(_enough(places, count, products, block, x), count)

    def combine(self, block: Block, count: Scalar, weights: Row) -> Vector:
        """Weighted sum of the first vectors of a block."""

        def combined(size: int, block: Block, weights: Row) -> Vector:
            return jax.tree.map(
                lambda u: jnp.tensordot(weights[:size], u[:size], 1).astype(u.dtype), block
            )

        return _enough(len(weights), count, combined, block, _leading(weights, count))

    def scalars(self, like: Vector, count: int) -> Row:
        """A row of so many scalars, all zero."""
        return jnp.zeros(count, jnp.promote_types(_dtype(like), jnp.float32))

    def set_scalar(self, row: Row, i: Scalar, a: Scalar) -> Row:
        """The row with a in place i."""
        return row.at[i].set(a)

    def get_scalar(self, row: Row, i: Any) -> jax.Array:
        """The scalar in place i."""
        return row[i]

    def repeat(self, count: int, body: Callable[[Any, C], C], carry: C) -> C:
        """carry <- body(j, carry) for j = 0, ..., count - 1, in one loop."""
        return jax.lax.fori_loop(0, count, body, carry)

    def tridiagonal_bound(self, diagonal: Row, offdiagonal: Row, count: Scalar) -> jax.Array:
        """Gershgorin's bound by the first rows of a tridiagonal matrix; zero without rows."""
        a, b = (jnp.abs(_leading(row, count)) for row in (diagonal, offdiagonal))
        return jnp.max(a + b + jnp.pad(b[:-1], (1, 0)))

    def ritz(self, diagonal: Row, offdiagonal: Row, count: Scalar) -> tuple[Scalar, Row]:
        """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
        diagonal, offdiagonal = _leading(diagonal, count), _leading(offdiagonal, count)
        outside = 1 + 3 * jnp.max(jnp.abs(diagonal) + jnp.abs(offdiagonal))
        within = jnp.arange(len(diagonal)) < count
        linked = jnp.where(within[1:], offdiagonal[:-1], 0)

        def lowest(size: int, diagonal: Row, linked: Row) -> tuple[Scalar, Row]:
            matrix = jnp.diag(diagonal[:size])
            above = jnp.diag(linked[: size - 1], 1)
            values, vectors = jnp.linalg.eigh(matrix + above + above.T)
            vector = vectors[:, 0] * jnp.where(vectors[0, 0] < 0, -1, 1)
            return values[0], jnp.pad(vector, (0, len(diagonal) - size))

        padded = jnp.where(within, diagonal, outside)
        value, vector = _enough(len(diagonal), count, lowest, padded, linked)
        finite = jnp.isfinite(outside)  # else LAPACK gives numbers that mean nothing
        return jnp.where(finite, value, jnp.nan), jnp.where(finite, vector, jnp.nan)


def _dtype(x: Vector) -> jnp.dtype:
    """Give the coarsest precision in x."""
    return max((leaf.dtype for leaf in jax.tree.leaves(x)), key=lambda d: jnp.finfo(d).eps)


def _key(seed: Any, episode: Any, which: int) -> jax.Array:
    own = jax.random.fold_in(jax.random.key(seed), OWN_STREAM)
    return jax.random.fold_in(jax.random.fold_in(own, episode), which)


def _leading(row: Row, count: Scalar) -> Row:
    return jnp.where(jnp.arange(len(row)) < count, row, 0)


def _enough(places: int, count: Scalar, work: Callable[..., Any], *given: Any) -> Any:
    """Work on the least of a few sizes that covers what is filled, under vmap in all members."""
    sizes = [*(size for size in SIZES if size < places), places]
    which = sum((count > size for size in sizes[:-1]), jnp.int32(0))

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


ops = JaxOps()
_conforms: Operations[Vector] = ops  # pyright reports an operation that is missing or misspelt
