"""Factorise a matrix, M = U U^T, from the origin: a saddle where every gradient is zero."""

from typing import Any

import numpy as np

from benchmarks.escapes.problem import Problem

ROWS, RANK = 20, 3


def loss(params: list[Any], target: Any) -> Any:
    """|U U^T - M|^2/4."""
    (u,) = params
    return ((u @ u.T - target) ** 2).sum() / 4


def build() -> Problem:
    """Give the loss with |M| = 1, and U = 0."""
    left, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((ROWS, RANK)))
    return Problem(
        name="matrix factorisation",
        start=[np.zeros((ROWS, RANK))],
        data=(left * [1.0, 0.8, 0.6] @ left.T,),
        loss=loss,
        constants={"smoothness": 4.0, "hessian_lipschitz": 6.0, "tol": 1e-3},
        gradients=1500,
    )


if __name__ == "__main__":
    from benchmarks.escapes.race import show

    show(build())
