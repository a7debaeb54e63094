"""Table 1: a row for every method, the stochastic ones as printed and as they can be run."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from unsaddle.methods import theory
from unsaddle.methods.table import METHODS, STOCHASTIC
from unsaddle.paper.extras import sampled, table1

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The table for small n and large curvatures, by the first column."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table1, "SIZES", (10, 100))
        patch.setattr(table1, "CURVATURES", (0.1, 0.05))
        patch.setattr(table1, "SEEDS", 1)
        result = table1.table1(tmp_path_factory.mktemp("table1"), 0, lambda share: None)
    return {row[0]: dict(zip(result["header"], row, strict=True)) for row in result["rows"]}


def test_every_method_has_a_row_beside_its_rate(rows):
    ways = [f"{name}, {way}" for name in STOCHASTIC for way in ("practical", "as printed")]
    assert [*rows] == [*METHODS, *ways]
    for name, method in METHODS.items():
        assert (rows[name]["proven rate"], rows[name]["certified"]) == (method.rate, "100%")
    for name, method in STOCHASTIC.items():
        assert rows[f"{name}, practical"]["proven rate"] == table1.UNPROVEN
        assert rows[f"{name}, as printed"]["proven rate"] == method.rate
        assert rows[f"{name}, as printed"]["certified"] == "not run"
    assert rows["sgd+nc, practical"]["certified"] == "100%"
    assert rows["psgd, practical"]["certified"] == "has none"


def test_what_is_measured_is_what_the_front_end_counts(rows):
    counts = [sampled.samples("psgd", n, 0.1, 0)[0] for n in (10, 100)]
    shown = [rows["psgd, practical"][f"n = {n}"] for n in (10, 100)]
    assert shown == [f"{count:,}" for count in counts]
    power = math.log(counts[1] / counts[0]) / math.log(2)  # log 100 is twice log 10
    assert float(rows["psgd, practical"]["power of log n"]) == pytest.approx(power, abs=0.005)


def test_as_printed_is_the_theorems_own_count():
    """By hand, from the theory's batch and window; far from anything that can be run."""
    constants = sampled.known(100, 0.1)
    found = theory.sgd_nc(n=100, **constants)
    assert sampled.printed("sgd+nc", 100, 0.1) == 2.0 * found.window * found.batch > 1e19
    steps = theory.psgd(n=100, **constants).steps
    assert sampled.printed("psgd", 100, 0.1) == steps > 1e14


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
    assert sampled.samples("psgd", 10, 0.1, 0) == (math.inf, False)
