"""Write methods.md from the table of methods and the docstrings: ``python docs/methods.py``."""

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from unsaddle.core.kernel import Part, Phase
from unsaddle.core.phases import BOTH, GRADIENT, PROOF, PROVE, VALUE, name_of
from unsaddle.methods.table import METHODS, STOCHASTIC

PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Methods

A method is a descent, for where the gradient is large, and an escape, for where it is small.
`unsaddle methods` prints this table. This page is written from the code by `python
docs/methods.py`.

"""
FOOT = """
`auto` needs nothing but the function and its gradient: it measures what it has to know. The
methods of Zhang & Li (2021), *the paper*, have proven rates, and need two constants for them:
`smoothness`, a bound on the norm of the Hessian, and `hessian_lipschitz`, a bound on how fast the
Hessian changes, both wherever the run goes. `pgd` and `pagd` are the paper's baselines. They need
`decrease_available` as well, a bound on f(x0) - min f. All methods succeed only with a
certificate: where a method's own test passes, a [proof](design.md#the-proof) follows. Single
hyperparameters can be set by name, such as `step=0.1` of `pgd+nc`; the [reference](reference.md)
lists them. Proven rates hold in the worst case, with small steps: at the default `tol`, expect
`pgd` and `neon` to take ten thousand times the gradients of `auto`, and more.

For [gradients from samples](stochastic.md):
"""
FIELDS = {
    "parts": "descent x escape",
    "oracle": "oracle",
    "rate": "proven rate",
    "source": "source",
}
ONE_BY_ONE = """
## One by one

Where the paper, or another source, prints an algorithm, its transcription stands here with the
printed line numbers; the tests compare the queries of the method with it, one by one. The other
methods are the phases of their two parts, below. A hyperparameter is set by its name, as in
`minimize(..., step=0.1)`.

![Thirteen methods on the quartic landscape, each with the gradients it took](pictures/methods.png)

