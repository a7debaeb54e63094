"""A sample of the torture: some trials of each ordeal go well, and those that once failed."""

import pytest

from benchmarks.torture.ordeals import ORDEALS
from benchmarks.torture.trial import FALSE, Trial, attempt

EACH = {"fuzz": 499, "faults": 997, "files": 397, "calibration": 997, "company": 25, "torch": 1999}
TORCH = [pytest.param(it, marks=pytest.mark.torch) if it == "torch" else it for it in EACH]
FOUND = {  # by the torture, and mended
    "minimize, auto/hess=print",
    "minimize, auto/x_scale=1e-320",
    "minimize, auto/x_scale=10**400",
    "minimize, auto/workers=array of two",
    "minimize, auto/workers=structured",
    "minimize, auto/pairs=2**31",
    "minimize, auto/pairs=1e20",
    "minimize, pgd/x_scale=1e308",
    "minimize, neon2/smoothness=1e20",
    "minimize, starts/x0=1e308",
    "minimize, starts/max_gradients='abc'",
    "minimize, starts/max_gradients=array of nan",
    "minimize, starts/workers=print",
    "certify/x_scale=1e-320",
    "auto, numerical/inf at call 1, apart",
}


def short(trial: Trial) -> bool:
    """Say whether a trial takes no process of its own."""
    elsewhere = trial.row in ("resumed in another process", "forked", "spawned")
    return not elsewhere and "ranks" not in trial.row


@pytest.mark.slow
@pytest.mark.parametrize("ordeal", TORCH)
def test_a_sample_goes_well(ordeal: str) -> None:
    trials = [it for it in ORDEALS[ordeal].trials(0) if short(it)]
    sample = trials[:: EACH[ordeal]]
    sample += [it for it in trials if it.path in FOUND]
    for trial in sample:
        wrong = attempt(trial)
        assert not wrong or wrong.startswith(FALSE), trial.path
