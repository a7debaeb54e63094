"""A hook of mkdocs: pages from the root join the site, pictures have their dark twins.

The README is the first page; the changelog and the page for contributors stand at the root too,
where people look for them. Their links, and those of ``docs/`` to source files and tests, lead out
of the site. A link to the root's pages is led to its page here; any other keeps its words only, or
leads into the repository where mkdocs.yml names one as ``repo_url``. A picture with a dark twin is
shown as light or dark as the page is, as wide as its type has the size of the page's.
"""

import json
import re
import shutil
import struct
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from unsaddle.paper.report import from_record, write_report

ROOT = Path(__file__).parents[1]
DOCS, REPORT = ROOT / "docs", ROOT / "report"
ROOTED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")
PICTURE = re.compile(r'<picture>.*?<img src="([^"]*)".*?alt="([^"]*)">\s*</picture>', re.S)
DENSITY = 2  # pixels of a picture to one of the page


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root."""
    for source, page in ROOTED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=led(text, ROOT, config.repo_url)))
    return files


def on_post_build(config: Any) -> None:
    """Put the report beside the pages: that of ``make reproduce``, if there is one.

    Else it is made of docs/claims.json, which has all claims and tables, and no pictures.
    """
    target = Path(config.site_dir) / "report"
    if (REPORT / "index.html").is_file():
        shutil.copytree(REPORT, target, dirs_exist_ok=True)
    else:
        record = json.loads((DOCS / "claims.json").read_text(encoding="utf-8"))
        write_report(from_record(record), target, record["seed"])
        shutil.copy(DOCS / "claims.json", target)


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
        if target.is_relative_to(DOCS) and target.is_file() and target.suffix != ".py":
            here = target.relative_to(DOCS).as_posix()
            twin = target.with_stem(f"{target.stem}-dark")
            return (
                twins(words, here, target)
                if twin.is_file()
                else (f"{picture}[{words}]({here}{anchor or ''})")
            )
        return f"[{words}]({repository}/blob/main/{inside})" if repository else words

    text = PICTURE.sub(r"![\2](\1)", text).replace("<details>", '<details markdown="1">')
    return LINK.sub(lead, text)


def twins(words: str, here: str, picture: Path) -> str:
    """Give a picture and its dark twin, of which the theme shows one."""
    width = struct.unpack(">II", picture.read_bytes()[16:24])[0] // DENSITY
    dark = here.removesuffix(".png") + "-dark.png"
    return "".join(
        f"![{words}]({path}#only-{scheme}){{ width={width} }}"
        for path, scheme in ((here, "light"), (dark, "dark"))
    )
