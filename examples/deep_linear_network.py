"""A linear network of three layers whose first and last are zero: a saddle."""

import torch

from examples.race import Problem, show

WIDTH = 8


def build() -> Problem:
    """Give the loss |W3 W2 W1 - A|^2/2 with W1 = W3 = 0 and W2 = 1."""
    draw = torch.Generator().manual_seed(1)
    q, _ = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=draw, dtype=torch.float64))
    target = q @ torch.diag(torch.linspace(1.5, 0.5, WIDTH, dtype=torch.float64))
    eye = torch.eye(WIDTH, dtype=torch.float64)
    first, middle, last = params = [torch.nn.Parameter(scale * eye) for scale in (0, 1, 0)]
    return Problem(
        name="deep linear network",
        params=params,
        loss=lambda: ((last @ middle @ first - target) ** 2).sum() / 2,
        constants={"smoothness": 8.0, "hessian_lipschitz": 8.0, "tol": 1e-3},
        gradients=3000,
    )


if __name__ == "__main__":
    show(build)
