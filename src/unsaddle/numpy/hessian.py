"""SciPy's ``hess`` as products: the Hessian is computed once for each point that is searched."""

from collections.abc import Callable
from typing import Any

import numpy as np

from unsaddle.methods.checks import shown


def products_of(hess: Any) -> Callable[..., Any] | None:
    """Give hess(x, *args) as hessp(x, p, *args); None where it is no function, but a scheme."""
    if not callable(hess):
        return None
    last: list[Any] = [None, None]

    def product(x: np.ndarray, p: np.ndarray, *args: Any) -> Any:
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = x.copy(), _checked(hess(x, *args), x.size)
        return last[1] @ p  # a dense or sparse matrix, or a LinearOperator

    return product


def _checked(matrix: Any, n: int) -> Any:
    """Check what hess returned: anything of the right shape that can be multiplied."""
    given = matrix if hasattr(matrix, "shape") else np.asarray(matrix)
    if given.shape != (n, n):
        missing = ": is its `return` missing?" if matrix is None else ""
        raise ValueError(
            f"hess must return a matrix of shape {(n, n)}, got {shown(matrix)}{missing}"
        )
    return given