The picture is on the quartic landscape of the paper's figure 1, with tol = {tol} and, where they
are needed, the landscape's own constants. Gradients include those of the certificate.
"""
PRINTED = {  # method -> transcriptions in tests/paper
    "pgd+nc": ("algorithm5.py::pgd_nc", "algorithm1.py::nc_finding"),
    "ancgd": ("algorithm2.py::ancgd", "algorithm6.py::nce"),
    "neon2": ("neon2_det.py::neon2_det",),
    "sgd+nc": ("algorithm8.py::sgd_nc", "algorithm3.py::snc_finding"),
    "sharp-sgd": ("sharp_sgd.py::sharp_sgd",),
    "neon2-online": ("neon2_online.py::neon2_online",),
    "spider+": ("spider_sfo_plus.py::spider_sfo_plus",),
}
TRANSCRIPTIONS = PAGE.parents[1] / "tests" / "paper"
COST = json.loads((PAGE.parent / "pictures" / "methods.json").read_text(encoding="utf-8"))
NEEDS = {0: "", VALUE: "value", GRADIENT: "gradient", BOTH: "value, gradient"}


def page() -> str:
    """Give the whole page."""
    return (
        HEAD + table(METHODS) + FOOT + "\n" + table(STOCHASTIC)
        + ONE_BY_ONE.format(tol=COST["tol"]) + "\n" + "\n".join(each_method()) + "\n"
        + "\n".join(parts()) + "\n"
    )  # fmt: skip


def table(methods: dict[str, Any]) -> str:
    """Give a line for each method."""
    rows = [["method", *FIELDS.values()], ["---"] * (len(FIELDS) + 1)]
    rows += [[f"`{name}`", *(getattr(it, f) for f in FIELDS)] for name, it in methods.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def each_method() -> Iterator[str]:
    """Give a section for each method: parts, needs, cost, settings, and what was printed of it."""
    for name, method in (METHODS | STOCHASTIC).items():
        yield f"### Method {name}\n"
        homes = [
            module(part).__name__.rsplit(".", 1)[1] for part in (method.descent, method.escape)
        ]
        links = [f"[{home.replace('_', ' ')}](#{home.replace('_', '-')})" for home in homes]
        both = " and ".join(dict.fromkeys(links))
        yield f"{method.parts[:1].upper()}{method.parts[1:]}: {both}.\n"
        needs = ", ".join(f"`{word}`" for word in method.constants) or "nothing but the function"
        taken = COST["gradients"].get(name)
        yield f"* Source: {method.source}."
        yield f"* Needs: {needs}; asks for: {method.oracle}."
        seen = f" In the picture: {taken:,} gradients." if taken else ""
        yield f"* Proven rate: {method.rate}.{seen}"
        own = {
            word: None for part in (method.descent, method.escape) for word in part.settings._fields
        }
        names = ", ".join(f"`{word}`" for word in own) or "none"
        yield f"* Hyperparameters: {names} ([what they are](reference.md#hyperparameters)).\n"
        for place in PRINTED.get(name, ()):
            yield f"As printed, `tests/paper/{place}`:\n\n```text\n{transcribed(place)}\n```\n"


def transcribed(place: str) -> str:
    """Give the body of a transcription, without the machinery that lets it ask for gradients."""
    file, _, name = place.partition("::")
    text = (TRANSCRIPTIONS / file).read_text(encoding="utf-8")
    (function,) = [it for it in ast.parse(text).body if getattr(it, "name", "") == name]
    first, last = function.body[0].end_lineno, function.end_lineno  # type: ignore[attr-defined]
    body = textwrap.dedent("\n".join(text.splitlines()[first:last]))
    given = ", ".join(argument.arg for argument in function.args.args)  # type: ignore[attr-defined]
    plain_ = re.sub(r"\(yield from ((?:[^()]|\([^()]*\))*)\)", r"\1", body).replace(
        "yield from ", ""
    )
    return (
        textwrap.fill(f"def {name}({given}):", 96, subsequent_indent="        ")
        + "\n"
        + (textwrap.indent(plain_.strip(), "    "))
    )


def parts() -> Iterator[str]:
    """Give a section for each descent and escape that a method is made of."""
    every = (METHODS | STOCHASTIC).values()
    for kind, those in (
        ("Descents", [it.descent for it in every]),
        ("Escapes", [it.escape for it in every]),
    ):
        yield f"## {kind}\n"
        seen: set[str] = set()
        for part in those:
            home = module(part)
            if home.__name__ not in seen:
                seen.add(home.__name__)
                yield from section(part, home)


def module(part: Part) -> ModuleType:
    """Give the module that a part is written in: of those that know it, the one of its updates."""
    rooms = ("unsaddle.descents.", "unsaddle.escapes.")
    homes = [it for name, it in sys.modules.items() if name.startswith(rooms)]
    updates = [inspect.getmodule(phase.update) for phase in part.phases.values()]
    known = [it for it in homes if part in vars(it).values()]
    return max(known or filter(None, updates), key=updates.count)


def section(part: Part, home: ModuleType) -> Iterator[str]:
    """Give what a part's file says of it, and its phases with their formulas."""
    name = home.__name__.rsplit(".", 1)[1]
    path = home.__name__.replace(".", "/") + ".py"
    used = [f"`{m}`" for m, it in (METHODS | STOCHASTIC).items() if part in (it.descent, it.escape)]
    yield f"### {name.replace('_', ' ')}\n"
    yield f"[`{path}`](../src/{path}), in {', '.join(used)}.\n"
    yield plain(inspect.getdoc(home) or "") + "\n"
    rows = [
        row(code, phase) for code, phase in sorted(part.phases.items()) if own(code, phase, home)
    ]
    if rows:
        yield "| phase | asks for | what follows |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"


def own(code: int, phase: Phase, home: ModuleType) -> bool:
    """Say whether a phase is of this file, and not one that several share."""
    return code < PROOF and code != PROVE and inspect.getmodule(phase.update) is home


def row(code: int, phase: Phase) -> str:
    """Give a phase as a row: its name, what it asks for, and the first line of its update."""
    says = plain((inspect.getdoc(phase.update) or "").split("\n\n")[0]).replace("\n", " ")
    return f"| {name_of(code)} | {NEEDS[phase.needs & BOTH]} | {says.replace('|', chr(92) + '|')} |"


def plain(text: str) -> str:
    """Give a docstring as Markdown."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
