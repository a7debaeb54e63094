"""Which functions of the package six calls pass through, in the order in which they are entered.

``python tools/walk.py`` prints the walks, ``python tools/walk.py minimize certify`` two of them,
``--output docs/walks.md`` writes the page that compares them with those of ``walks_before.json``,
and ``--json FILE`` writes such a file. With another ``PYTHONPATH`` it walks another version.

Counted are functions and methods that stand in a file of ``unsaddle``, each once, nested ones and
properties too. Lambdas, comprehensions, generated code (such as that of named tuples) and whatever
runs while a module is being imported are not. *Around the algorithm* are those outside of descents,
escapes and the operations on vectors.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from itertools import groupby
from pathlib import Path
from typing import Any

from calls import CALLS

import unsaddle

PACKAGE = os.path.join(os.path.dirname(unsaddle.__file__), "")
BEFORE = Path(__file__).with_name("walks_before.json")
Walk = list[tuple[str, str]]  # file and function


def walk(call: Callable[[], Any]) -> Walk:
    """List the functions of the package that a call enters."""
    entered: dict[tuple[str, str], None] = {}
    importing = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        named = code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and named and not importing and code.co_filename.startswith(PACKAGE):
            file = code.co_filename.removeprefix(PACKAGE).replace(os.sep, "/")
            entered[file, code.co_qualname.replace(".<locals>", "")] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*entered]


def counts(steps: Walk) -> tuple[int, int, int]:
    """Count functions and files, and the functions of neither an algorithm nor an operation."""
    inside = ("descents/", "escapes/", "ops/", "numpy/ops", "torch/ops", "jax/ops")
    around = [file for file, _ in steps if not file.startswith(inside)]
    return len(steps), len({file for file, _ in steps}), len(around)


def lines(steps: Walk) -> str:
    """Write a walk, with a line for each visit of a file."""
    visits = groupby(steps, key=lambda step: step[0])
    return "\n".join(f"{file}: {', '.join(name for _, name in each)}" for file, each in visits)


def page(walks: dict[str, Walk], before: dict[str, Walk], commit: str) -> str:
    """Write the page that compares walks with those before."""
    title, _, counted = (__doc__ or "").replace("``", "`").strip().split("\n\n")
    kinds = ("functions", "files", "around the algorithm")
    head = ("call", *(f"{kind} before" for kind in kinds), *kinds)
    rows, parts = [head, ("---",) * len(head)], []
    for name, steps in walks.items():
        rows.append((name, *map(str, counts(before[name]) + counts(steps))))
        parts += [f"## {name}\n", (CALLS[name].__doc__ or "").replace("``", "`") + "\n"]
        parts += [f"```\n{lines(steps)}\n```\n", f"Before:\n\n```\n{lines(before[name])}\n```\n"]
    table = [f"| {' | '.join(row)} |" for row in rows]
    told = f"`make walks` writes this page; *before* is commit `{commit}`."
    return "\n".join(["# Walks\n", f"{title} {told}\n", f"{counted}\n", *table, "", *parts])


def main() -> None:
    """Walk, and write what is asked for."""
    parser = argparse.ArgumentParser(description="Print which functions six calls pass through.")
    parser.add_argument("names", nargs="*", metavar="CALL", help=f"one of {', '.join(CALLS)}")
    parser.add_argument("--output", type=Path, help="the page to write")
    parser.add_argument("--json", type=Path, help="the file to write")
    parser.add_argument("--commit", default="", help="that the file says it is of")
    given = parser.parse_args()
    walks = {name: walk(CALLS[name]()) for name in given.names or CALLS}
    for name, steps in walks.items():
        functions, files, _ = counts(steps)
        print(f"{name}: {functions} functions in {files} files\n{lines(steps)}\n")
    if given.json:
        given.json.write_text(json.dumps({"commit": given.commit, "walks": walks}) + "\n")
    if given.output:
        before = json.loads(BEFORE.read_text())
        given.output.write_text(page(walks, before["walks"], before["commit"]))


if __name__ == "__main__":
    main()
