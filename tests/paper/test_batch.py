"""Samples in lockstep are what each of them is alone."""

import numpy as np
import pytest

from tests.drive import queries
from unsaddle import landscapes
from unsaddle.core.session import Session
from unsaddle.numpy.ops import NumpyOps
from unsaddle.paper.batch import BATCH
from unsaddle.paper.experiment import seeds
from unsaddle.paper.lockstep import (
    KINDS,
    first_state,
    parameters,
    solver_of,
    trajectory,
    unfinished,
)

VALUES = {"eta": 0.05, "r": 0.1, "theta": 0.11, "zeta": 0.8, "xi": 0.1, "start": 1, "kick": 0.01}


class OfARow(NumpyOps):
    """NumPy's operations with the noise that a row of a batch has."""

    def normal(self, like, seed, episode):
        return BATCH.normal(like[None], np.array([seed]), episode)[0]

    def uniform(self, like, seed, episode):
        return BATCH.uniform(like[None], np.array([seed]), episode)[0]


@pytest.mark.parametrize(("method", "nce"), [*((m, 0) for m in KINDS), ("pagd", 1)])
def test_a_row_of_a_batch_is_the_run_with_its_seed(method, nce):
    """The NumPy kernel, given a row's noise, ends where the row does; so also where phases part."""
    f, values, steps, m = landscapes.quartic(), VALUES | {"nce": nce}, 25, 6
    numbers, ops, kind = seeds("ours", 3, m), OfARow(), KINDS[method]
    rows = list(trajectory(method, f, values, [10, steps], numbers))[-1]
    p = parameters(method, f, values)
    for seed, row in zip(numbers, rows, strict=True):
        begun = first_state(ops, method, p, np.zeros(2), int(seed), f)
        session = Session(ops, solver_of(method), p, begun, 0.0, np.zeros(2))
        for _ in queries(session, f.value, f.gradient):
            if not unfinished(kind, steps, session.state):
                break
        alone = kind.point(session.state)
        np.testing.assert_allclose(alone, row, rtol=0, atol=1e-9)


def test_the_noise_of_the_same_sample_cancels_in_a_search_and_not_in_a_walk():
    f, numbers = landscapes.quartic(), seeds("ours", 3, 50)
    for method, same in (("sgd+nc", True), ("psgd", False)):
        quiet, loud = (
            next(trajectory(method, f, VALUES | {"sigma": sigma}, [20], numbers))
            for sigma in (0.0, 1.0)
        )
        assert np.allclose(quiet, loud, rtol=0, atol=1e-11) == same


def test_noise_depends_on_its_own_seed_alone():
    like = np.zeros((5, 3))
    everyone = BATCH.normal(like, np.arange(5), 7)
    np.testing.assert_array_equal(everyone[3:4], BATCH.normal(like[:1], np.array([3]), 7))
    assert not np.array_equal(everyone, BATCH.normal(like, np.arange(5), 8))
    assert BATCH.normal(like.astype(np.float32), np.arange(5), 7).dtype == np.float32


def test_noise_is_standard_normal_and_independent():
    """1e6 draws: mean, variance, kurtosis and correlations within 5 standard errors."""
    w = BATCH.normal(np.zeros((250_000, 4)), np.arange(250_000), 1)
    u = BATCH.uniform(w, np.arange(250_000), 1)
    se = 1 / np.sqrt(len(w))
    assert np.abs(w.mean(0)).max() < 5 * se
    assert np.abs((w**2).mean(0) - 1).max() < 5 * np.sqrt(2) * se
    assert np.abs((w**4).mean(0) - 3).max() < 5 * np.sqrt(96) * se
    correlations = np.corrcoef(np.column_stack([w, u]).T) - np.eye(5)
    assert np.abs(correlations).max() < 5 * se
    assert np.corrcoef(w[1:, 0], w[:-1, 0])[0, 1] < 5 * se
    assert abs(u.mean() - 0.5) < 5 * se / np.sqrt(12)
