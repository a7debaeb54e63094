"""One block for the pairs of L-BFGS and for the basis of Lanczos, which are never needed at once.

A search ends the run or jumps, after which the descent starts anew, without pairs; and a search
begins without a basis. So what the one keeps is nothing to the other.
"""

import numpy as np

from unsaddle.core.kernel import State
from unsaddle.descents import curvature_pairs
from unsaddle.escapes import krylov


def shared(state: State) -> State:
    """Give a first state whose pairs and basis lie in the same place, if it has both."""
    descent, escape = state.descent, state.escape
    if not (isinstance(descent, curvature_pairs.Memory) and isinstance(escape, krylov.Memory)):
        return state
    pairs, vectors = descent.pairs.block, escape.basis.vectors
    block = np.zeros((max(len(pairs), len(vectors)), state.x.size), state.x.dtype)
    return state._replace(
        descent=descent._replace(pairs=descent.pairs._replace(block=block[: len(pairs)])),
        escape=escape._replace(basis=escape.basis._replace(vectors=block[: len(vectors)])),
    )
