"""Table 1: every method as printed, and as it can be run; the fits beside the rates."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from unsaddle import landscapes
from unsaddle.methods import theory
from unsaddle.methods.table import METHODS, STOCHASTIC
from unsaddle.numpy.minimize import minimize
from unsaddle.paper.extras import exits, sampled, table1

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The table for small n and large curvatures, by method and way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table1, "SIZES", (10, 30))
        patch.setattr(table1, "CURVATURES", (0.2, 0.3))
        patch.setattr(table1, "SEEDS", 1)
        result = table1.table1(tmp_path_factory.mktemp("table1"), 0, lambda share: None)
    return {tuple(row[:2]): dict(zip(result["header"], row, strict=True)) for row in result["rows"]}


def test_every_method_has_its_rows_beside_its_rate(rows):
    """As printed and with exits, or one row if no paper prints it; all end second-order."""
    printed = [name for name, line in METHODS.items() if exits.has_printed_form(line)]
    assert {"pgd", "pagd", "pgd+nc", "ancgd", "neon", "neon+"} <= {*printed}
    assert not {"auto", "agd-auto", "agd+lanczos"} & {*printed}
    assert {name for name, way in rows if way == table1.PRINTED} == {*printed, *STOCHASTIC}
    for name, method in METHODS.items():
        row = rows[name, table1.EXITS]
        assert (row["proven rate"], row["certified"], row["second-order"]) == (
            method.rate, "100%", "100%")  # fmt: skip
        assert row["hyperparameters"] == str(len(method.options))
    for name in printed:
        row = rows[name, table1.PRINTED]
        assert (row["certified"], row["second-order"]) == ("0%", "100%")
    for name, method in STOCHASTIC.items():
        assert rows[name, table1.PRACTICAL]["proven rate"] == table1.UNPROVEN
        assert rows[name, table1.PRINTED]["proven rate"] == method.rate
        assert rows[name, table1.PRINTED]["certified"] == "not run"
        if name != "psgd":
            row = rows[name, table1.PRACTICAL]
            assert (row["certified"], row["second-order"]) == ("100%", "100%")
    assert rows["psgd", table1.PRACTICAL]["certified"] == "has no end"


def test_every_method_of_the_papers_table_says_how_many_loops_it_has():
    ours = {name for name, line in METHODS.items() if not exits.has_printed_form(line)}
    assert {*METHODS, *STOCHASTIC} - ours <= {*table1.LOOPS}


def test_exponents_are_fitted_to_all_runs():
    """By hand: exact powers have no interval; one run aside opens it around the power."""
    x = np.log([1.0, 2.0, 4.0])
    counts = np.array([[8.0, 8.0], [16.0, 16.0], [32.0, 32.0]])
    assert table1.fit(x, counts) == (1.0, 1.0, 1.0)
    counts[1, 0] *= 1.5
    power, low, high = table1.fit(x, counts)
    assert power == pytest.approx(1.0, abs=1e-6)
    assert low < power < high
    assert [table1.of_one_saddle(rate) for rate in ("log(n) / eps^1.75", "log^4(n) / eps^2", "none")
            ] == [0.5, 1.0, None]  # fmt: skip


def test_what_is_measured_is_what_the_front_ends_count(rows):
    runs = [sampled.run("psgd", n, 0.2, 0).samples for n in (10, 30)]
    shown = [rows["psgd", table1.PRACTICAL][f"n = {n}"] for n in (10, 30)]
    assert shown == [f"{each:,}" for each in runs]
    f, given = landscapes.h(10, 0.1), sampled.known(10, 0.1)
    words = ("smoothness", "hessian_lipschitz", "tol", "decrease_available")
    constants = {name: given[name] for name in words}
    for method in ("ancgd", "pgd+nc", "agd+lanczos", "auto"):
        mine = exits.with_exits(method, f, constants, 3, 10**5)
        run = minimize(f.value, np.zeros(10), jac=f.gradient, method=method, seed=3, **constants)
        assert (mine.gradients, mine.certified) == (run.njev, run.success)


def test_as_printed_is_the_theorems_own_count():
    """By hand, from the theory's batch and window; far from anything that can be run."""
    constants = sampled.known(100, 0.1)
    found = theory.sgd_nc(n=100, **constants)
    assert sampled.printed("sgd+nc", 100, 0.1) == 2.0 * found.window * found.batch > 1e19
    steps = theory.psgd(n=100, **constants).steps
    assert sampled.printed("psgd", 100, 0.1) == steps > 1e14
    odds = math.log(100 / 1e-3)
    assert sampled.printed("neon2-online", 100, 0.1) == pytest.approx(32 * odds**2 / 0.05**2, 1e-4)
    epoch = sampled.printed("spider+", 100, 0.1) - sampled.printed("neon2-online", 100, 0.1)
    assert epoch == 2 * 20 * 2
    assert sampled.printed("sharp-sgd", 100, 0.1) > 1e22


def test_a_mean_over_a_batch_has_its_distribution():
    """3,000 means of 4 vectors: the mean square length to 5 standard errors, 4% at most."""
    n, sigma = 10, 0.3
    rng = np.random.default_rng(0)
    rows = np.array([sampled.noise(sampled.sampler(rng, 4), n, sigma) for _ in range(3000)])
    squares = (rows**2).sum(-1) / (sigma**2 / 4)
    assert abs(squares.mean() - 1) < 5 * math.sqrt(2 / n / 3000)
    assert np.abs(rows.mean(0)).max() < 5 * sigma / 2 / math.sqrt(n * 3000)


def test_psgd_that_is_not_through_has_no_count(monkeypatch):
    monkeypatch.setattr(sampled, "LIMIT", 50)
    assert sampled.run("psgd", 10, 0.1, 0)[:2] == (math.inf, False)
