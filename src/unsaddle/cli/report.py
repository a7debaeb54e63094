"""What the command line prints: results, and the library's words as flags."""

import json
import re
from collections.abc import Iterable
from textwrap import fill
from typing import Any

import numpy as np

SPOKEN = {  # what the library says -> what to say here
    r"(?<=\?)\nThe arguments .*;\nthose of (.*) besides:": r" --set with \1 takes",
    r"\nThe arguments .*;\nthose of (.*) besides:": r"; --set with \1 takes",
    "; pass grad=.*": "",
    r"^x (?=must|is)": "x0 ",
    " like x,": " like x0,",
    r"\bfun\b": "FUNCTION",
    r"\bgrad\b": "GRADIENT",
    r"\boption (?=\w+ must)": "--set ",
    " or None": "",
    r"print\(result\) afterwards, or pass callback=.*": (
        "the result is printed at the end, and the progress on a terminal"
    ),
}
IN_PROSE = (
    *("tol", "curvature_tol", "max_gradients", "max_seconds"),
    *("smoothness", "hessian_lipschitz"),
    *("gradient_noise", "probe_radius", "certificate_budget"),
)


def flag(name: str) -> str:
    """Write the name of an argument as that of a flag."""
    return name.replace("_", "-")


def as_flags(message: str, names: Iterable[str]) -> str:
    """Say what the library says of its arguments in the words of the command line, on one line."""
    for pattern, words in SPOKEN.items():
        message = re.sub(pattern, words, message)
    return flagged(message, names)


def flagged(text: str, names: Iterable[str]) -> str:
    """Write names of arguments as flags, but for words in quotes, which are the user's."""
    found = rf"(?<![\w'-])(?<!this )({'|'.join(names)})(?!\w)(=?)(?=([\s.,;)]?))"
    return re.sub(found, lambda it: f"--{flag(it[1])}{' ' if it[2] and not it[3] else ''}", text)


def written(fields: dict[str, Any], as_json: bool) -> str:
    """Write fields for a reader, or as JSON with null for NaN."""
    if as_json:
        fields["certificate"] = vars(fields["certificate"])
        text = json.dumps(fields, default=lambda array: array.tolist())
        return json.dumps(json.loads(text, parse_constant=lambda nan: None), indent=2)
    for name in {"sentence", "certificate"} & fields.keys():
        fields[name] = flagged(str(fields[name]), IN_PROSE)
    shown = {name: part for name, part in fields.items() if part is not None}
    with np.printoptions(threshold=10, linewidth=1000, formatter={"float_kind": "{:.6g}".format}):
        lines = [f"{name:15}{part}".replace(" nan", " unknown") for name, part in shown.items()]
    return "\n".join(fill(line, 100, subsequent_indent=" " * 15) for line in lines)
