"""The last pairs (s, y) of L-BFGS, and the direction that they give: by products of a tall matrix.

Source: Byrd, Nocedal & Schnabel (1994), Theorem 2.2. Let R be the upper triangle of S'Y, D its
diagonal, and c = s'y/y'y of the last pair. BFGS updates of c I by all pairs, oldest first, make

    H g = c (g - Y w) + S R^-T (D w - c Y'(g - Y w)),      w = R^-1 S'g.

Choices:

1. S and Y are one block A, pair i in the places 2i and 2i + 1, and R^-1 stands in the rows of Y and
   the columns of S of a matrix Q that is zero elsewhere. With a = A'g and G = A'A

       H g = c g - A (c w + (c (a - G w) - D w) Q),      w = Q a,

   which takes two products of A with a vector.
2. R^-1 is kept, not R. Without the oldest pair it is what it was, without a row and a column. A new
   pair adds the column -R^-1 S'y/s'y, and 1/s'y on the diagonal. So pairs stay in their places.
3. A'y is the change of A'g. So no more products are needed; G has the rows and columns of Y only.
4. Both s and y point back, from the new point to the old: they are made where d and g were.
5. A pair whose s'y is not positive has no part in H: its row and column of R^-1 are zero.
"""

from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.records import new


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    pairs: int = 20  # (s, y), 3 to 50: tier 1 takes fewest gradients with it
    fewer: int = 10  # where vectors are long, 3 to 50: as L-BFGS-B has, in time and in memory
    numbers: int = 2**20  # of all s, 10^5 and up: so many stay in a processor's cache


TUNING = Tuning()
PAIRS = TUNING.pairs


class Pairs(NamedTuple):
    """The last pairs, and their products."""

    block: Vector  # A: s_0, y_0, s_1, y_1, ...
    inverse: Vector  # Q, a matrix
    products: Vector  # G, a matrix
    diagonal: Vector  # D, a row
    along: Vector  # a, a row
    scale: Scalar  # c
    count: Scalar  # pairs so far


def pairs_for(n: int) -> int:
    """How many pairs are kept at most."""
    return min(TUNING.pairs, max(TUNING.fewer, TUNING.numbers // n))


def forget(ops: Ops, x: Vector, block: Vector, places: int) -> Pairs:
    """Begin without pairs, in the room that there is."""
    matrices = (ops.square(x, places) for _ in range(2))
    rows = (ops.scalars(x, places) for _ in range(2))
    return Pairs(block, *matrices, *rows, scale=0.0, count=0)


def filled(ops: Ops, count: Scalar, places: int) -> Scalar:
    """How many places so many pairs take."""
    return ops.where(2 * count < places, 2 * count, places)


def add(
    ops: Ops, pairs: Pairs, step: Vector, bend: Vector, square: Scalar, gradient: Vector
) -> Pairs:
    """Put s and y, whose y'y is known, in the place of the oldest pair, and go on to g."""
    block, inverse, products, diagonal, before, scale, count = pairs
    places, product = len(before), ops.dot(step, bend)
    s, y = 2 * count % places, 2 * count % places + 1
    positive = (product > 0) & (square > 0)
    over = ops.where(positive, 1 / ops.where(positive, product, 1.0), 0.0)
    block = ops.set_vector(ops.set_vector(block, s, step), y, bend)
    along = ops.inner_products(block, filled(ops, count + 1, places), gradient)
    change = ops.set_scalar(before - along, s, 0.0)  # A'y, and y points back
    column = ops.set_scalar(ops.product(-over, inverse, change, 0.0, change), y, over)
    change = ops.set_scalar(change, y, square)
    return new(Pairs, (
        block,
        ops.set_lines(inverse, y, 0.0, s, column),
        ops.set_lines(products, y, change, y, change),
        ops.set_scalar(diagonal, y, product),
        along,
        ops.where(positive, product / ops.where(positive, square, 1.0), scale),
        count + 1,
    ))  # fmt: skip


def direction(ops: Ops, pairs: Pairs, gradient: Vector) -> Vector:
    """-H g."""
    block, inverse, products, diagonal, along, c, count = pairs
    w = inverse.dot(along)
    rest = ops.product(-c, products, w, c, along) - diagonal * w
    weights = ops.product(1.0, inverse.T, rest, c, w)
    places = filled(ops, count, len(along))
    return ops.add_combined(ops.times(-c, gradient), block, places, weights)
