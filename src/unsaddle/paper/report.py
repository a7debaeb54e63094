"""The report: one page with everything in it, and the claims for machines."""

import base64
import json
import os
import struct
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment

from unsaddle import __version__
from unsaddle.paper.claims import FAILS, HOLDS, ONLY, SAMPLES
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
    environment.filters |= {
        "percent": _percent,
        "badge": BADGES.__getitem__,
        "interval": _interval,
        "encoded": lambda png: base64.b64encode(png).decode(),
        "wide": _wide,
    }
    template = environment.from_string((files("unsaddle.paper") / "report.html").read_text("utf-8"))
    counts = Counter(claim["verdict"] for claim in claims)
    page = template.render(
        results=results,
        claims=claims,
        pictures=pictures,
        counts={verdict: counts[verdict] for verdict in BADGES},
        version=__version__,
        seed=seed,
        samples=f"{SAMPLES:,}",
        run=RUN,
    )
    data = json.dumps(record, indent=2, sort_keys=True) + "\n"
    _write({output / "claims.json": data, output / "index.html": page})
    return output / "index.html"


def _write(texts: dict[Path, str]) -> None:
    """Write files whole: none takes its name before all are there."""
    scratch = {path: path.with_name(f".{path.name}-{os.getpid()}") for path in texts}
    try:
        for path, text in texts.items():
            scratch[path].write_text(text, encoding="utf-8")
        for path, draft in scratch.items():
            os.replace(draft, path)
    finally:
        for draft in scratch.values():
            draft.unlink(missing_ok=True)


def _interval(claim: dict[str, Any]) -> str:
    """Write an interval, if there is one."""
    if None in (claim["low"], claim["high"]):
        return "-"
    low, high = _short(claim["low"], 3), _short(claim["high"], 3)
    if low == high:
        low, high = _short(claim["low"], 4), _short(claim["high"], 4)
    return f"{low} to {high}"


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
