"""Pictures of the pages: each that is there is shown, and most have a dark twin."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
SHOWN = {
    Path(path).name
    for page in PAGES
    for path in re.findall(r"pictures/[\w-]+\.png", page.read_text(encoding="utf-8"))
}
THERE = {path.name for path in (DOCS / "pictures").glob("*.png")}
LIGHT = {name for name in THERE if not name.endswith("-dark.png")}
WITHOUT = {"escapes.png", "escapes-jax.png"}  # wait for their runs


def test_every_picture_is_shown():
    assert {name for name in SHOWN if not name.endswith("-dark.png")} == LIGHT


def test_every_picture_has_a_dark_twin():
    assert {name.replace(".png", "-dark.png") for name in LIGHT - WITHOUT} <= THERE
