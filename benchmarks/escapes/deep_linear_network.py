"""A linear network of three layers whose first and last are zero: a saddle."""

from typing import Any

import numpy as np

from benchmarks.escapes.problem import Problem

WIDTH = 8


def loss(params: list[Any], target: Any) -> Any:
    """|W3 W2 W1 - A|^2/2."""
    first, middle, last = params
    return ((last @ middle @ first - target) ** 2).sum() / 2


def build() -> Problem:
    """Give the loss with W1 = W3 = 0 and W2 = 1."""
    q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((WIDTH, WIDTH)))
    return Problem(
        name="deep linear network",
        start=[scale * np.eye(WIDTH) for scale in (0.0, 1.0, 0.0)],
        data=(q * np.linspace(1.5, 0.5, WIDTH),),
        loss=loss,
        constants={"smoothness": 8.0, "hessian_lipschitz": 8.0, "tol": 1e-3},
        gradients=3000,
    )


if __name__ == "__main__":
    from benchmarks.escapes.race import show

    show(build())
