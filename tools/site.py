"""A hook of mkdocs: pages from the root join the site, and links to source files become text.

The README is the first page; the changelog and the page for contributors stand at the root too,
where people look for them. Their links, and those of ``docs/`` to source files and tests, lead out
of the site. A link to the root's pages is led to its page here; any other keeps its words only, or
leads into the repository where mkdocs.yml names one as ``repo_url``.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOTED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root."""
    for source, page in ROOTED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=led(text, ROOT, config.repo_url)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Lead the links of a page of docs/."""
    folder = (DOCS / page.file.src_uri).parent
    return (
        markdown if page.file.src_uri in ROOTED.values() else led(markdown, folder, config.repo_url)
    )


def led(text: str, folder: Path, repository: str | None) -> str:
    """Give a text whose links all lead somewhere within the site, or out into the repository."""

    def lead(match: re.Match[str]) -> str:
        picture, words, path, anchor = match.groups()
        if "://" in path:
            return match[0]
        target = (folder / path).resolve()
        inside = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else path
        if inside in ROOTED:
            return f"[{words}]({ROOTED[inside]}{anchor or ''})"
        if target.is_relative_to(DOCS) and target.is_file():
            return f"{picture}[{words}]({target.relative_to(DOCS).as_posix()}{anchor or ''})"
        return f"[{words}]({repository}/blob/main/{inside})" if repository else words

    return LINK.sub(lead, text)
