"""The public doors on NumPy, in ASE and on the command line, each with a call that is in order."""

import contextlib
import functools
import io
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from ase.build import molecule
from ase.calculators.emt import EMT
from ase.optimize import FIRE

import unsaddle
import unsaddle.ase
from unsaddle.cli.commands import main
from unsaddle.methods.table import STOCHASTIC

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
KICKED: dict[str, Any] = {**CONSTANTS, "decrease_available": 1.0}
SAMPLED: dict[str, Any] = {**CONSTANTS, "stochastic_smoothness": 6.0, "variance": 0.1}
NEEDED = {
    name: {word: KICKED[word] for word in ("tol", *line.constants)}
    for name, line in unsaddle.METHODS.items()
}


class Door(NamedTuple):
    """A public function, and how it is called in order."""

    call: Callable[..., Any]
    given: dict[str, Any]  # by name
    words: Iterable[str] = ()  # that it takes besides: hyperparameters
    answers: Iterable[str] = ()  # of its arguments, those that are functions and are called


@np.errstate(all="ignore")
def value(x: Any, *more: Any) -> float:
    """x^2/2 - y^2/2 + y^4/4: a saddle at 0, minima at y = +-1; y is the last variable."""
    return float(0.5 * x[:-1] @ x[:-1] - 0.5 * x[-1] ** 2 + 0.25 * x[-1] ** 4)


@np.errstate(all="ignore")
def gradient(x: Any, *more: Any) -> np.ndarray:
    """Give its gradient."""
    return np.append(x[:-1], x[-1] ** 3 - x[-1])


def _sampler(rng: Any, size: int) -> np.ndarray:
    return rng.standard_normal(size)


def _mean(x: Any, batch: Any) -> np.ndarray:
    drawn = batch.standard_normal(1) if isinstance(batch, np.random.Generator) else batch
    return gradient(x) + 0.1 * np.mean(drawn if np.asarray(drawn).dtype.kind in "fiu" else 0.0)


@functools.wraps(unsaddle.minimize_stochastic)
def _stopped(*args: Any, **given: Any) -> Any:
    """End a run that would go on for ever, as it was asked to."""
    calls = iter(range(60))
    return unsaddle.minimize_stochastic(*args, **{"callback": lambda x: next(calls), **given})


def _finite_sum(grad: Any, data: Any, replace: Any) -> Any:
    source = unsaddle.FiniteSum(grad, data, replace=replace)
    return unsaddle.minimize_stochastic(source, [1.0, 0.1], max_samples=100, **SAMPLED)


def _through_scipy(method: Any, **parameters: Any) -> Any:
    way = unsaddle.scipy_method(method, **parameters)
    return scipy.optimize.minimize(value, [1.0, 0.1], jac=gradient, method=way)


