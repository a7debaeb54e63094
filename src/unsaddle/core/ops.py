"""What a kernel may do with vectors and scalars. Every backend has a class with these methods.

A vector is whatever the backend calls one (an ndarray, a pytree, a list of parameters); a scalar
is what ``dot`` returns. A *block* holds several vectors, a *row* several scalars.

*Consumes* means: after the call the kernel does not look at that argument again. That one promise
lets the same kernel update arrays in place on NumPy and PyTorch and stay pure under JAX.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

Scalar = Any  # a Python number on NumPy and torch, a traced array on JAX
Vector = Any  # kernels are written for every backend: each narrows this to its own
V = TypeVar("V")
OWN_STREAM = 0x756E7361  # in the entropy of all draws: no seed of a user's makes the same numbers


class Operations(Protocol[V]):
    """The operations, for vectors of type V."""

    def dot(self, x: V, y: V) -> Scalar:
        """Inner product: the only operation that needs all of a vector at once."""
        ...

    def norm(self, x: V) -> Scalar:
        """sqrt(dot(x, x)); of a row of scalars too."""
        ...

    def axpy(self, a: Scalar, x: V, y: V) -> V:
        """y + a x; consumes y, whose storage may become the result."""
        ...

    def scale(self, a: Scalar, x: V) -> V:
        """a x; consumes x."""
        ...

    def times(self, a: Scalar, x: V) -> V:
        """a x, as a new vector."""
        ...

    def add(self, x: V, a: Scalar, y: V) -> V:
        """x + a y, as a new vector."""
        ...

    def copy(self, x: V) -> V:
        """x, safe from whatever is done to x later."""
        ...

    def retain(self, gradient: V) -> V:
        """The gradient that an update was lent, to be kept past the next query."""
        ...

    def switch(self, condition: Scalar, x: Any, y: Any) -> Any:
        """x where the condition holds, else y; vectors, or records of scalars; consumes both."""
        ...

    def where(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """The scalar a where the condition holds, else b."""
        ...

    def sqrt(self, a: Scalar, /) -> Scalar:
        """Square root of a scalar."""
        ...

    def log(self, a: Scalar, /) -> Scalar:
        """Natural logarithm of a scalar."""
        ...

    def maximum(self, a: Scalar, b: Scalar, /) -> Scalar:
        """The larger of two scalars."""
        ...

    def normal(self, like: V, seed: Scalar, episode: Scalar) -> V:
        """Standard normal vector, a pure function of (seed, episode)."""
        ...

    def uniform(self, like: V, seed: Scalar, episode: Scalar) -> Scalar:
        """Scalar in (0, 1), a pure function of (seed, episode), independent of `normal`."""
        ...

    def finite(self, x: V) -> Scalar:
        """Whether all numbers of x are finite."""
        ...

    def size(self, x: V) -> int:
        """How many numbers x has."""
        ...

    def roundoff(self, x: V) -> float:
        """Unit roundoff of the coarsest precision in x."""
        ...

    def tiny(self, x: V) -> float:
        """Smallest normal number of that precision."""
        ...

    def vectors(self, x: V, count: int) -> V:
        """A block of so many vectors like x, all zero."""
        ...

    def places(self, block: V) -> int:
        """How many vectors a block has room for."""
        ...

    def set_vector(self, block: V, i: Scalar, x: V) -> V:
        """The block with x in place i; consumes the block."""
        ...

    def get_vector(self, block: V, i: Scalar) -> V:
        """The vector in place i, to be read only."""
        ...

    def inner_products(self, block: V, count: Scalar, x: V) -> Any:
        """Inner products of x with the first vectors of a block, as a row; zero in other places."""
        ...

    def combine(self, block: V, count: Scalar, weights: Any) -> V:
        """Sum of the first vectors of a block, weighted by a row, as a new vector."""
        ...

    def add_combined(self, y: V, block: V, count: Scalar, weights: Any) -> V:
        """y and the sum of the first vectors of a block, weighted by a row; consumes y."""
        ...

    def scalars(self, like: V, count: int) -> Any:
        """A row of so many scalars, all zero."""
        ...

    def set_scalar(self, row: Any, i: Scalar, a: Scalar) -> Any:
        """The row with a in place i; consumes the row."""
        ...

    def get_scalar(self, row: Any, i: Scalar) -> Scalar:
        """The scalar in place i."""
        ...

    def square(self, like: V, count: int) -> Any:
        """A matrix of so many rows and columns of scalars, all zero; ``dot`` is the product."""
        ...

    def product(self, a: Scalar, square: Any, row: Any, b: Scalar, plus: Any) -> Any:
        """a M row + b plus, as a new row, where M is a matrix or its ``.T``."""
        ...

    def set_lines(self, square: Any, i: Scalar, row: Any, j: Scalar, column: Any) -> Any:
        """The matrix with these numbers in row i, and then in column j; consumes it."""
        ...

    def repeat(self, count: int, body: Callable[[Any, Any], Any], carry: Any) -> Any:
        """carry <- body(j, carry) for j = 0, ..., count - 1."""
        ...

    def tridiagonal_bound(self, diagonal: Any, offdiagonal: Any, count: Scalar) -> Scalar:
        """Gershgorin's bound by the first rows, max |b_{i-1}| + |a_i| + |b_i|; zero if none."""
        ...

    def ritz(self, diagonal: Any, offdiagonal: Any, count: Scalar) -> tuple[Scalar, Any]:
        """Lowest eigenpair of the leading count x count tridiagonal matrix; first entry >= 0.

        Count is at least one; the vector is a row, zero from count on. Both are NaN unless the
        first count numbers of both rows are finite.
        """
        ...


Ops = Operations[Any]
