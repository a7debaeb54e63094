"""One block for the pairs of L-BFGS and for the basis of Lanczos, which are never needed at once.

A search ends the run or jumps, after which the descent starts anew, without pairs; and a search
begins without a basis. So what the one keeps is nothing to the other.
"""

from typing import Any

from unsaddle.core.kernel import Parameters
from unsaddle.escapes import krylov
from unsaddle.numpy.ops import NumpyOps, Vector, ops


class OneBlock(NumpyOps):
    """The operations with which a run begins: every block of vectors lies in the same place."""

    def __init__(self, like: Vector, places: int) -> None:
        """Set the place aside."""
        self.block = super().vectors(like, places)

    def vectors(self, x: Vector, count: int) -> Vector:
        """The first of these places, all zero; a vector alone has one of its own."""
        return self.block[:count] if count > 1 else super().vectors(x, count)


def room_for(parameters: Parameters, x: Vector) -> NumpyOps:
    """Give the operations that make the first state: with one block where pairs and basis meet."""
    descent, escape = parameters.descent, parameters.escape
    pairs: Any = getattr(descent, "pairs", 0)
    if not pairs or not isinstance(escape, krylov.Settings):
        return ops
    return OneBlock(x, max(2 * pairs, min(x.size + 1, escape.vectors)))
