"""The documentation: every example runs, every link, name and table agrees with the code."""

import ast
import contextlib
import inspect
import io
import re
import runpy
import shlex
import sys
from itertools import islice, takewhile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from unsaddle import METHODS, Outcome
from unsaddle.cli import FIELDS, main
from unsaddle.core.outcome import STATUS

ROOT = Path(__file__).parents[2]
README, DESIGN = ROOT / "README.md", ROOT / "docs" / "design.md"
PAPER, TABLE = ROOT / "docs" / "paper-to-code.md", ROOT / "docs" / "methods.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
MARKS = {"machines": [pytest.mark.torch, pytest.mark.jax]}  # of pages that need both
HOSTS = ("lmfit", "sklearn", "statsmodels")  # whose users a page shows how to go on
each_page = pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=MARKS.get(page.stem, ())) for page in PAGES],
    ids=lambda page: page.name,
)

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
LINK = re.compile(r"\]\(([^)#]*)(#[^)]*)?\)")
NAME = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")
SPAN = re.compile(r"(\d+)(?: to (\d+))?")
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
COUNT = re.compile(r" gradients?\b")  # what follows a number that rounding may change
FLOAT32 = ("torch", "jax")  # pages whose runs are in single precision


def table(page: Path, head: str) -> list[list[str]]:
    """Give the cells of the first table whose first column has this head."""
    lines = page.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [[cell.strip(" `*") for cell in row.strip("|").split("|")] for row in rows]


def alike(printed: str, shown: str, single: bool = False) -> None:
    """Compare two texts: the words exactly, the numbers as other processors would print them.

    A number may differ by 1e-6, or by one in the last digit that is shown. In single precision
    rounding decides where a search ends: what was measured there, and the gradients that it took,
    agree to a quarter.
    """
    printed, shown = (" ".join(text.split()) for text in (printed, shown))
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    for ours, theirs in zip(NUMBER.finditer(printed), NUMBER.finditer(shown), strict=True):
        measured = "." in theirs[0] or COUNT.match(shown[theirs.end() :])
        relative = 0.25 if single and measured else 1e-6
        absolute = max(1e-6, last_digit(theirs[0]))
        assert float(ours[0]) == pytest.approx(float(theirs[0]), rel=relative, abs=absolute), shown


def last_digit(number: str) -> float:
    """Give what one in the last digit of a decimal fraction is worth; zero of a whole number."""
    digits, _, exponent = number.partition("e")
    after = len(digits.partition(".")[2])
    return 1.01 * 10.0 ** (int(exponent or 0) - after) if after else 0.0


def needs_a_backend(code: str) -> bool:
    return bool(re.search(r"^import unsaddle\.(torch|jax)", code, re.M))


@pytest.mark.torch
@pytest.mark.jax
def test_blocks_of_the_readme_for_torch_and_jax_run() -> None:
    blocks = BLOCK.findall(README.read_text())
    shown = [(code, blocks[i + 1]) for i, (_, code) in enumerate(blocks) if needs_a_backend(code)]
    assert len(shown) == 2
    for code, (kind, text) in shown:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, {})
        assert kind == "text"
        alike(output.getvalue(), text, single=True)


@pytest.mark.jax
@pytest.mark.slow
def test_the_first_example_for_jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are compiled for half a minute, every night."""
    monkeypatch.chdir(tmp_path)
    follow(ROOT / "docs" / "jax.md", 2)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=[pytest.mark.nightly] if page.stem == "jax" else MARKS.get(page.stem, ())
        )
        for page in PAGES
    ],
    ids=lambda page: page.name,
)
@pytest.mark.slow
def test_examples_run_and_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in HOSTS:
        if f"import {name}" in page.read_text() or f"from {name}" in page.read_text():
            pytest.importorskip(name, reason=f"no {name} here: pip install 'unsaddle[hosts]'")
    monkeypatch.chdir(tmp_path)
    follow(page)


def follow(page: Path, first: int | None = None) -> None:
    """Run the blocks of a page, which share their names; a text is what the one before prints."""
    names: dict[str, Any] = {"__name__": page.stem}
    text, printed = page.read_text(), None
    with mock.patch.dict(METHODS):
        for block in islice(BLOCK.finditer(text), first):
            kind, code = block.groups()
            if kind == "text" and printed is not None:
                alike(printed, code, page.stem in FLOAT32)
            printed = None
            if kind == "python" and not (page == README and needs_a_backend(code)):
                above = "\n" * text[: block.start(2)].count("\n")  # right lines in a traceback
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    exec(compile(above + code, page.name, "exec"), names)
                printed = output.getvalue()


@each_page
def test_commands_succeed_and_print_what_is_shown(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In console blocks: what follows ``$ unsaddle``; output need not be shown."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    for kind, text in BLOCK.findall(page.read_text()):
        for command, output in COMMAND.findall(text) if kind == "console" else ():
            program, *words = shlex.split(command)
            if program == "unsaddle":
                assert main(words) == 0, command
                printed = capsys.readouterr().out
                if output:
                    alike(printed, output)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text()):
        target = (page.parent / path).resolve() if path else page
        if "://" not in path:
            assert target.exists(), path
            assert not anchor or anchor in anchors(target), anchor


def anchors(page: Path) -> set[str]:
    """Give the anchors that headings make."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {"#" + re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.slow
