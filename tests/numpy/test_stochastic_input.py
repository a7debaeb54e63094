"""minimize_stochastic: minibatches of data, counts, and what it refuses, warns of and names."""

import re
import warnings

import numpy as np
import pytest

from tests.noisy import (
    DATA,
    FORMS,
    ROWS,
    SIGMA,
    N,
    each_method,
    exact,
    grad,
    one_by_one,
    sampler,
    solve,
)
from unsaddle import FiniteSum, Outcome, minimize
from unsaddle.numpy.sampling import Drawn, SampledOracle

# --------------------------------------------------------------------------- finite sums


def test_an_epoch_goes_through_all_rows_once():
    data = FiniteSum(grad, np.arange(10), np.arange(10))
    rows = np.concatenate([data.draw(0, first, 3) for first in range(0, 30, 3)])
    for epoch in rows.reshape(3, 10):
        np.testing.assert_array_equal(np.sort(epoch), np.arange(10))
    assert not np.array_equal(rows[:10], rows[10:20])
    np.testing.assert_array_equal(data.draw(0, 12, 3), data.draw(0, 12, 3))


def test_with_replacement_rows_are_independent():
    data = FiniteSum(grad, np.arange(10), replace=True)
    rows = np.concatenate([data.draw(0, first, 5) for first in range(0, 5000, 5)])
    counts = np.bincount(rows, minlength=10)
    assert np.abs(counts - 500).max() < 5 * np.sqrt(500 * 0.9)
    repeats = np.mean([len(set(data.draw(1, k, 5))) < 5 for k in range(0, 2000, 5)])
    assert abs(repeats - 0.6976) < 0.1


def test_all_rows_are_all_the_data():
    for replace in (True, False):
        np.testing.assert_array_equal(
            FiniteSum(grad, DATA, replace=replace).draw(5, 7, ROWS), np.arange(ROWS)
        )


def test_batches_of_the_preset_are_no_larger_than_the_data():
    result = solve((FiniteSum(grad, DATA[:10]), None), max_samples=2000)
    sizes = result.parameters
    assert max(sizes.descent.batch, sizes.escape.search_batch, sizes.escape.check_batch) <= 10


# ---------------------------------------------------------------------------- bad input


def flat(x, batch):
    return exact(x)


def unruly(rng, size):
    return np.random.default_rng().standard_normal((size, N))


def stubborn(rng, size):
    return np.ones((size, N))


def short(rng, size):
    return np.ones((1, N))


