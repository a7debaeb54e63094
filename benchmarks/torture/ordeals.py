"""The ordeals by name: what each tries, and its trials."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.torture import backends, calibration, company, faults, files, fuzz
from benchmarks.torture.trial import Trial


class Ordeal(NamedTuple):
    """A kind of trials."""

    says: str
    trials: Callable[[int], Iterator[Trial]]  # of a seed


ORDEALS = {
    "fuzz": Ordeal(
        "Every argument of every door on NumPy, in ASE and on the command line is given each of "
        "some seventy nasty values. The call must end as it should, or in a TypeError or "
        "ValueError that names the argument.",
        fuzz.trials,
    ),
    "faults": Ordeal(
        "The user's function fails at every one of its calls, in eight ways. The lowest value seen "
        "must be in the result, and a run that is resumed must end as if nothing had happened, to "
        "the bit.",
        faults.trials,
    ),
    "files": Ordeal(
        "Runs are cut at every gradient, saved, and resumed in another process. Files are damaged "
        "by a bit, or cut short: they must be refused by name, or read as what they were.",
        files.trials,
    ),
    "calibration": Ordeal(
        "The Hessian has an eigenvalue just below -gamma. A certificate that it has none is false, "
        "and may be given with probability delta at most. A direction that is given must be "
        "one.",
        calibration.trials,
    ),
    "company": Ordeal(
        "Runs in threads, in forked and spawned processes, under asyncio and on two ranks must end "
        "as one alone does, to the bit.",
        company.trials,
    ),
    "faults on torch and in ASE": Ordeal(
        "The closure of every optimiser fails at every call, and so does a calculator. The next "
        "step goes on, and the run must end as if nothing had happened, to the bit.",
        backends.fault_trials,
    ),
    "torch": Ordeal(
        "Nasty values for every argument of every torch optimiser, `Escape`, `certify` and saved "
        "state.",
        backends.torch_trials,
    ),
    "jax": Ordeal(
        "Nasty values for every argument on JAX and in optax. What is taken would be compiled, for "
        f"seconds: of {backends.COMPILED} trials one goes on to that, the others end before it.",
        backends.jax_trials,
    ),
    "calibration on torch and JAX": Ordeal(
        "As above, with delta = 0.1: `certify` in two precisions and by exact products, and whole "
        "runs of five methods.",
        backends.calibration,
    ),
}
