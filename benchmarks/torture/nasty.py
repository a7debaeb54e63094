"""Values that no argument expects, or few: one list for every argument of every door."""

import decimal
import enum
import fractions
import math
from typing import Any

import numpy as np


class Unruly:
    """Raises whatever it is asked."""

    def __init__(self, *args: Any) -> None:
        """Refuse to be made of anything."""
        if args:
            raise RuntimeError("unruly")

    def __bool__(self) -> bool:
        """Refuse to be true or false."""
        raise RuntimeError("unruly")

    __len__ = __float__ = __int__ = __iter__ = __array__ = __eq__ = __bool__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Colour(enum.IntEnum):
    """A number with a name."""

    RED = 3


def nothing(*args: Any, **given: Any) -> None:
    """Return nothing, whatever comes."""


def fails(*args: Any, **given: Any) -> None:
    """Raise, whatever comes."""
    raise LookupError("the user's own")


def values() -> dict[str, Any]:
    """Give every value by its name; each call makes them anew, as some can be used up."""
    return {
        "None": None,
        "True": True,
        "False": False,
        "0": 0,
        "-1": -1,
        "1": 1,
        "2.5": 2.5,
        "-0.0": -0.0,
        "1e-320": 1e-320,
        "1e-60": 1e-60,
        "1e20": 1e20,
        "1e308": 1e308,
        "-1e308": -1e308,
        "2**31": 2**31,
        "2**63": 2**63,
        "10**400": 10**400,
        "-10**400": -(10**400),
        "nan": math.nan,
        "inf": math.inf,
        "-inf": -math.inf,
        "1j": 1j,
        "''": "",
        "'abc'": "abc",
        "'1'": "1",
        "'nul'": "\0",
        "'surrogate'": "\udcff",
        "b'x'": b"x",
        "[]": [],
        "[1]": [1],
        "[1, 2]": [1, 2],
        "['a']": ["a"],
        "[None]": [None],
        "ragged": [[1.0], [1.0, 2.0]],
        "itself": _endless(),
        "()": (),
        "(1.0,)": (1.0,),
        "{}": {},
        "{'a': 1}": {"a": 1},
        "set()": set(),
        "range(2)": range(2),
        "iterator": iter([1.0, 2.0]),
        "array of nan": np.full(2, math.nan),
        "array of two": np.array([1, 0]),
        "array of 1.5": np.array(1.5),
        "array of 3": np.array(3),
        "array of none": np.empty(0),
        "array 2 x 2": np.zeros((2, 2)),
        "array of words": np.array(["a", "b"]),
        "array of objects": np.array([None, 1.0], object),
        "array of bool": np.array([True, False]),
        "structured": np.zeros(2, [("a", float)]),
        "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
        "matrix": np.array([[1.0, 0.0]]).view(np.matrix),
        "float16": np.float16(2),
        "float32": np.float32(1),
        "longdouble": np.longdouble(1),
        "int8": np.int8(-3),
        "uint64": np.uint64(2**64 - 1),
        "bool_": np.bool_(True),
        "datetime64": np.datetime64("2020-01-01"),
        "Fraction": fractions.Fraction(1, 3),
        "Decimal": decimal.Decimal("0.1"),
        "IntEnum": Colour.RED,
        "object": object(),
        "unruly": Unruly(),
        "a class": Unruly,
        "print": nothing,
        "a function that raises": fails,
        "memoryview": memoryview(b"ab"),
        "module": math,
    }


def words() -> list[str]:
    """Give what might stand after a flag of the command line."""
    return [
        "", " ", "0", "-1", "1", "2.5", "nan", "inf", "-inf", "1e400", "1e-400", "1e20", "0x10",
        "1_0", "1,0", "1,,0", "1,a", "[1 0]", "abc", "--tol", "-", "--", "=", "a=b", "a=1", ":",
        "a:b",
        "json:loads", "json.py:loads", "landscape:", "landscape:none", "os:system", "/", ".", "..",
        "/dev/null", "/dev/null:f", "\x00", "\udcff", "é", "\u0661", "%s", "{}", "true", "None",
        "1" * 5000,
    ]  # fmt: skip


def _endless() -> list[Any]:
    it: list[Any] = []
    it.append(it)
    return it
