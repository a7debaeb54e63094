"""The one checker of arguments: numbers, whole numbers, names and functions, on every front end."""

from collections.abc import Callable, Iterable, Mapping
from math import inf, isfinite, nan
from numbers import Real
from typing import Any

import numpy as np

from unsaddle.messages import nearest

MOST = 1e100  # of a whole number: a float can still count it


def number(value: Any) -> float:
    """Give a real number as a float, and NaN for what is none; no truth value is a number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return nan
    given: Any = value
    try:
        return float(given)
    except OverflowError:  # of an integer of hundreds of digits
        return inf if given > 0 else -inf


def real(name: str, value: Any, holds: Callable[[float], Any], expected: str) -> float:
    """Check a finite number."""
    given = number(value)
    if not (isfinite(given) and holds(given)):
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")
    return given


def whole(
    name: str, value: Any, none: bool = False, least: int = 0, most: float = MOST, hint: str = ""
) -> Any:
    """Check a whole number, or a budget, of which there may be ``none``; it is an int after it."""
    if none and value is None:
        return inf
    given = number(value)
    if not (least <= given <= most and given.is_integer()):
        limit = f", at most {most:.10g}" if given > most else ""
        expected = f"a whole number >= {least}{limit}{', or None' * none}"
        raise ValueError(f"{name} must be {expected}, got {shown(value)}{hint}")
    return int(value)


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """Check a name, and say which of the known ones was probably meant."""
    known = [*known]
    if not isinstance(value, str):
        raise ValueError(
            f"{name} must be a name, got {shown(value)}; the known ones are {', '.join(known)}"
        )
    if value not in known:
        raise ValueError(f"{name} {value!r} is unknown; {nearest(value, known)}")
    return value


def yes_or_no(name: str, value: Any) -> bool:
    """Check a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def function(name: str, value: Any, hint: str = "") -> Any:
    """Check that something can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {type(value).__name__}{hint}")
    return value


def shown(value: Any) -> str:
    """Write a value that may be of any length, or refuse to be written, on one short line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # its own affair; a number may have too many digits to be written
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:76]} ..."


def unlike(name: str, values: Mapping[int, Any], who: str, hint: str) -> str:
    """Say what has to be the same of some processes and is not; nothing if it is the same."""
    texts = dict(zip(values, _apart([*values.values()]), strict=True))
    if len({*texts.values()}) < 2:
        return ""
    where = {text: [it for it in texts if texts[it] == text] for text in texts.values()}
    got = "; ".join(f"{text} on {who} {listed(its)}" for text, its in where.items())
    return f"{name} must be the same on every {who}, got {got}: {hint}"


def _apart(values: list[Any]) -> list[str]:
    """Give values in words, of dictionaries what differs."""
    if not all(isinstance(each, dict) for each in values):
        return [*map(str, values)]
    every = {name: {str(each.get(name)) for each in values} for it in values for name in it}
    names = [name for name, found in every.items() if len(found) > 1]
    return [", ".join(f"{name}={each.get(name)}" for name in names) for each in values]


def listed(numbers: Iterable[int]) -> str:
    """Write numbers in a row."""
    return ", ".join(map(str, numbers))
