"""Every public argument of every door, with every value of one list."""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.torture import nasty
from benchmarks.torture.doors import LINES, Door, ase_doors, command, numpy_doors
from benchmarks.torture.trial import Trial
from unsaddle import Outcome

THEIRS = (
    "the user's own",
    "unruly",
    "grad ignores its sample",
    "the parameters are as they were",  # of a step too long: the loss is infinite
)  # what the values themselves raise is the user's to see
ALIASES = {  # of an argument, what a message may call it
    "x": ("point", "grad"), "fun": ("jac",), "grad": ("gradient",), "sampler": ("grad",),
    "data": ("rows", "sampler"), "params": ("parameters", "optimizer"), "checkpoint": ("save",),
    "path": ("file",), "atoms": ("structure",), "hessian_lipschitz": ("tol",),
    "optimizer": ("atoms",), "state_dict": ("state",), "name": ("method",), "seeds": ("seed",),
    "closure": ("loss",),
}  # fmt: skip


def trials(seed: int) -> Iterator[Trial]:
    """Give all trials of the doors on NumPy, in ASE and on the command line."""
    yield from through({**numpy_doors(), **ase_doors()}, nasty.values)
    for row, (words, flags) in LINES.items():
        for flag in flags:
            for k, word in enumerate(nasty.words()):
                yield Trial(row, f"{flag}={k}", partial(command, _line(words, flag, word)))


def through(doors: dict[str, Door], values: Callable[[], dict[str, Any]]) -> Iterator[Trial]:
    """Give a trial for every argument of these doors and every value."""
    for row, door in doors.items():
        own = inspect.signature(door.call).parameters.values()
        names = [it.name for it in own if it.kind not in (it.VAR_KEYWORD, it.VAR_POSITIONAL)]
        for name in dict.fromkeys([*names, *door.given, *door.words]):
            for which in values():
                yield Trial(row, f"{name}={which}", partial(_given, door, name, values, which))
        for name in door.answers:
            for which in values():
                yield Trial(row, f"{name}->{which}", partial(_answers, door, name, values, which))


def _line(words: list[str], flag: str, word: str) -> list[str]:
    if flag == "fun":
        return [*words[:1], word, *words[2:]]
    return [*words, word] if not flag else [*words, f"{flag}={word}"]


def _given(door: Door, name: str, values: Callable[[], dict[str, Any]], which: str) -> str:
    """Give one argument a value."""
    return _judged(door, name, values()[which])


def _answers(door: Door, name: str, values: Callable[[], dict[str, Any]], which: str) -> str:
    """Let one function answer with a value, at its third call and from then on."""
    plain, calls = door.given[name], []

    def answer(*args: Any) -> Any:
        calls.append(None)
        return plain(*args) if len(calls) < 3 else values()[which]

    return _judged(door, name, answer)


def _judged(door: Door, name: str, value: Any) -> str:
    """Call a door; say what is wrong with how it ended."""
    try:
        result = door.call(**{**door.given, name: value})
    except (TypeError, ValueError, ArithmeticError) as error:
        if any(it in str(error) for it in THEIRS):
            return ""
        known = (name, *ALIASES.get(name, ()))
        if any(re.search(rf"(?<![a-z]){re.escape(it)}", str(error)) for it in known):
            return ""
        raise
    except Exception as error:
        if any(it in str(error) for it in THEIRS):
            return ""
        if name == "closure" and str(error).startswith("the closure "):  # it was called, and that
            return ""  # is an error of the run, or a warning, which says what it did
        raise
    return inconsistent(result)


def inconsistent(result: Any) -> str:
    """Say what a result of any door contradicts in itself."""
    if not hasattr(result, "outcome") or not hasattr(result, "best"):
        return ""
    if result.success != (result.outcome is Outcome.CERTIFIED):
        return f"success is {result.success} and the outcome {result.outcome}"
    if result.success and result.certificate.holds is not True:
        return "success without a certificate"
    if not np.isfinite(result.x).all():
        return f"x is {result.x}"
    if not math.isnan(result.fun) and result.best.fun > result.fun:
        return f"best is {result.best.fun}, fun is {result.fun}"
    return ""