def _saved(checkpoint: Any, path: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        unsaddle.save(checkpoint, path)


def _loaded(path: Any) -> None:
    with contextlib.suppress(OSError):
        unsaddle.load(path)


def _resumed(state: Any) -> Any:
    return unsaddle.minimize(value, [1.0, 0.1], jac=gradient, state=state, max_gradients=50)


def _atoms() -> Any:
    atoms = molecule("H2O")
    atoms.calc = EMT()
    return atoms


def _minimum(fmax: Any, steps: Any, **given: Any) -> None:
    unsaddle.ase.Minimum(_atoms(), logfile=None, **given).run(fmax, steps)


def _around(fmax: Any, steps: Any, optimizer: Any = None, **given: Any) -> None:
    inner: Any = FIRE(_atoms(), logfile=os.devnull) if optimizer is None else optimizer
    unsaddle.ase.Escape(inner, **given).run(fmax, steps)


def numpy_doors() -> dict[str, Door]:
    """Give the doors on NumPy."""
    start = {"x0": [1.0, 0.1], "jac": gradient, "fun": value}
    bounded = {"max_gradients": 60}
    each = {
        f"minimize, {name}": Door(
            unsaddle.minimize, start | bounded | NEEDED[name] | {"method": name}, line.options
        )
        for name, line in unsaddle.METHODS.items()
    }
    each["minimize, auto"] = each["minimize, auto"]._replace(answers=("fun", "jac"))
    state = unsaddle.minimize(**start, max_gradients=3).state
    search = {"grad": gradient, "x": [0.0, 1.0], "max_gradients": 60}
    sampled: dict[str, Any] = {"grad": _mean, "x0": [1.0, 0.1], "sampler": _sampler}
    sampled |= {"max_samples": 200, **SAMPLED}
    drawn = {
        f"minimize_stochastic, {name}": Door(_stopped, sampled | {"method": name}, line.options)
        for name, line in STOCHASTIC.items()
    }
    first = drawn["minimize_stochastic, sgd+nc"]
    drawn["minimize_stochastic, sgd+nc"] = first._replace(answers=("grad", "sampler"))
    return {
        **each,
        "minimize, starts": Door(unsaddle.minimize, start | bounded | {"starts": 2}),
        "minimize, jac=True": Door(
            unsaddle.minimize,
            {**start, **bounded, "fun": lambda x, *more: (value(x), gradient(x)), "jac": True},
            answers=("fun",),
        ),
        "minimize, numerical": Door(unsaddle.minimize, {**start, **bounded, "jac": None}),
        "certify": Door(unsaddle.certify, search, answers=("grad",)),
        "find_negative_curvature": Door(unsaddle.find_negative_curvature, search),
        **drawn,
        "FiniteSum": Door(
            _finite_sum,
            {"grad": _mean, "data": np.linspace(-1, 1, 9), "replace": False},
            answers=("grad",),
        ),
        "scipy_method": Door(_through_scipy, {"method": "auto"}, ["tol", "max_gradients", "seed"]),
        "save": Door(_saved, {"checkpoint": state, "path": "run.npz"}),
        "load": Door(_loaded, {"path": "absent.npz"}),
        "resume": Door(_resumed, {"state": state}),
    }  # fmt: skip


def ase_doors() -> dict[str, Door]:
    """Give the doors in ASE."""
    words = [*unsaddle.ase.Words.__annotations__]
    run = {"fmax": 0.05, "steps": 5}
    return {
        "ase.certify": Door(
            unsaddle.ase.certify, {"atoms": _atoms(), "max_force_calls": 5}, words
        ),
        "ase.Minimum": Door(_minimum, run, [*words, "maxstep"]),
        "ase.Escape": Door(_around, run, [*words, "maxstep"]),
    }  # fmt: skip


FLAGS = (
    "fun", "--x0", "--jac", "--method", "--tol", "--curvature-tol", "--failure-probability",
    "--seed", "--max-gradients", "--smoothness", "--hessian-lipschitz", "--decrease-available",
    "--gradient-noise", "--probe-radius", "--max-step", "--set",
)  # fmt: skip
LINES = {
    "unsaddle": ([], ["", "--version"]),
    "unsaddle methods": (["methods"], ["", "--json"]),
    "unsaddle minimize": (["minimize", "landscape:double_well", "--max-gradients=60"], FLAGS),
    "unsaddle certify": (["certify", "landscape:double_well", "--max-gradients=60"], FLAGS[:9]),
    "unsaddle atoms": (
        ["atoms", "absent.xyz", "--calculator=emt"],
        ["fun", "--calculator", "--fmax", "--frequency", "--steps", "--seed", "-o", "--log"],
    ),
    "unsaddle reproduce": (["reproduce", "none"], ["--output", "--seed"]),
}


def command(words: list[str]) -> str:
    """Run the command line in an empty folder; give what is wrong with how it ended."""
    said, complained = io.StringIO(), io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(complained),
    ):
        try:
            code: Any = main(words)
        except SystemExit as end:
            code = end.code
        left = os.listdir()
    errors = complained.getvalue()
    if code not in (0, 1, 2):
        return f"exit code {code!r}"
    if "Traceback" in errors:
        return errors
    if code == 2 and not errors.startswith("unsaddle: error: "):
        return f"ended with 2 and said {errors!r}"
    return f"left {left}" if left else ""
