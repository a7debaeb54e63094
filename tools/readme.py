"""A hook of hatch: the README as the long description of a release, where no link is relative.

``UNSADDLE_REPOSITORY``, such as https://github.com/someone/unsaddle, is where the links and the
pictures lead, at ``UNSADDLE_REF`` (a tag, or main). Without it, as in a clone, a link keeps its
words only and a picture is left out: nothing on the page leads nowhere.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface  # type: ignore[import]

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")
PICTURE = re.compile(r'<picture>.*?<img src="([^"]*)".*?alt="([^"]*)">\s*</picture>', re.S)


class CustomMetadataHook(MetadataHookInterface):
    """Gives the long description and the links of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("UNSADDLE_REPOSITORY", "")
        ref = os.environ.get("UNSADDLE_REF", "main")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": led(text, repository, ref),
        }
        metadata["urls"] = {"Repository": repository} if repository else {}


def led(text: str, repository: str, ref: str) -> str:
    """Give a text whose links and pictures lead into a repository, if there is one."""

    def lead(match: re.Match[str]) -> str:
        picture, words, path = match.groups()
        if not repository:
            return "" if picture else words
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/{ref}/{path})"

    return LINK.sub(lead, PICTURE.sub(r"![\2](\1)", text))
