"""A sample of the torture: every so-many-th trial of each ordeal goes well."""

import pytest

from benchmarks.torture.ordeals import ORDEALS
from benchmarks.torture.trial import FALSE, attempt

EACH = {"fuzz": 149, "faults": 211}  # of so many trials, one


@pytest.mark.slow
@pytest.mark.parametrize("ordeal", EACH)
def test_a_sample_goes_well(ordeal: str) -> None:
    for k, trial in enumerate(ORDEALS[ordeal].trials(0)):
        if k % EACH[ordeal] == 0:
            wrong = attempt(trial)
            assert not wrong or wrong.startswith(FALSE), trial.path
