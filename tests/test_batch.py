"""Samples in lockstep are what each of them is alone."""

import numpy as np
import pytest

from tests.drive import run_while
from unsaddle import METHODS, landscapes
from unsaddle.escapes.neon_plus import CHECK, STEP, VERIFY
from unsaddle.kernel import BEGIN, GO
from unsaddle.ops import batch
from unsaddle.ops import numpy as numpy_ops
from unsaddle.paper.lockstep import KINDS, SEARCH, parameters, trajectory
from unsaddle.paper.measure import seeds

VALUES = {"eta": 0.05, "r": 0.1, "theta": 0.11, "zeta": 0.8}


@pytest.mark.parametrize(("method", "nce"), [*((m, 0) for m in KINDS), ("pagd", 1)])
def test_a_row_of_a_batch_is_the_run_with_its_seed(method, nce, monkeypatch):
    """The NumPy kernel, given a row's noise, ends where the row does; so also where phases part."""
    f, values, steps, m = landscapes.quartic(), VALUES | {"nce": nce}, 25, 6
    numbers = seeds("ours", 3, m)
    (rows,) = trajectory(method, f, values, [steps], numbers)
    p = parameters(method, f, values)
    p = p._replace(escape=p.escape._replace(window=steps))
    for seed, row in zip(numbers, rows, strict=True):
        for name in ("noise", "uniform"):
            drawn = getattr(batch, name)(np.zeros((1, 2)), np.array([seed]), 1)[0]
            monkeypatch.setattr(numpy_ops, name, lambda like, seed, j, drawn=drawn: drawn.copy())
        solver = METHODS[method].solver
        state = solver.start(numpy_ops, p, np.zeros(2), int(seed))
        state = solver.phases[BEGIN].update(numpy_ops, p, state, 0.0, np.zeros(2))
        if method.startswith("neon"):
            within = np.sqrt(numpy_ops.uniform(np.zeros(2), 0, 1))
            e = state.escape
            scaled = e._replace(behind=e.behind * within, ahead=e.ahead * within)
            state = state._replace(escape=scaled)
        searches = KINDS[method].searches
        within = (SEARCH, CHECK, VERIFY, STEP) if searches else range(BEGIN)
        state = state._replace(phase=SEARCH if searches else GO, left=steps)
        _, state = run_while(solver, p, state, f, within)
        alone = KINDS[method].point(state)
        np.testing.assert_allclose(alone, row, rtol=0, atol=1e-9)


def test_noise_depends_on_its_own_seed_alone():
    like = np.zeros((5, 3))
    everyone = batch.noise(like, np.arange(5), 7)
    np.testing.assert_array_equal(everyone[3:4], batch.noise(like[:1], np.array([3]), 7))
    assert not np.array_equal(everyone, batch.noise(like, np.arange(5), 8))
    assert batch.noise(like.astype(np.float32), np.arange(5), 7).dtype == np.float32


def test_noise_is_standard_normal_and_independent():
    """1e6 draws: mean, variance, kurtosis and correlations within 5 standard errors."""
    w = batch.noise(np.zeros((250_000, 4)), np.arange(250_000), 1)
    u = batch.uniform(w, np.arange(250_000), 1)
    se = 1 / np.sqrt(len(w))
    assert np.abs(w.mean(0)).max() < 5 * se
    assert np.abs((w**2).mean(0) - 1).max() < 5 * np.sqrt(2) * se
    assert np.abs((w**4).mean(0) - 3).max() < 5 * np.sqrt(96) * se
    correlations = np.corrcoef(np.column_stack([w, u]).T) - np.eye(5)
    assert np.abs(correlations).max() < 5 * se
    assert np.corrcoef(w[1:, 0], w[:-1, 0])[0, 1] < 5 * se
    assert abs(u.mean() - 0.5) < 5 * se / np.sqrt(12)