BAD = {
    "m < 1": ({"search_batch": 0}, "option search_batch must be a whole number >= 1, got 0"),
    "half a sample": ({"batch": 2.5}, "option batch must be a whole number >= 1, got 2.5"),
    "one check": ({"checks": 1}, "option checks must be a whole number >= 2, got 1"),
    "large batch": (
        {"form": FORMS["epochs"], "search_batch": 401},
        "batch of 401 was asked for, but the data has 400 rows",
    ),
    "own randomness": ({"form": (grad, unruly)}, "two different batches for equal rng"),
    "repeats": ({"form": (grad, stubborn)}, "it repeats itself"),
    "wrong length": ({"form": (grad, short)}, "must return 8 samples, got 1"),
    "random grad": (
        {"form": (lambda x, rng: np.random.default_rng().standard_normal(N), None)},
        "two different gradients for the same point and the same sample",
    ),
    "no budget": ({"method": "psgd"}, "max_samples is missing"),
    "no such method": ({"method": "sgd-nc"}, "did you mean 'sgd\\+nc'"),
    "no such preset": ({"preset": "print"}, "did you mean 'printed'"),
    "no gap": ({"preset": "printed"}, "decrease_available is missing"),
    "no variance": ({"variance": None}, "variance is missing"),
    "no constants": (
        {"smoothness": None, "variance": None},
        "smoothness, variance are missing: .* pass smoothness=<a bound>, variance=<a bound>",
    ),
    "bad constant": (
        {"stochastic_smoothness": -1.0},
        "stochastic_smoothness=-1.0 was passed, expected a finite number > 0",
    ),
    "bad seed": ({"seed": -1}, "seed must be"),
    "bad budget": ({"max_samples": -1}, "max_samples must be"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        solve(**given)


def test_a_slip_is_told_from_what_is_missing():
    with pytest.raises(TypeError, match="varience is unknown; did you mean 'variance'"):
        solve(variance=None, varience=1.0)


def test_a_sampler_beside_data_is_refused():
    with pytest.raises(ValueError, match="sampler was given beside a FiniteSum"):
        solve((FiniteSum(grad, DATA), sampler))


def test_data_without_rows():
    with pytest.raises(ValueError, match="same number of rows"):
        FiniteSum(grad, np.zeros((3, 2)), np.zeros(4))
    with pytest.raises(ValueError, match="at least 1"):
        FiniteSum(grad)
    with pytest.raises(TypeError, match="grad must be callable"):
        FiniteSum(DATA, grad)


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="did you mean 'search_batch'"):
        solve(searchbatch=3)


def test_minimize_sends_a_stochastic_method_on():
    with pytest.raises(ValueError, match="minimize_stochastic"):
        minimize(lambda x: 0.0, np.zeros(2), jac=lambda x: x, method="sgd+nc",
                 smoothness=1.0, hessian_lipschitz=1.0)  # fmt: skip


@pytest.mark.parametrize("form", [(flat, sampler), (flat, None), (FiniteSum(flat, DATA), None)])
@pytest.mark.slow
def test_a_gradient_that_ignores_its_sample_is_warned_of_once(form):
    with pytest.warns(UserWarning, match="grad ignores its sample") as caught:
        assert solve(form).success
    assert len(caught) == 1


def test_a_gradient_that_vanishes_at_the_start_is_not_warned_of():
    """Noise that is zero at the saddle itself is noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve((lambda x, batch: exact(x) + 0.1 * batch.mean(0) * x, sampler), max_samples=10)


def test_a_gradient_in_one_array_for_all_samples_is_not_warned_of():
    buffer = np.empty(N)

    def reused(x, batch):
        buffer[:] = exact(x) + 0.1 * batch.mean(0)
        return buffer

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve((reused, sampler), max_samples=10)


@each_method
def test_the_row_that_is_nan_is_named(method):
    data = DATA.copy()
    data[123, 2] = np.nan
    result = solve((FiniteSum(grad, data), None), method=method, max_samples=10**5, batch=7)
    assert result.outcome is Outcome.NOT_FINITE
    assert "row 123 of the data" in result.message
    assert np.isfinite(result.x).all()


def test_the_sample_that_is_nan_is_named():
    def rarely(rng, size):
        batch = sampler(rng, size)
        batch[batch > 3.5 * SIGMA / np.sqrt(N)] = np.nan
        return batch

    result = solve((grad, rarely))
    assert result.outcome is Outcome.NOT_FINITE
    assert "sample" in result.message
    assert "nan" in result.message


def test_the_sample_of_a_rng_that_is_nan_is_named_by_its_number():
    def rarely(x, rng):
        g = one_by_one(x, rng)
        return np.where(rng.random() < 0.01, np.nan, g)

    result = solve((rarely, None))
    assert result.outcome is Outcome.NOT_FINITE
    assert re.search(r"sample \d+ of the batch: \(seed, number\) = \(0, \d+\)", result.message)


def test_an_oracle_counts_draws_and_gradients():
    oracle = SampledOracle(Drawn(grad, sampler), np.zeros(N))
    oracle.use(0, 0, 5)
    oracle.gradient(np.zeros(N))
    oracle.use(0, 0, 5)
    oracle.gradient(np.ones(N))
    assert (oracle.draws, oracle.gradients) == (5, 10)
