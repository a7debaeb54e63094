"""minimize_stochastic: what it finds, what it counts, how it goes on, and what it refuses."""

import warnings

import numpy as np
import pytest

from unsaddle import FiniteSum, Outcome, load, minimize, minimize_stochastic, save
from unsaddle.methods import STOCHASTIC
from unsaddle.sampling import Drawn, SampledOracle

N, ROWS, SIGMA = 6, 400, 0.1
CURVATURES = np.append(-0.5, np.linspace(0.2, 1.0, N - 1))
CONSTANTS = {
    "smoothness": 3.0,
    "stochastic_smoothness": 3.0,
    "hessian_lipschitz": 6.0,
    "variance": SIGMA**2,
    "tol": 0.05,
}
DATA = np.random.default_rng(0).standard_normal((ROWS, N)) * SIGMA / np.sqrt(N)
DATA -= DATA.mean(0)


def exact(x):
    """A saddle at 0, minima at x_1 = +-sqrt(1/2)."""
    return CURVATURES * x + np.append(x[0] ** 3, np.zeros(N - 1))


def hessian(x):
    return np.diag(CURVATURES + np.append(3 * x[0] ** 2, np.zeros(N - 1)))


def grad(x, batch):
    return exact(x) + batch.mean(0)


def sampler(rng, size):
    return rng.standard_normal((size, N)) * SIGMA / np.sqrt(N)


def one_by_one(x, rng):
    return exact(x) + sampler(rng, 1)[0]