def test_the_paper_leads_to_names_that_exist() -> None:
    found = NAME.findall(PAPER.read_text())
    assert len(found) > 100
    for path, name in found:
        file = ROOT / path if path.startswith("tests/") else ROOT / "src" / "unsaddle" / path
        assert file.exists(), path
        assert not name or name in defined(file), f"{path}::{name}"


def defined(file: Path) -> set[str]:
    """Give the names that a file defines at its top level."""
    names: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        names |= {getattr(each, "name", getattr(each, "id", "")) for each in targets}
    return names


def test_the_paper_is_covered() -> None:
    """Its eight algorithms, and the 28 statements that share one counter."""
    assert [row[0] for row in table(PAPER, "no.")] == [str(k) for k in range(1, 9)]
    statements = PAPER.read_text().split("## Statements")[1].split("## Errata")[0]
    own = re.findall(r"^\| ((?:Theorem|Proposition|Lemma|Remark).*?) \|", statements, re.M)
    spans = [match for cell in own for match in SPAN.findall(cell)]
    seen = [k for first, last in spans for k in range(int(first), int(last or first) + 1)]
    assert seen == list(range(1, 29))


def test_the_tables_are_those_of_the_code() -> None:
    methods = [[name, *(getattr(it, f) for f in FIELDS[1:])] for name, it in METHODS.items()]
    assert table(TABLE, "method") == methods
    outcomes = [(row[0], row[1], row[2]) for row in table(DESIGN, "outcome")]
    success = {True: "yes", False: "no"}
    assert outcomes == [
        (it.name, str(STATUS[it]), success[it is Outcome.CERTIFIED]) for it in Outcome
    ]


def test_the_page_of_methods_is_what_the_code_says() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "methods.py"))
    assert written["PAGE"].read_text() == written["page"](), "run python docs/methods.py"


@pytest.mark.torch
@pytest.mark.jax
def test_the_reference_is_what_the_docstrings_say() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    assert written["PAGE"].read_text() == written["page"](), "run python docs/reference.py"


@pytest.mark.torch
@pytest.mark.jax
def test_the_reference_has_every_argument() -> None:
    """Each but the constants has a row, so each docstring has its ``Args``."""
    written = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    for name, called in written["CALLED"].items():
        text = "".join(written["described"](name, called))
        words = {*inspect.signature(called).parameters} - {*written["WORDS"], "options"}
        missing = [word for word in words if not re.search(rf"^\| `\**{word}` \|", text, re.M)]
        assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize(
    ("printed", "single", "holds"),
    [
        ("-0.0483 after 79 gradients in 2 searches", False, True),
        ("-0.0484 after 79 gradients in 2 searches", False, True),
        ("-0.0485 after 79 gradients in 2 searches", False, False),
        ("-0.0483 after 80 gradients in 2 searches", False, False),
        ("-0.0500 after 80 gradients in 2 searches", True, True),
        ("-0.0483 after 79 gradients in 3 searches", True, False),
        ("-0.0483 after 79 gradients of 2 searches", True, False),
    ],
)
def test_numbers_are_compared_as_numbers(printed: str, single: bool, holds: bool) -> None:
    with contextlib.nullcontext() if holds else pytest.raises(AssertionError):
        alike(printed, "-0.0483 after 79 gradients in 2 searches", single)
