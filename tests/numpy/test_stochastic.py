"""minimize_stochastic: what it finds, what it counts, and how it goes on."""

import numpy as np
import pytest

from tests.noisy import (
    CONSTANTS,
    DATA,
    FORMS,
    ROWS,
    N,
    each_form,
    each_method,
    each_whole_run,
    exact,
    hessian,
    sampler,
    solve,
    watched,
)
from tests.often import most_at_night
from unsaddle import FiniteSum, Outcome, load, minimize_stochastic, save

# ---------------------------------------------------------------------------- what it finds


@pytest.mark.slow
@each_whole_run
def test_from_a_saddle_to_a_certified_minimum(method, name):
    calls, form = watched(FORMS[name])
    result = solve(form, method=method)
    assert result.success
    assert result.outcome is Outcome.CERTIFIED
    assert abs(abs(result.x[0]) - np.sqrt(0.5)) < 0.1
    assert np.linalg.norm(exact(result.x)) <= CONSTANTS["tol"]
    assert np.linalg.eigvalsh(hessian(result.x))[0] > -result.certificate.curvature_tol
    assert result.certificate.curvature_tol <= 1.01 * np.sqrt(6 * CONSTANTS["tol"])
    assert result.njev == sum(size for _, size in calls)
    assert result.ndraw < result.njev
    assert np.isnan(result.fun)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", most_at_night([0.5], [0.1, 0.5]))
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


@pytest.mark.slow
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


def test_a_saddle_that_no_search_was_sent_to_is_found_out():
    """A test that believes nothing ends at the saddle; the proof over all data finds it out."""
    result = solve(FORMS["epochs"], enough=1e9)
    assert result.outcome is Outcome.NEGATIVE_CURVATURE
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


def test_a_gamma_that_had_to_be_raised_is_no_success():
    """With that noise nothing below 0.8 shows, and the curvature of the saddle is -0.5."""
    given = {"gradient_noise": 1e-3, "probe_radius": 5e-3, "curvature_tol": 0.4}
    result = solve(FORMS["epochs"], enough=1e9, probes=1, **given)
    assert result.certificate.holds
    assert result.certificate.curvature_tol > 0.5
    assert result.outcome is Outcome.COARSER
    assert not result.success


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_search_that_ends_early_in_vain_goes_on():
    """Ended as soon as anything bends, never believed: still all steps of all searches."""
    result = solve(soon=0.0, enough=1e9, window=30, probes=2, max_samples=10**5)
    names = list(result.history.phase)
    ours = names[: names.index("prove")]
    assert ours.count("search") == 2 * 30
    assert ours.count("test_curvature") > 2 * 16
    early = solve(soon=0.5)
    assert early.success
    assert early.njev < solve(soon=1e9).njev


# ------------------------------------------------------------------------------ going on


def until(queries):
    """A callback that stops after so many queries."""
    left = [queries]

    def stop(x):
        left[0] -= 1
        if not left[0]:
            raise StopIteration

    return stop


@each_form
@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_wherever_it_was_cut(form, tmp_path):
    """After a step, between the two queries of one sample, in a test, in a jump."""
    calls, form = watched(form)
    small = {"seed": 3, "window": 9, "search_batch": 4, "check_batch": 20, "batch": 30}
    whole = solve(form, **small, callback=until(120))
    names, expected = list(whole.history.phase), [x for x, _ in calls]
    tests = ("test_curvature", "test_near", "test_far")
    assert {"go", "sample_centre", "search", "test_centre", *tests} <= set(names)
    for cut in {1} | {names.index(name) + 1 for name in ("sample_centre", "search", *tests)}:
        calls.clear()
        save(solve(form, **small, callback=until(cut)).state, tmp_path / "state.npz")
        state = load(tmp_path / "state.npz")
        last = solve(form, **small, state=state, callback=until(120 - cut))
        np.testing.assert_array_equal([x for x, _ in calls], expected)
        np.testing.assert_array_equal(last.x, whole.x)
        assert last.state.state.drawn == whole.state.state.drawn


@pytest.mark.parametrize("form", [FORMS["sampler"], FORMS["epochs"]], ids=["sampler", "epochs"])
@pytest.mark.slow
def test_a_budget_is_as_many_samples_as_whole_queries_take(form):
    """At every budget the run is as long as it can be, the certificate's queries included."""
    calls, form = watched(form)
    small = {"window": 9, "search_batch": 4, "check_batch": 20, "batch": 30, "max_samples": 10**5}
    assert solve(form, **small).success
    spent = np.cumsum([size for _, size in calls])
    for budget in (*range(4), *spent[3:-1:37] + 7, spent[-1] - 1, spent[-1]):
        part = solve(form, **{**small, "max_samples": int(budget)})
        most = max((each for each in spent if each <= budget), default=0)
        assert part.njev == (most if budget >= 3 else 0)  # what it takes to examine the samples
        assert part.outcome is (Outcome.CERTIFIED if budget == spent[-1] else Outcome.BUDGET)
    rest = solve(form, **{**small, "max_samples": spent[-1] - 1})
    while rest.outcome is Outcome.BUDGET:  # what is left is the certificate
        rest = solve(form, **small, state=rest.state)
    assert rest.success


@each_method
@pytest.mark.slow
def test_a_budget_cuts_before_the_query_that_it_does_not_cover(method):
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


@pytest.mark.parametrize("method", ["sgd+nc", "psgd"])
def test_time_ends_a_run_and_it_can_be_resumed(method, monkeypatch):
    ticks = iter(range(10**6))
    for module in ("progress", "loop"):
        monkeypatch.setattr(f"unsaddle.numpy.{module}.monotonic", lambda: next(ticks))
    cut = solve(method=method, max_seconds=5, history=False)
    assert cut.outcome is Outcome.BUDGET
    assert "max_samples or max_seconds was reached" in cut.message
    assert len(cut.history.phase) == 0
    monkeypatch.undo()
    rest = solve(method=method, state=cut.state, max_samples=500)
    assert np.array_equal(rest.x, solve(method=method, max_samples=500 + cut.njev).x)
