"""Factorise a matrix, M = U U^T, from the origin: a saddle where every gradient is zero."""

import torch

from examples.race import Problem, show

ROWS, RANK = 20, 3


def build() -> Problem:
    """Give the loss |U U^T - M|^2/4, with |M| = 1, and U = 0."""
    draw = torch.Generator().manual_seed(0)
    left, _ = torch.linalg.qr(torch.randn(ROWS, RANK, generator=draw, dtype=torch.float64))
    target = left @ torch.diag(torch.tensor([1.0, 0.8, 0.6], dtype=torch.float64)) @ left.T
    u = torch.nn.Parameter(torch.zeros(ROWS, RANK, dtype=torch.float64))
    return Problem(
        name="matrix factorisation",
        params=[u],
        loss=lambda: ((u @ u.T - target) ** 2).sum() / 4,
        constants={"smoothness": 4.0, "hessian_lipschitz": 6.0, "tol": 1e-3},
        gradients=1500,
    )


if __name__ == "__main__":
    show(build)
