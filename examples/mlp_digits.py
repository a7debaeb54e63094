"""Train a small network on scikit-learn's digits from a start where all hidden units are equal."""

import torch
from sklearn.datasets import load_digits

from examples.race import Problem, show

SAMPLES, HIDDEN, DECAY = 400, 8, 0.01


def build() -> Problem:
    """Give the cross-entropy of a tanh network, with weight decay, all weights zero."""
    data = load_digits()
    inputs = torch.tensor(data.data[:SAMPLES], dtype=torch.float64) / 16
    labels = torch.tensor(data.target[:SAMPLES])
    shapes = [(64, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,)]
    into, shift, out, bias = params = [
        torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in shapes
    ]

    def loss() -> torch.Tensor:
        scores = torch.tanh(inputs @ into + shift) @ out + bias
        decay = sum((p**2).sum() for p in params)
        return torch.nn.functional.cross_entropy(scores, labels) + DECAY / 2 * decay

    return Problem(
        name="network on digits",
        params=params,
        loss=loss,
        constants={"smoothness": 4.0, "hessian_lipschitz": 4.0, "tol": 1e-3},
        gradients=4000,
    )


if __name__ == "__main__":
    show(build)