FORMS = {
    "sampler": (grad, sampler),
    "rng": (one_by_one, None),
    "epochs": (FiniteSum(grad, DATA), None),
    "with replacement": (FiniteSum(grad, DATA, replace=True), None),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
each_method = pytest.mark.parametrize("method", STOCHASTIC)


def solve(form=FORMS["sampler"], x0=None, **given):
    first = np.zeros(N) if x0 is None else x0
    return minimize_stochastic(form[0], first, form[1], **{**CONSTANTS, **given})


def watched(form):
    """The same form, with the points and the number of samples of every call in a list."""
    calls, (given, draw) = [], form

    def listed(x, *batch):
        calls.append((x.copy(), len(batch[0]) if hasattr(batch[0], "__len__") else 1))
        return (given.grad if isinstance(given, FiniteSum) else given)(x, *batch)

    if isinstance(given, FiniteSum):
        return calls, (FiniteSum(listed, *given.data, replace=given.replace), None)
    return calls, (listed, draw)


# ---------------------------------------------------------------------------- what it finds


@each_form
def test_from_a_saddle_to_a_certified_minimum(form):
    calls, form = watched(form)
    result = solve(form)
    assert result.success
    assert result.outcome is Outcome.CERTIFIED
    assert abs(abs(result.x[0]) - np.sqrt(0.5)) < 0.1
    assert np.linalg.norm(exact(result.x)) <= CONSTANTS["tol"]
    assert np.linalg.eigvalsh(hessian(result.x))[0] > -result.certificate.curvature_tol
    assert result.certificate.curvature_tol <= 1.01 * np.sqrt(6 * CONSTANTS["tol"])
    assert result.njev == sum(size for _, size in calls)
    assert result.ndraw < result.njev
    assert np.isnan(result.fun)


@pytest.mark.parametrize("sigma", [0.1, 0.5])
def test_whole_runs_on_finite_sums_whose_hessians_differ(sigma):
    """All of 8 runs end certified, and rightly; a method that fails one in four would not (.1)."""
    curvatures = np.append(-0.3, np.linspace(-0.1, 1, 19))
    rng = np.random.default_rng(1)
    pull = rng.standard_normal((1000, 20)) * sigma / np.sqrt(20)
    bend = rng.choice([-0.5, 0.5], (1000, 20))
    pull, bend = pull - pull.mean(0), bend - bend.mean(0)

    def grad(x, pull, bend):
        return (curvatures + bend.mean(0)) * x + x**3 + pull.mean(0)

    for seed in range(8):
        result = minimize_stochastic(
            FiniteSum(grad, pull, bend, replace=True),
            np.zeros(20),
            smoothness=4.0,
            hessian_lipschitz=6.0,
            stochastic_smoothness=4.5,
            variance=sigma**2,
            tol=0.06,
            curvature_tol=0.25,
            failure_probability=0.01,
            seed=seed,
        )
        assert result.success
        assert np.linalg.norm(curvatures * result.x + result.x**3) <= 0.06
        assert np.min(curvatures + 3 * result.x**2) > -result.certificate.curvature_tol


def test_the_certificate_says_over_what():
    assert f"all {ROWS} rows" in solve(FORMS["epochs"]).message
    found = solve()
    assert "fresh samples" in found.message
    assert "Bernstein" in found.message
    assert found.certificate.failure_probability == 1e-3


def test_psgd_leaves_the_saddle_and_ends_with_the_budget():
    result = solve(method="psgd", max_samples=5000)
    assert result.outcome is Outcome.BUDGET
    assert "max_samples" in result.message
    assert not result.success
    assert (result.njev, result.ndraw) == (5000, 4999)  # one sample was asked for twice, to see
    assert abs(result.x[0]) > 0.5


def test_where_noise_hides_the_curvature_nothing_is_claimed():
    """Samples whose Hessians differ by far more than gamma, and few of them: no certificate."""
    given = CONSTANTS | {"stochastic_smoothness": 100.0, "variance": 1.0}

    def wild(x, batch):
        return exact(x) + 30 * np.mean(batch, 0) * x

    result = minimize_stochastic(
        wild, np.zeros(N), sampler, **given, search_batch=2, check_batch=2, max_samples=200_000
    )
    assert not result.success
    assert result.certificate.holds is None


def test_a_saddle_that_no_search_was_sent_to_is_refuted():
    """A trial that believes nothing ends at the saddle; the certificate over all data refutes."""
    result = solve(FORMS["epochs"], enough=1e9)
    assert result.outcome is Outcome.REFUTED
    assert not result.x.any()
    u = result.certificate.direction
    assert u @ hessian(result.x) @ u <= -result.certificate.curvature_tol / 2


def test_a_jump_that_cannot_be_seen_is_not_taken():
    result = solve(check_batch=1, enough=0.1, length=1e-6, stretch=0.0)
    assert result.outcome is Outcome.JUMP_FAILED
    assert not result.x.any()
    assert result.certificate.holds is False
    assert result.certificate.failure_probability == 1e-3
    assert "minibatches" in result.message


def test_false_certificates_are_rare():
    """At a saddle of curvature -1.05 gamma none of 40 runs certifies, over samples or data.

    The level is .1; 40 runs without one are what is expected if the true rate is below .07.
    """
    gamma = 0.4
    bent = np.append(-1.05 * gamma, np.full(N - 1, 1.0))

    def saddle(x, batch):
        return bent * x + batch.mean(0)

    for form in ((saddle, sampler), (FiniteSum(saddle, DATA), None)):
        for seed in range(20):
            result = solve(
                form, curvature_tol=gamma, enough=1e9, probes=1, failure_probability=0.1, seed=seed
            )
            assert not result.success


def test_a_search_that_ends_early_in_vain_goes_on():
    """Ended as soon as anything bends, never believed: still all steps of all searches."""
    result = solve(soon=0.0, enough=1e9, window=30, probes=2, max_samples=10**5)
    names = list(result.history.phase)
    ours = names[: names.index("confirm")]
    assert ours.count("search") == 2 * 30
    assert ours.count("check") > 2 * 16
    early = solve(soon=0.5)
    assert early.success
    assert early.njev < solve(soon=1e9).njev


# ------------------------------------------------------------------------------ going on


def until(looks):
    """A callback that stops after so many looks."""
    left = [looks]

    def stop(x):
        left[0] -= 1
        if not left[0]:
            raise StopIteration

    return stop


@each_form
def test_a_run_goes_on_bit_for_bit_wherever_it_was_cut(form, tmp_path):
    """After a step, between the two looks at one sample, in a trial, in a jump."""
    calls, form = watched(form)
    small = {"seed": 3, "window": 9, "search_batch": 4, "check_batch": 20, "batch": 30}
    whole = solve(form, **small, callback=until(120))
    names, expected = list(whole.history.phase), [x for x, _ in calls]
    assert {"step", "here", "search", "centre", "check", "near", "far"} <= set(names)
    for cut in {1} | {names.index(name) + 1 for name in ("here", "search", "check", "near", "far")}:
        calls.clear()
        save(solve(form, **small, callback=until(cut)).state, tmp_path / "state.npz")
        state = load(tmp_path / "state.npz")
        last = solve(form, **small, state=state, callback=until(120 - cut))
        np.testing.assert_array_equal([x for x, _ in calls], expected)
        np.testing.assert_array_equal(last.x, whole.x)
        assert last.state.state.drawn == whole.state.state.drawn


@each_method
def test_a_budget_cuts_before_the_look_that_it_does_not_cover(method):
    whole = solve(method=method, max_samples=3000)
    assert whole.njev <= 3000
    part = solve(method=method, max_samples=1234)
    assert part.njev <= 1234
    rest = solve(method=method, state=part.state, max_samples=3000 - part.njev)
    np.testing.assert_array_equal(rest.x, whole.x)
    assert part.njev + rest.njev == whole.njev


def test_all_randomness_is_the_seed_s():
    one, other, third = solve(seed=1), solve(seed=1), solve(seed=2)
    np.testing.assert_array_equal(one.x, other.x)
    assert not np.array_equal(one.x, third.x)


def test_a_callback_sees_the_iterate():
    seen = []
    solve(callback=lambda intermediate_result: seen.append(intermediate_result.x))
    assert len(seen) > 100
    assert not seen[0].any()


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
    "no variance": ({"variance": np.nan}, "variance is missing"),
    "no constants": (
        {"smoothness": np.nan, "variance": np.nan},
        "smoothness, variance are missing: .* pass smoothness=<a bound>, variance=<a bound>",
    ),
    "bad constant": ({"stochastic_smoothness": -1.0}, "stochastic_smoothness must be a positive"),
    "bad seed": ({"seed": -1}, "seed must be"),
    "bad budget": ({"max_samples": -1}, "max_samples must be"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        solve(**given)


def test_a_slip_is_told_from_what_is_missing():
    with pytest.raises(TypeError, match="varience is unknown; did you mean 'variance'"):
        solve(variance=np.nan, varience=1.0)


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


def test_a_gradient_that_ignores_its_sample_is_warned_of_once():
    with pytest.warns(UserWarning, match="grad ignores its sample") as caught:
        assert solve((flat, sampler)).success
    assert len(caught) == 1


def test_a_gradient_that_vanishes_at_the_start_is_not_warned_of():
    """Noise that is zero at the saddle itself is noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve((lambda x, batch: exact(x) + 0.1 * batch.mean(0) * x, sampler), max_samples=10)


@pytest.mark.parametrize("method", STOCHASTIC)
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


def test_an_oracle_counts_draws_and_gradients():
    oracle = SampledOracle(Drawn(grad, sampler), np.zeros(N))
    oracle.use(0, 0, 5)
    oracle.look(np.zeros(N), 2)
    oracle.use(0, 0, 5, new=False)
    oracle.look(np.ones(N), 2)
    assert (oracle.draws, oracle.gradients) == (5, 10)
