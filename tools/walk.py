"""Which functions of the package six calls pass through, in the order in which they are entered.

``python tools/walk.py`` prints the walks, ``python tools/walk.py minimize certify`` two of them,
``--output docs/walks.md`` writes the page that compares them with those of ``walks_before.json``,
and ``--json FILE`` writes such a file. With another ``PYTHONPATH`` it walks another version.

Counted are functions and methods that stand in a file of ``unsaddle``, each once, nested ones and
properties too. Lambdas, comprehensions, generated code (such as that of named tuples) and whatever
runs while a module is being imported are not.

*The algorithm* is what stands in descents, escapes and the operations on vectors, and whatever is
entered from there: the contract of the kernel, the formulas of what can be resolved. It is many
short phases, one idea each in a file of its own, and whoever changes a method reads one or two of
them. *Around the algorithm* is all the rest, which whoever follows a call passes in any case: from
the arguments to the loop, from the loop to the function and back, and from there to the result.
Lines that begin with a dot are the algorithm's.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from calls import CALLS

import unsaddle

PACKAGE = os.path.join(os.path.dirname(unsaddle.__file__), "")
BEFORE = Path(__file__).with_name("walks_before.json")
PARTS = ("descents/", "escapes/", "core/arrays")
INSIDE = (*PARTS, "ops/", "numpy/ops", "torch/ops", "jax/ops")


class Step(NamedTuple):
    """A function that was entered."""

    file: str
    name: str
    inside: bool  # whether it is part of the algorithm


Walk = list[Step]


def walk(call: Callable[[], Any]) -> Walk:
    """List the functions of the package that a call enters."""
    entered: dict[tuple[str, str], Step] = {}
    importing, inside = 0, [False]  # the latter of every frame there is

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        if event == "return" and len(inside) > 1:
            inside.pop()
        if event == "call":
            own = code.co_filename.startswith(PACKAGE)
            file = code.co_filename.removeprefix(PACKAGE).replace(os.sep, "/")
            inside.append(inside[-1] or (own and file.startswith(INSIDE)))
            named = code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<")
            if own and named and not importing:
                name = code.co_qualname.replace(".<locals>", "")
                entered.setdefault((file, name), Step(file, name, inside[-1]))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*entered.values()]


def counts(steps: Walk) -> tuple[str, str]:
    """Count functions and files, of the whole walk and of its part around the algorithm."""
    parts = steps, [step for step in steps if not step.inside]
    whole, around = (f"{len(p)} functions in {len({s.file for s in p})} files" for p in parts)
    return whole, around


def lines(steps: Walk) -> str:
    """Write a walk, with a line for each visit of a file."""
    return "\n".join(
        f"{'.' * inside}{file}: {', '.join(step.name for step in each)}"
        for (file, inside), each in groupby(steps, key=lambda step: (step.file, step.inside))
    )


def page(walks: dict[str, Walk], before: dict[str, Walk], commit: str) -> str:
    """Write the page that compares walks with those before."""
    title, _, *told = (__doc__ or "").replace("``", "`").strip().split("\n\n")
    head = ("call", "before", "now", "around the algorithm, before", "now")
    rows, parts = [head, ("---",) * len(head)], []
    for name, steps in walks.items():
        (then, then_around), (now, now_around) = counts(before[name]), counts(steps)
        rows.append((name, then, now, then_around, now_around))
        parts += [f"## {name}\n", (CALLS[name].__doc__ or "").replace("``", "`") + "\n"]
        parts += [f"```\n{lines(steps)}\n```\n", f"Before:\n\n```\n{lines(before[name])}\n```\n"]
    table = [f"| {' | '.join(row)} |" for row in rows]
    first = f"{title} `make walks` writes this page; *before* is commit `{commit}`."
    return "\n\n".join(["# Walks", first, *told, "\n".join(table), "\n".join(parts)])


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
        whole, around = counts(steps)
        print(f"{name}: {whole}; around the algorithm {around}\n{lines(steps)}\n")
    if given.json:
        given.json.write_text(json.dumps({"commit": given.commit, "walks": walks}) + "\n")
    if given.output:
        before = json.loads(BEFORE.read_text())
        earlier = {name: [Step(*step) for step in steps] for name, steps in before["walks"].items()}
        given.output.write_text(page(walks, earlier, before["commit"]))


if __name__ == "__main__":
    main()
