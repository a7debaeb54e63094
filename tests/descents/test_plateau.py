"""When a block of steps says that a training is stuck."""

import numpy as np
import pytest

from unsaddle.descents.plateau import Block, averaged, extended, noise, stuck
from unsaddle.numpy.ops import ops

STEPS, N = 50, 20


def block(seed, slope=0.0, mean=0.0):
    """Gradients and losses with noise of size one; a block before leaves nothing behind."""
    rng, b, total = np.random.default_rng(seed), Block(), np.full(N, 7.0)
    gradients = rng.standard_normal((STEPS, N)) / np.sqrt(N) + mean / np.sqrt(N)
    losses = 1e3 + rng.standard_normal(STEPS) - slope * np.arange(STEPS) / STEPS
    for value, gradient in zip(losses, gradients, strict=True):
        b, total = extended(ops, b, total, float(value), gradient)
    return averaged(ops, b, total, full=True), total / STEPS, gradients


def test_the_mean_is_asked_for_where_a_block_is_full():
    begun = averaged(ops, Block(steps=3, mean_square=2.0), np.ones(N), full=False)
    assert (begun.steps, begun.mean_square) == (3, 2.0)


def test_mean_and_noise_are_those_of_the_gradients():
    b, mean, gradients = block(0)
    assert mean == pytest.approx(gradients.mean(axis=0))
    assert b.mean_square == pytest.approx((mean**2).sum())
    assert noise(ops, b) ** 2 == pytest.approx(gradients.var(axis=0, ddof=1).sum())


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [({}, 85, 100), ({"slope": 3.0}, 0, 15), ({"mean": 0.4}, 0, 5), ({"slope": -3.0}, 85, 100)],
    ids=["noise alone", "a falling loss", "a mean gradient", "a rising loss"],
)
def test_what_is_stuck(given, least, most):
    assert least <= sum(bool(stuck(ops, block(seed, **given)[0])) for seed in range(100)) <= most
