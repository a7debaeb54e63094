"""Vectors as pytrees of jax arrays; every operation is pure and traces under ``jax.jit``."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.custom_batching
import jax.numpy as jnp
from jax.core import Tracer
from jax.sharding import NamedSharding, PartitionSpec

from unsaddle.core.ops import OWN_STREAM, Operations

Vector = Any  # a pytree of arrays, for which JAX has no type
Block = Vector  # with one dimension more, the first, in every leaf
Row = jax.Array
Scalar = jax.Array | float
C = TypeVar("C")


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    sizes: tuple[int, ...] = (32, 128, 512)  # vectors, each below the next: of leading parts of a
    # block, each of which is compiled; the least that covers what is filled is run
    digits: int = 6  # binary, 1 to 10: of an eigenvalue, that a pass over T with 2^6 shifts gains
    iterations: int = 3  # solves, 2 to 5: of inverse iteration; mostly as many as LAPACK's stein


TUNING = Tuning()


class JaxOps:
    """The operations of :class:`unsaddle.core.ops.Operations` on pytrees."""

    sqrt = staticmethod(jnp.sqrt)
    log = staticmethod(jnp.log)
    maximum = staticmethod(jnp.maximum)

    def dot(self, x: Vector, y: Vector) -> Scalar:
        """Inner product, summed over the leaves, in single precision at least."""
        return sum(
            jnp.tensordot(  # not vdot: flat, what is spread over devices would be gathered
                u, v, u.ndim, preferred_element_type=jnp.promote_types(u.dtype, jnp.float32)
            )
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

    def switch(self, condition: Scalar, x: Any, y: Any) -> Any:
        """The vector or record x where the condition holds, else y."""
        return jax.tree.map(lambda u, v: jnp.where(condition, u, v), x, y)

    def where(self, condition: Scalar, a: Scalar, b: Scalar) -> jax.Array:
        """The scalar a where the condition holds, else b."""
        return jnp.where(condition, a, b)

    def normal(self, like: Vector, seed: Scalar, episode: Scalar) -> Vector:
        """Standard normal vector of like's shapes and precision, a function of (seed, episode)."""
        leaves, form = jax.tree.flatten(like)
        keys = jax.random.split(_key(seed, episode, 0), len(leaves))
        drawn = [
            jax.random.normal(key, leaf.shape, leaf.dtype)
            for key, leaf in zip(keys, leaves, strict=True)
        ]
        return jax.tree.unflatten(form, drawn)

    def uniform(self, like: Vector, seed: Scalar, episode: Scalar) -> Scalar:
        """Scalar in (0, 1), a function of (seed, episode), independent of `normal`."""
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
        return jax.tree.map(partial(_zeros, count), x)

    def places(self, block: Block) -> int:
        """How many vectors a block has room for."""
        return len(jax.tree.leaves(block)[0])

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

        weights = _leading(weights, count)[: self.places(block)]
        return _enough(len(weights), count, combined, block, weights)

    def add_combined(self, y: Vector, block: Block, count: Scalar, weights: Row) -> Vector:
        """y and the weighted sum of the first vectors of a block."""
        return self.axpy(1.0, self.combine(block, count, weights), y)

    def scalars(self, like: Vector, count: int) -> Row:
        """A row of so many scalars, all zero."""
        return jnp.zeros(count, jnp.promote_types(_dtype(like), jnp.float32))

    def set_scalar(self, row: Row, i: Scalar, a: Scalar) -> Row:
        """The row with a in place i."""
        return row.at[i].set(jnp.asarray(a, row.dtype))

    def get_scalar(self, row: Row, i: Any) -> jax.Array:
        """The scalar in place i."""
        return row[i]

    def square(self, like: Vector, count: int) -> Row:
        """A matrix of so many rows and columns of scalars, all zero."""
        return jnp.zeros((count, count), self.scalars(like, 0).dtype)

    def product(self, a: Scalar, square: Row, row: Row, b: Scalar, plus: Row) -> Row:
        """a M row + b plus."""
        return a * square.dot(row) + b * plus

    def set_lines(self, square: Row, i: Any, row: Row | float, j: Any, column: Row) -> Row:
        """The matrix with these numbers in row i, and then in column j."""
        row, column = cast((row, column), (square, square))
        return square.at[i].set(row).at[:, j].set(column)

    def repeat(self, count: int, body: Callable[[Any, C], C], carry: C) -> C:
        """carry <- body(j, carry) for j = 0, ..., count - 1, in one loop."""
        return jax.lax.fori_loop(0, count, lambda j, now: cast(body(j, now), now), carry)

    def tridiagonal_bound(self, diagonal: Row, offdiagonal: Row, count: Scalar) -> jax.Array:
        """Gershgorin's bound by the first rows of a tridiagonal matrix; zero without rows."""
        a, b = (jnp.abs(_leading(row, count)) for row in (diagonal, offdiagonal))
        return jnp.max(a + b + jnp.pad(b[:-1], (1, 0)))

    def ritz(self, diagonal: Row, offdiagonal: Row, count: Scalar) -> tuple[Scalar, Row]:
        """Lowest eigenpair of the leading part of a tridiagonal matrix, the vector's first >= 0."""
        a, b = _leading(diagonal, count), _leading(offdiagonal, count)
        spread = jnp.max(jnp.abs(a)) + 2 * jnp.max(jnp.abs(b))
        value = _lowest(diagonal, offdiagonal, count, spread)
        vector = _inverse_iteration(diagonal, offdiagonal, count, value, spread)
        square, coupled = vector * vector, 2 * jnp.sum((b * vector)[:-1] * vector[1:])
        value = (jnp.sum(a * square) + coupled) / jnp.sum(square)  # to the last digit
        finite = jnp.isfinite(spread)  # else these are numbers that mean nothing
        return jnp.where(finite, value, jnp.nan), jnp.where(finite, vector, jnp.nan)


