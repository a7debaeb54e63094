"""The site: every page is in its navigation, and it builds without a warning."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTED = {"index.md", "contributing.md", "changelog.md"}  # made of pages that stand at the root


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    assert set(re.findall(r"([\w-]+\.md)", nav)) - ROOTED == {
        page.name for page in (ROOT / "docs").glob("*.md")
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of mkdocs and what it loads
def test_it_builds_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("material", reason="pip install 'unsaddle[docs]'")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True))
    assert (tmp_path / "index.html").exists()
