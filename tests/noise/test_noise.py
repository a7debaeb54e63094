import math

import pytest

from benchmarks.noise import Cell, Line, measured, search, summary, trial, written
from benchmarks.noisy_families import FAMILIES


def test_a_clean_cell_is_right_and_has_every_run():
    runs = trial(Cell("dense", 16, "hash", 1e-14), seed=0)
    assert [run["role"] for run in runs] == ["minimum", "at the claim", "four times", "minimize"]
    assert runs[0]["holds"] is True
    assert runs[0]["seed"] != runs[1]["seed"]
    wrong = ("false certificate", "false negative curvature", "success on a saddle")
    assert not any(run.get(word) for run in runs for word in wrong)


def test_a_false_certificate_is_counted(monkeypatch):
    class Claim:
        holds, curvature_tol, curvature, gradients, gradient_noise = True, 0.1, 0.0, 1, 0.0
        probe_radius, central = 1e-6, False

    monkeypatch.setattr("benchmarks.noise.certify", lambda *args, **kwargs: Claim)
    cell = Cell("quartic", 16, "random", 1e-8)
    assert search(cell, -0.1001, 0.1, 0, "four times")["false certificate"]
    harmless = search(cell, -0.0999, 0.1, 0, "four times")
    assert not harmless["false certificate"]
    assert not harmless["at risk"]


def test_false_negative_curvature_is_counted(monkeypatch):
    land = FAMILIES["wells"](16, 0.01)

    class Found:
        holds, curvature_tol, curvature, gradients, gradient_noise = False, 0.1, -0.2, 1, 0.0
        probe_radius, central = 1e-6, False
        direction = land.x + 0.25  # the constant vector of norm one

    monkeypatch.setattr("benchmarks.noise.certify", lambda *args, **kwargs: Found)
    cell = Cell("wells", 16, "random", 1e-8)
    assert search(cell, 0.01, 0.1, 0, "minimum")["false negative curvature"]
    assert not search(cell, -0.2, 0.1, 0, "four times")["false negative curvature"]


def test_where_the_oracle_resolves_nothing_there_is_no_minimum_and_no_descent():
    line, runs = measured(Cell("morse", 16, "random", 0.5), seeds=[0])
    assert [run["role"] for run in runs] == ["four times"]
    assert isinstance(line, Line)
    assert math.isnan(line.gamma)


def test_lines_and_summary_are_written():
    line, _ = measured(Cell("wells", 16, "hash", 1e-10), seeds=[0, 1])
    assert written(line).startswith("| wells | hash | 1e-10 |")
    assert next(summary([line])).strip().startswith("false certificates")


@pytest.mark.parametrize("kind", ["hash", "random"])
def test_trials_are_reproducible(kind):
    cell = Cell("clustered", 16, kind, 1e-8)
    assert repr(trial(cell, 5)) == repr(trial(cell, 5))
