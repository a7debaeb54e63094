"""The benchmark's problems and oracle: derivatives are right, starts are saddles, counts add up."""

import numpy as np
import pytest

from benchmarks.tiers import products
from benchmarks.tiers.contest import OURS, PEERS, RIVALS, TOL, own, peer
from benchmarks.tiers.judge import Banded, fewest, spectrum
from benchmarks.tiers.oracle import Oracle, Problem, SpentError
from benchmarks.tiers.problems import FAMILIES, cluster, complex_step, escape, phase_retrieval
from tests.docs.test_docs import ROOT, table

PROBLEMS = escape()
each = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)


def differences(f, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences of order four."""
    steps = ((2, -1 / 12), (1, 2 / 3), (-1, -2 / 3), (-2, 1 / 12))
    return np.array([sum(w * f(x + k * h * e) for k, w in steps) / h for e in np.eye(x.size)])


@each
def test_gradient_and_hessian_are_those_of_the_value(problem: Problem) -> None:
    x = problem.start(1) + 0.1 * np.random.default_rng(0).standard_normal(problem.n)
    gradient, hessian = problem.gradient(x), problem.hessian(x)
    assert np.abs(differences(problem.value, x) - gradient).max() < 1e-7 * np.abs(gradient).max()
    assert np.abs(differences(problem.gradient, x) - hessian).max() < 1e-7 * np.abs(hessian).max()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family(2).name)
def test_gradient_of_a_family(family) -> None:
    problem = family(7)
    x = np.random.default_rng(0).standard_normal(7)
    assert differences(problem.value, x) == pytest.approx(problem.gradient(x), rel=1e-8, abs=1e-9)
    assert not problem.gradient(problem.start(0)).any()


@pytest.mark.parametrize("n", [3, 4, 7, 8, 50])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family(2).name)
def test_the_judge_of_a_family_has_its_hessian(family, n) -> None:
    problem = family(n)
    x = np.random.default_rng(n).standard_normal(n)
    values = np.linalg.eigvalsh(complex_step(problem.gradient, x))
    assert isinstance(problem.hessian(x), Banded)
    assert spectrum(problem, x) == pytest.approx((values[0], abs(values).max()), abs=1e-9)


def test_the_optimum_needs_a_product_for_each_eigenvalue_at_most() -> None:
    rng = np.random.default_rng(0)
    for values in ([1.0], [1.0, 2.0], [0.5, 1.0, 2.0]):
        spread = np.repeat(values, 5)
        first = rng.standard_normal(spread.size)
        assert fewest(spread.__mul__, first, 1e-6, 1e12) == len(values)
        assert fewest(spread.__mul__, first, 1e12, 1e6) == 1  # beyond l, one query is enough


def test_a_certificate_costs_one_gradient_more_than_the_optimum() -> None:
    """Where probes are neither shortened nor lengthened; medians over five seeds."""
    for problem in (next(iter(FAMILIES))(1000), PROBLEMS[5]):
        rows = [own(problem, seed) for seed in range(5)]
        assert np.median([row.certificate - row.fewest for row in rows]) == 1


@pytest.mark.parametrize(
    "problem",
    [p for p in PROBLEMS if p.name not in (cluster().name, phase_retrieval().name)],
    ids=lambda problem: problem.name,
)
def test_even_seeds_start_at_a_strict_saddle(problem: Problem) -> None:
    for seed in range(0, 10, 2):
        x = problem.start(seed)
        lowest, largest = spectrum(problem, x)
        assert np.linalg.norm(problem.gradient(x)) < 1e-9 * largest
        assert lowest < -1e-3 * largest


@pytest.mark.parametrize("problem", [cluster(), phase_retrieval()], ids=lambda p: p.name)
def test_symmetric_starts_lead_a_descent_to_a_saddle(problem: Problem) -> None:
    row = peer(problem, 0, "L-BFGS-B")
    assert row.norm <= TOL
    assert row.lowest < -1e-3 * row.largest


each_rival = pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=[pytest.mark.torch] * name.startswith("torch")) for name in RIVALS],
)


@each_rival
def test_every_gradient_is_counted(method: str) -> None:
    calls = [0, 0]
    inner = PROBLEMS[0]

    def value(x):
        calls[0] += 1
        return inner.value(x)

    def gradient(x):
        calls[1] += 1
        return inner.gradient(x)

    row = peer(inner._replace(value=value, gradient=gradient), 1, method)
    spare = calls[1] - row.gradients - 1  # the judge takes one more
    assert calls[0] == row.values + 1
    assert spare > 0 if PEERS[method].curved else spare == 0  # at the centres of differences


@each_rival
def test_the_oracle_stops_at_the_tolerance(method: str) -> None:
    row = peer(PROBLEMS[0], 1, method)
    assert row.outcome == "REACHED"
    assert row.norm <= TOL


def test_the_oracle_stops_at_the_limit() -> None:
    oracle = Oracle(PROBLEMS[0], 0.0, 1)
    oracle.gradient(np.ones(2))
    with pytest.raises(SpentError):
        oracle.probe(np.ones(2))


@pytest.mark.slow
@each
@pytest.mark.parametrize("method", OURS)
def test_ours_end_certified_and_truly_so(problem: Problem, method: str) -> None:
    for seed in (0, 1):
        row = own(problem, seed, method)
        assert row.outcome == "CERTIFIED"
        assert row.norm <= TOL
        assert row.lowest >= -row.gamma


def test_the_page_has_the_table_of_products_that_was_measured() -> None:
    shown = table(ROOT / "docs" / "products.md", "tier | front end")
    assert shown == products.table(products.kept())
