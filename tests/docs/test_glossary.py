"""One vocabulary: the glossary names everything, and no page or source file uses a retired word."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from unsaddle import Outcome, minimize
from unsaddle.core.phases import PhaseName
from unsaddle.landscapes import quartic

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "unsaddle"
GLOSSARY = ROOT / "docs" / "glossary.md"
WALKS = ROOT / "docs" / "walks.md"  # which compares with the code of before, by its names
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES = [*(page for page in PAGES if page != WALKS), *sorted(SOURCE.rglob("*.py"))]
ROW = re.compile(r"^\| `?([\w ,-]+?)`? \|(.*)\|$", re.M)

FORMER = r"TESTED|BLIND|REFUTED"  # outcomes, for which the glossary and a deprecation have the new
RETIRED = re.compile(
    rf"\b({FORMER}|"
    r"[Ss]ights?|[Ss]ounding|[Ss]teady|[Ss]trides?|[Ss]trange|[Pp]ace|[Ss]hel(f|ves)|[Aa]side|"
    r"[Bb]lind|[Rr]efute[ds]?|look_around|[Mm]irror|malice|conspires?|"
    r"(a|an|one|another|no|each|per|every|first|next|last|the|\d+) looks?(?! up)|"
    r"ops\.(keep|hold|put|pick|against|mix|record|read|blank)|kinetic\()(?!\w)"
)
RETIRED_NAMES = {"beside", "hold", "keep", "look", "looked", "looking", "looks", "pick", "put"}
MAY_BE_CALLED = {  # where two words are one in English
    "look_up",
}  # fmt: skip
MAY_SAY = {
    "torch/shards.py": "stride",  # what torch calls the layout of a tensor
    "core/outcome.py": FORMER,
    "glossary.md": FORMER,
}


def section(head: str) -> dict[str, str]:
    """Give the rows of the table below a heading: first cell, and the rest."""
    text = GLOSSARY.read_text().split(f"\n## {head}\n")[1].split("\n## ")[0]
    return {word: rest for word, rest in ROW.findall(text) if not set(word) <= {"-"}}


def test_every_phase_is_explained() -> None:
    named = [code.name for code in PhaseName if code >= 0]
    assert [*section("Phases")][1:] == named
    ends = {code.name for code in PhaseName if code < 0}
    assert ends <= {*section("Outcomes")}
    assert all(f"`{name}`" in GLOSSARY.read_text().split("The last phase")[1] for name in ends)


def test_every_outcome_is_explained() -> None:
    assert [*section("Outcomes")][1:] == [outcome.name for outcome in Outcome]


@pytest.mark.parametrize("method", ["auto", "agd-auto", "pgd"])
def test_a_history_shows_these_names(method: str) -> None:
    f = quartic()
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    result = minimize(
        f.value, f.saddles[0], (), method, f.gradient, tol=1e-2, decrease_available=2.0, **known
    )
    names = {str(name) for name in result.history.phase}
    assert {name.removeprefix("proof ").upper() for name in names} - {"REPORT"} <= {
        *section("Phases")
    }
    assert any(name.startswith("proof ") for name in names) == (method == "pgd")


def test_the_words_are_where_the_glossary_says() -> None:
    for word, rest in section("Words").items():
        for path, name in re.findall(r"`([\w/]+(?:\.py|/))(?:::(\w+))?`", rest):
            assert (SOURCE / path).exists(), f"{word}: {path}"
            assert not name or name in _defined(SOURCE / path), f"{word}: {path}::{name}"


def _defined(file: Path) -> set[str]:
    return {getattr(node, "name", "") for node in ast.parse(file.read_text()).body}


def names_given(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Give every name of its own that a file gives to a thing, and the line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: file.stem)
def test_no_name_is_made_of_a_retired_word(file: Path) -> None:
    found = [
        f"{number}: {name}"
        for name, number in names_given(ast.parse(file.read_text()))
        if RETIRED_NAMES & {*name.lower().split("_")} and name not in MAY_BE_CALLED
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_retired_word(file: Path) -> None:
    allowed = next((may for end, may in MAY_SAY.items() if str(file).endswith(end)), "(?!)")
    found = [
        f"{number}: {match[0]!r} in {line.strip()!r}"
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        for match in RETIRED.finditer(line)
        if not re.fullmatch(allowed, match[0])
    ]
    assert not found, "\n".join(found)
