"""A fault at every call of a closure on torch, or of a calculator in ASE: the next step goes on."""

import contextlib
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from ase import Atoms
from ase.calculators.emt import EMT

import unsaddle.ase
import unsaddle.torch as front
from benchmarks.torture.doors_torch import loss_of, net
from benchmarks.torture.faults import CONSTANTS, LONG, METHODS, SOME, TheirError
from benchmarks.torture.files import LONG as LONG_RUNS
from benchmarks.torture.trial import Trial
from unsaddle.core.session import NotFiniteError
from unsaddle.methods.table import METHODS as LINES

STEPS = 2500  # of a training that does not end by itself
OWN = {name: METHODS[name] for name in METHODS if name in LINES and name not in LONG_RUNS}
KINDS = ("exception", "ctrl-c", "nan")
AFTER = (TheirError, KeyboardInterrupt, NotFiniteError)
SEARCHING = ("auto", "agd-auto", "fastcubic")  # a step that is as long as the loss allows
Trouble = Callable[[int], str]  # of the number of a call: the kind of fault, or nothing


def trials(seed: int) -> Iterator[Trial]:
    """Give a trial for every optimiser, kind of fault and call."""
    runs: dict[str, Any] = {
        f"torch.{front.OPTIMISERS[name].__name__}": partial(_trained, name) for name in OWN
    }
    runs["torch.Escape"] = partial(_trained, "Escape")
    runs["ase.Minimum"] = _relaxed
    for row, run in runs.items():
        kinds = KINDS[:2] if row == "ase.Minimum" else KINDS  # forces that are NaN spoil a trial
        for kind in kinds:
            calls = _whole(run)[1]
            for k in range(1, calls + 1, 1 if calls <= LONG else SOME):
                yield Trial(row, f"{kind} at call {k}", partial(_fault, run, kind, k))


@lru_cache
def _whole(run: Any) -> tuple[tuple[str, ...], int]:
    """Run without faults; give how it ends, and the number of calls."""
    return run(lambda call: "")


def _fault(run: Any, kind: str, k: int) -> str:
    """Make the k-th call fail, and go on: the end must be the same, to the bit.

    What is raised costs the call that failed; if that was the second, by which an optimiser on
    torch sees whether its closure repeats itself, the first is made again with it. A trial
    takes NaN for a step too long, and goes on to a minimum by a shorter one.
    """
    whole, calls = _whole(run)
    end, made = run(lambda call: kind if call == k else "")
    if kind == "nan" and run.args[0] in SEARCHING and end[0] == whole[0] and _lowest(end):
        return ""
    if end != whole:
        return f"ended {end} where it ends {whole} without a fault"
    twice = k == 2 and getattr(run, "func", None) is _trained and run.args != ("Escape",)
    if kind != "nan" and made != calls + 1 + twice:
        return f"made {made} calls where it makes {calls} without a fault"
    return ""


def _lowest(end: tuple[str, ...]) -> bool:
    """Say whether a run ended at one of the minima of its loss, (0, -1) and (0, 1)."""
    x, y = (float.fromhex(it) for it in end[1:])
    return math.hypot(x, abs(y) - 1) < CONSTANTS["tol"]


def _trained(name: str, trouble: Trouble) -> tuple[tuple[str, ...], int]:
    """Take steps until the optimiser has ended; a step whose closure has failed is taken again."""
    at, calls = net(), 0
    plain = loss_of(at)
    given = {**CONSTANTS, **OWN.get(name, {})}
    opt: Any = (
        front.Escape(torch.optim.SGD([at], lr=0.1), tol=1e-2)
        if name == "Escape"
        else front.OPTIMISERS[name]([at], **given)
    )

    def closure() -> Any:
        nonlocal calls
        calls += 1
        loss, kind = plain(), trouble(calls)
        if not kind:
            return loss
        at.grad = torch.full_like(at, math.nan)
        _raise(kind)
        return loss

    taken = 0
    while opt.outcome is None and taken < (STEPS if name != "Escape" else 60):
        with contextlib.suppress(*AFTER):
            opt.step(closure)
            taken += 1
    with opt.iterate():
        x = [it.hex() for it in at.detach().tolist()]
    return (str(opt.outcome), *x), calls


def _relaxed(trouble: Trouble) -> tuple[tuple[str, ...], int]:
    """Relax a chain of copper; a run whose calculator has failed goes on."""
    calls = 0

    class Failing(EMT):
        def calculate(self, *args: Any, **given: Any) -> None:
            nonlocal calls
            calls += 1
            _raise(trouble(calls))
            super().calculate(*args, **given)

    atoms = Atoms("Cu4", np.outer([0.0, 2.3, 4.6, 6.9], [1.0, 0.0, 0.0]))
    atoms.calc = Failing()
    relaxation = unsaddle.ase.Minimum(atoms, logfile=None)
    for _ in range(2):
        with contextlib.suppress(*AFTER):
            relaxation.run(fmax=0.05, steps=100)
    made = calls
    return (str(relaxation.certificate), *(it.hex() for it in atoms.positions.ravel())), made


def _raise(kind: str) -> None:
    if kind == "exception":
        raise TheirError
    if kind == "ctrl-c":
        raise KeyboardInterrupt
