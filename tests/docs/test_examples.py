"""The examples: short, whole, and what they print is on their page."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

from tests.docs.test_docs import BLOCK, alike

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "examples.md").read_text()
SCRIPTS = [ROOT / "examples" / name for name in re.findall(r"\(../examples/(\w+\.py)\)", PAGE)]


def marks(script: Path) -> list[pytest.MarkDecorator]:
    """Give the markers of the packages that a script imports."""
    text = script.read_text()
    return [getattr(pytest.mark, name) for name in ("torch", "jax") if f"import {name}\n" in text]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning:sklearn")  # scikit-learn's own optimiser complains
@pytest.mark.parametrize(
    "script", [pytest.param(it, marks=marks(it), id=it.stem) for it in SCRIPTS]
)
def test_an_example_prints_what_its_page_shows(script: Path) -> None:
    for name in ("ase", "sklearn"):
        if f"from {name}" in script.read_text():
            pytest.importorskip(name)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        runpy.run_path(str(script), run_name="__main__")
    section = PAGE.split(f"(../examples/{script.name})")[1]
    kind, shown = BLOCK.findall(section)[0]
    assert kind == "text"
    alike(output.getvalue(), shown, single=True)  # other processors end elsewhere by a digit


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda it: it.stem)
def test_an_example_is_short(script: Path) -> None:
    assert len(script.read_text().splitlines()) <= 40
