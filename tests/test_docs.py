"""The documentation: every example runs, every link, name and table agrees with the code."""

import ast
import contextlib
import io
import re
import runpy
import shlex
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from unsaddle import METHODS, Outcome
from unsaddle.cli import FIELDS, main
from unsaddle.result import STATUS

ROOT = Path(__file__).parents[1]
README, DESIGN = ROOT / "README.md", ROOT / "docs" / "design.md"
PAPER = ROOT / "docs" / "paper-to-code.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
EXTRAS = {"torch": ["torch"], "jax": ["jax", "optax"]}  # which a page's examples import
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
LINK = re.compile(r"\]\(([^)#]*)(#[^)]*)?\)")
NAME = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")
SPAN = re.compile(r"(\d+)(?: to (\d+))?")
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")


def table(page: Path, head: str) -> list[list[str]]:
    """Give the cells of the first table whose first column has this head."""
    lines = page.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [[cell.strip(" `*") for cell in row.strip("|").split("|")] for row in rows]


def alike(printed: str, shown: str) -> None:
    """Compare two texts; their numbers to six digits, as rounding differs between machines."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6, abs=1e-6)


@each_page
def test_examples_run_and_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page share their names; a text block is what the one before prints."""
    for extra in EXTRAS.get(page.stem, ()):
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    text, printed = page.read_text(), None
    with mock.patch.dict(METHODS):
        for block in BLOCK.finditer(text):
            kind, code = block.groups()
            if kind == "text" and printed is not None:
                alike(printed, code)
            printed = None
            if kind == "python":
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
    assert table(README, "method") == methods
    outcomes = [(row[0], row[1], row[2]) for row in table(DESIGN, "outcome")]
    success = {True: "yes", False: "no"}
    assert outcomes == [
        (it.name, str(STATUS[it]), success[it is Outcome.CERTIFIED]) for it in Outcome
    ]


def test_the_reference_is_what_the_docstrings_say() -> None:
    for extra in ("torch", "jax", "optax"):
        pytest.importorskip(extra)
    written = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    assert written["PAGE"].read_text() == written["page"](), "run python docs/reference.py"
