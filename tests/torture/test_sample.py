"""A sample of the torture: some trials of each ordeal go well, and those that once failed."""

import pytest

from benchmarks.torture.calibration import FAMILIES
from benchmarks.torture.ordeals import ORDEALS
from benchmarks.torture.trial import FALSE, Trial, attempt

EACH = {  # of so many trials one is tried
    "fuzz": 499,
    "faults": 997,
    "files": 397,
    "calibration": 1997,
    "company": 25,
    "faults on torch and in ASE": 499,
    "torch": 1999,
    "jax": 30,
    "calibration on torch and JAX": 499,
}
PACKAGES = ("torch", "jax")  # that an ordeal needs if it is named after them
MARKED = [
    pytest.param(name, marks=[getattr(pytest.mark, it) for it in PACKAGES if it in name])
    for name in EACH
]
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
    "auto, starts/None at call 13, apart",
    "auto, at a bound/inf at call 38, apart",
    "jax.minimize/x0=itself",
    "jax.minimize/x0=a shape",
    "jax.minimize/tol=a key",
    "jax.minimize_many/starts=10**400",
    "jax.certify/x=array of none",
    "jax.certify/x=iterator",
    "jax.minimize_stochastic/batch=None",
    "jax.minimize_stochastic/samples=object",
}


def short(trial: Trial) -> bool:
    """Say whether a trial takes no process of its own, and compiles no run."""
    elsewhere = trial.row in ("resumed in another process", "forked", "spawned")
    compiles = trial.row.startswith("jax") and trial.name.startswith(tuple(FAMILIES))
    return not elsewhere and not compiles and "ranks" not in trial.row


@pytest.mark.slow
@pytest.mark.parametrize("ordeal", MARKED)
def test_a_sample_goes_well(ordeal: str) -> None:
    trials = [it for it in ORDEALS[ordeal].trials(0) if short(it)]
    sample = trials[1 :: EACH[ordeal]]  # the first of the trials on JAX is compiled
    sample += [it for it in trials if it.path in FOUND]
    for trial in sample:
        wrong = attempt(trial)
        assert not wrong or wrong.startswith(FALSE), trial.path
