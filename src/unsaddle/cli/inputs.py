"""What the command line is given: numbers, settings, and the places of functions."""

import argparse
import builtins
import importlib
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np

from unsaddle.landscapes import LANDSCAPES, Landscape
from unsaddle.messages import meant, nearest

SPECIAL = {"true": lambda: True} | {f"landscape:{name}": make for name, make in LANDSCAPES.items()}
PLACES = f"MODULE:NAME, FILE.py:NAME, or landscape:NAME of {', '.join(LANDSCAPES)}"


class TheirError(Exception):
    """The cause was raised by the user's function."""


def numbers(text: str) -> np.ndarray:
    """Read numbers with commas or spaces between them."""
    try:
        given = [float(word) for word in text.strip("[]() ").replace(",", " ").split()]
    except ValueError:
        given = []
    if not given:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers: type --x0 1,0")
    return np.array(given)


def whole(text: str) -> int:
    """Read a whole number, also if it is written as 1e3."""
    try:
        return int(text)
    except ValueError:
        with suppress(ValueError):
            if float(text).is_integer() and abs(float(text)) < 2**53:
                return int(float(text))
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number: type 1000, or 1e3")


def setting(text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with a number: type --set {name}=0.1"
        ) from None


def function(text: str) -> Any:
    """Find what is at MODULE:NAME, FILE.py:NAME or landscape:NAME; ``true`` is True."""
    if text.lower() in SPECIAL:
        return SPECIAL[text.lower()]()
    place, _, name = text.rpartition(":")
    folder, module = os.path.split(place.removesuffix(".py"))
    is_file = place.endswith(".py")
    wrong = {
        f"{text!r} is no place of a function: type {PLACES}": not (module and name),
        f"there is no {text!r}; {nearest(name, LANDSCAPES)}": place.lower() == "landscape",
        f"there is no file {place!r}": is_file and not os.path.exists(place),
    }
    for message in [message for message, holds in wrong.items() if holds]:
        raise argparse.ArgumentTypeError(message)
    sys.path.insert(0, os.path.abspath(folder))
    try:
        found = loaded(os.path.abspath(place)) if is_file else importlib.import_module(module)
    except Exception as error:
        missing = str(error.name) if isinstance(error, ModuleNotFoundError) else "?"
        absent = module.startswith(missing) and not is_file
        why = f"there is no module {place!r}" if absent else f"{place} does not load: {error!r}"
        raise argparse.ArgumentTypeError(why) from error
    if not hasattr(found, name):
        close = meant(name, dir(found)) or "is it spelt so there?"
        raise argparse.ArgumentTypeError(f"there is no {name!r} in {place}; {close}".rstrip())
    return getattr(found, name)


def exception(text: str) -> type[Exception]:
    """Find an exception class by its place, or by its name if it is built in."""
    found = vars(builtins).get(text) or function(text)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no exception: type --trial-errors ArithmeticError, or MODULE:NAME"
        )
    return found


@cache
def loaded(path: str) -> ModuleType:
    """Run a file, whatever its name; the module's own is the path, which no other module has."""
    name = path.replace(".", ":")  # with a dot it would be in a package
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = path
    SourceFileLoader(name, path).exec_module(module)
    return module


def placed(given: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments with a point of the right size; a landscape has one of its own."""
    fun = given["fun"]
    if isinstance(fun, Landscape):
        x0 = given.setdefault("x0", fun.saddles[0])
        if len(x0) != fun.n:
            raise ValueError(f"x0 has {len(x0)} numbers, but {fun.name} has {fun.n} variables")
    if "x0" not in given:
        raise ValueError("x0 is missing: type --x0 1,0")
    return given


def with_constants(fun: Landscape, **given: Any) -> dict[str, Any]:
    """Add the function, the gradient and the constants of a landscape to what was given."""
    known = {name: getattr(fun, name) for name in ("smoothness", "hessian_lipschitz")}
    known["decrease_available"] = max(fun.value(given["x0"]) - fun.infimum, sys.float_info.epsilon)
    return {**known, "fun": fun.value, "jac": fun.gradient, **given}