def _zeros(count: int, leaf: jax.Array) -> jax.Array:
    """Stacked zeros, spread over devices as the leaf is; when tracing, the compiler sees to it."""
    known = None if isinstance(leaf, Tracer) else leaf.sharding
    spread = isinstance(known, NamedSharding)
    device = NamedSharding(known.mesh, PartitionSpec(None, *known.spec)) if spread else None
    return jnp.zeros((count, *leaf.shape), leaf.dtype, device=device)


def cast(tree: Any, like: Any) -> Any:
    """Give a tree in the precisions of another."""
    same = lambda new, old: new if new is old else jnp.asarray(new, old.dtype)  # noqa: E731
    return jax.tree.map(same, tree, like)


def _dtype(x: Vector) -> jnp.dtype:
    """Give the coarsest precision in x."""
    return max((leaf.dtype for leaf in jax.tree.leaves(x)), key=lambda d: jnp.finfo(d).eps)


def _key(seed: Any, episode: Any, which: int) -> jax.Array:
    """Fold the words of a stream into a key, one by one: in a loop, which is compiled once."""
    words = jnp.stack([jnp.asarray(it).astype(jnp.uint32) for it in (OWN_STREAM, episode, which)])
    first = jax.random.key(seed)
    return jax.lax.fori_loop(0, 3, lambda i, key: jax.random.fold_in(key, words[i]), first)


def _lowest(diagonal: Row, offdiagonal: Row, count: Scalar, spread: Scalar) -> Scalar:
    """Lowest eigenvalue by sections: above it a pivot of T - shift I is not positive."""
    sections = 2**TUNING.digits
    shares = jnp.arange(1, sections).astype(diagonal.dtype) / sections

    def narrow(_: Any, ends: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        low, high = ends
        shifts = low + (high - low) * shares
        first = jnp.full_like(shifts, jnp.inf), jnp.zeros(shifts.shape, bool)

        def row(k: Any, now: tuple[Row, Row]) -> tuple[Row, Row]:
            pivot, above = now
            b = jnp.where(k > 0, offdiagonal[k - 1], 0)
            pivot = diagonal[k] - shifts - b * (b / pivot)
            return jnp.where(above, 1, pivot), above | (pivot <= 0)

        _, above = jax.lax.fori_loop(0, count, row, first)
        return (
            jnp.max(jnp.where(above, low, shifts), initial=-jnp.inf),
            jnp.min(jnp.where(above, shifts, high), initial=jnp.inf),
        )

    digits = jnp.finfo(diagonal.dtype).nmant + 2
    return jax.lax.fori_loop(0, -(-digits // TUNING.digits), narrow, (-spread, spread))[0]


def _inverse_iteration(
    diagonal: Row, offdiagonal: Row, count: Scalar, value: Scalar, spread: Scalar
) -> Row:
    """Lowest eigenvector, whose signs alternate as those of the first guess do."""
    least = spread * jnp.finfo(diagonal.dtype).eps / 4
    places = jnp.arange(len(diagonal))

    def solved(_: Any, vector: Row) -> Row:
        def forth(k: Any, now: tuple[Row, Row]) -> tuple[Row, Row]:
            pivots, vector = now
            weight = jnp.where(k > 0, offdiagonal[k - 1] / pivots[k - 1], 0)
            pivot = diagonal[k] - value - jnp.where(k > 0, offdiagonal[k - 1] * weight, 0)
            pivots = pivots.at[k].set(jnp.maximum(pivot, least))
            return pivots, vector.at[k].add(-weight * vector[k - 1])

        def back(j: Any, vector: Row) -> Row:
            k = count - 1 - j
            ahead = jnp.where(j > 0, offdiagonal[k] * vector[k + 1], 0)
            return vector.at[k].set((vector[k] - ahead) / pivots[k])

        pivots, vector = jax.lax.fori_loop(0, count, forth, (jnp.ones_like(vector), vector))
        vector = jax.lax.fori_loop(0, count, back, vector)
        return vector / jnp.linalg.norm(vector)

    guess = _leading(jnp.where(places % 2 == 0, 1.0, -1.0).astype(diagonal.dtype), count)
    return jax.lax.fori_loop(0, TUNING.iterations, solved, guess)


def _leading(row: Row, count: Scalar) -> Row:
    return jnp.where(jnp.arange(len(row)) < count, row, 0)


def _enough(places: int, count: Scalar, work: Callable[..., Any], *given: Any) -> Any:
    """Work on the least of a few sizes that covers what is filled, under vmap in all members."""
    sizes = [*(size for size in TUNING.sizes if size < places), places]
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
