"""Train a small network on scikit-learn's digits from a start where all hidden units are equal."""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.escapes.problem import Problem
from unsaddle.landscapes.landscape import namespace

SAMPLES, HIDDEN, DECAY = 400, 8, 0.01


def loss(params: list[Any], inputs: Any, labels: Any) -> Any:
    """Cross-entropy of a tanh network, with weight decay; a row of labels has a single one."""
    into, shift, out, bias = params
    space = namespace(into)
    scores = space.tanh(inputs @ into + shift) @ out + bias
    entropy = (space.log(space.exp(scores).sum(1)) - (scores * labels).sum(1)).mean()
    return entropy + DECAY / 2 * sum((p**2).sum() for p in params)


def build() -> Problem:
    """Give the loss with all weights zero."""
    images, digits = map(np.asarray, load_digits(return_X_y=True))
    return Problem(
        name="network on digits",
        start=[np.zeros(shape) for shape in ((64, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,))],
        data=(images[:SAMPLES] / 16, np.eye(10)[digits[:SAMPLES]]),
        loss=loss,
        constants={"smoothness": 4.0, "hessian_lipschitz": 4.0, "tol": 1e-3},
        gradients=4000,
    )


if __name__ == "__main__":
    from benchmarks.escapes.race import show

    show(build())
