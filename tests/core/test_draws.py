"""The draws are nobody else's: a point that was drawn by the same numbers is independent of it."""

import numpy as np
import pytest

from unsaddle import certify
from unsaddle.numpy.ops import ops

N = 50
COMMON = {  # the ways to seed that NumPy's documentation shows
    "a number": lambda seed: np.random.default_rng(seed),
    "seed and task": lambda seed: np.random.default_rng([seed, 1]),
    "task and seed": lambda seed: np.random.default_rng([1, seed]),
    "seed, task, zero": lambda seed: np.random.default_rng([seed, 1, 0]),
    "a sequence": lambda seed: np.random.default_rng(np.random.SeedSequence(seed)),
    "a child": lambda seed: np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1]),
    "the old way": lambda seed: np.random.RandomState(seed),
}


@pytest.mark.parametrize("way", COMMON.values(), ids=COMMON.keys())
def test_no_common_way_to_seed_draws_ours(way) -> None:
    for seed in range(5):
        theirs = way(seed).standard_normal(N)
        for episode in range(4):
            ours = ops.normal(np.zeros(N), seed, episode)
            assert abs(np.corrcoef(theirs, ours)[0, 1]) < 0.6  # of 140 pairs, 1e-6 by chance each


@pytest.mark.parametrize("way", COMMON.values(), ids=COMMON.keys())
def test_a_maximum_on_a_sphere_about_the_users_own_draw_is_found(way) -> None:
    """49 eigenvalues are -1, and the one direction without is x: the worst first direction."""
    x = way(0).standard_normal(N)
    radius = 2 * np.linalg.norm(x)
    shown = certify(lambda y: y - radius * y / np.linalg.norm(y), x, 0.5)
    assert shown.holds is False
