"""The report: one page with everything in it, and the claims for machines."""

import base64
import json
import os
import struct
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment

from unsaddle import __version__
from unsaddle.paper.claims import CAPTION, FAILS, HOLDS, ONLY, SAMPLES
from unsaddle.paper.experiment import RUN

BADGES = {HOLDS: "holds", ONLY: "only", FAILS: "fails"}


def write_report(results: dict[str, dict[str, Any]], output: Path, seed: int) -> Path:
    """Write ``claims.json`` and ``index.html``."""
    claims = [claim for result in results.values() for claim in result["claims"]]
    tables = {name: [result["header"], *result["rows"]] for name, result in results.items()
              if "rows" in result}  # fmt: skip
    record = {"seed": seed, "run": RUN, "claims": claims, "tables": tables}
    stems = [picture["stem"] for result in results.values() for picture in result["pictures"]]
    pictures = {stem: (output / "figures" / f"{stem}.png").read_bytes() for stem in stems}
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": _percent, "interval": _interval, "wide": _wide}
    template = environment.from_string((files("unsaddle.paper") / "report.html").read_text("utf-8"))
    page = template.render(
        results=results,
        claims=claims,
        pictures=pictures,
        encode=lambda png: base64.b64encode(png).decode(),
        badges=BADGES,
        caption=CAPTION,
        version=__version__,
        seed=seed,
        samples=SAMPLES,
        run=RUN,
    )
    data = json.dumps(record, indent=2, sort_keys=True) + "\n"
    texts = {"claims.json": data, "index.html": page}
    with TemporaryDirectory(prefix=".report-", dir=output) as scratch:  # none before all are there
        for name, text in texts.items():
            Path(scratch, name).write_text(text, encoding="utf-8")
        for name in texts:
            os.replace(Path(scratch, name), output / name)
    return output / "index.html"


def _interval(claim: dict[str, Any]) -> str:
    """Write an interval, if there is one."""
    if None in (claim["low"], claim["high"]):
        return "-"
    three, four = ([_short(claim[side], digits) for side in ("low", "high")] for digits in (3, 4))
    return " to ".join(three if three[0] != three[1] else four)


def _short(value: float, digits: int) -> str:
    """Write so many digits, or five where three would say 1 of what is less."""
    return f"{value:.{digits}g}" if round(value, 3) != 1 else f"{value:.5g}"


def _wide(png: bytes) -> bool:
    """Say whether a picture has panels side by side, and is not to be shrunk to a phone."""
    width, height = struct.unpack(">II", png[16:24])
    return width > 2.1 * height


def _percent(value: float | None) -> str:
    """Write a probability for people: never 0% or 100% unless it is."""
    if value is None:
        return "-"
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{value:.1%}"
