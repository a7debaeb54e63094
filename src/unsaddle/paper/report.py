"""The report: one page with everything in it, and the claims for machines."""

import base64
import json
import os
import struct
from collections import Counter
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment

from unsaddle import __version__, style
from unsaddle.paper import draw
from unsaddle.paper.claims import CAPTION, FAILS, HOLDS, INTRODUCTION, ONLY, SAMPLES
from unsaddle.paper.experiment import RUN

BADGES = {HOLDS: "holds", ONLY: "only", FAILS: "fails"}
MARKS = {HOLDS: "\N{CHECK MARK}", ONLY: "~", FAILS: "\N{MULTIPLICATION X}"}
WORDS = {HOLDS: "holds", ONLY: "by a reading", FAILS: "does not hold"}
PHONE = 360  # pixels of its page
CARRYING = "races"  # the picture of the first screen
Claims = list[dict[str, Any]]


def write_report(results: dict[str, dict[str, Any]], output: Path, seed: int) -> Path:
    """Write ``claims.json`` and ``index.html``."""
    claims = [claim for result in results.values() for claim in result["claims"]]
    tables = {name: [result["header"], *result["rows"]] for name, result in results.items()
              if "rows" in result}  # fmt: skip
    record = {"seed": seed, "run": RUN, "claims": claims, "tables": tables}
    (output / "figures").mkdir(parents=True, exist_ok=True)
    races = [claim for claim in claims if claim["kind"] == INTRODUCTION]
    carrying = [draw.races(races, output / "figures" / CARRYING)] if races else []
    shown = [picture for result in results.values() for picture in result["pictures"]]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "percent": _percent, "interval": _interval, "wide": _wide, "width": _width,
        "tally": tally, "encode": lambda png: base64.b64encode(png).decode(),
        "sentence": lambda text: text[:1].upper() + text[1:],
    }  # fmt: skip
    template = environment.from_string((files("unsaddle.paper") / "report.html").read_text("utf-8"))
    page = template.render(
        results=results,
        claims=claims,
        verdict=verdict(claims),
        carrying=carrying,
        pictures={it["stem"]: _both(output / "figures", it["stem"]) for it in (*carrying, *shown)},
        badges=BADGES,
        marks=MARKS,
        words=WORDS,
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


def from_record(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the results of ``claims.json``: claims and tables, without texts and pictures."""
    results: dict[str, dict[str, Any]] = {}
    for claim in record["claims"]:
        results.setdefault(claim["id"].partition(".")[0], _bare())["claims"].append(claim)
    for name, (header, *rows) in record["tables"].items():
        results.setdefault(name, _bare()).update(header=header, rows=rows)
    return {name: {"title": name, **each} for name, each in results.items()}


def _bare() -> dict[str, Any]:
    return {"text": "", "claims": [], "pictures": [], "tables": []}


def verdict(claims: Claims) -> dict[str, str]:
    """Give the answer, the sentence of all claims, and that of the captions' histograms."""
    counts = Counter(claim["verdict"] for claim in claims)
    answer = (
        "The paper reproduces" if counts[HOLDS] == len(claims)
        else "The paper does not reproduce" if counts[FAILS] == len(claims)
        else "The paper reproduces in part"
    )  # fmt: skip
    own = [claim for claim in claims if claim["kind"] == CAPTION]
    rest = f"Of what the captions say of their histograms, {tally(own)}." if own else ""
    return {"answer": answer, "first": f"of {len(claims)} claims {tally(claims)}", "rest": rest}


def tally(claims: Claims) -> str:
    """Say how many claims hold, hold under a reading, and do not hold."""
    counts = Counter(claim["verdict"] for claim in claims)
    holds, only, fails = (counts[each] for each in BADGES)
    parts = [
        f"{holds} {'holds' if holds == 1 else 'hold'}",
        f"{only} only under a reading",
        f"{fails} {'does' if fails == 1 else 'do'} not hold",
    ]
    named = [part for part, count in zip(parts, (holds, only, fails), strict=True) if count]
    return " and ".join([", ".join(named[:-1]), *named[-1:]] if len(named) > 1 else named)


def _both(folder: Path, stem: str) -> tuple[bytes, bytes]:
    """Read a picture, light and dark."""
    light, dark = ((folder / f"{stem}{kind}.png").read_bytes() for kind in ("", "-dark"))
    return light, dark


def _interval(claim: dict[str, Any]) -> str:
    """Write an interval, if there is one."""
    if None in (claim["low"], claim["high"]):
        return "-"
    three, four = ([_short(claim[side], digits) for side in ("low", "high")] for digits in (3, 4))
    return " to ".join(three if three[0] != three[1] else four)


def _short(value: float, digits: int) -> str:
    """Write so many digits, or five where three would say 1 of what is less."""
    return f"{value:.{digits}g}" if round(value, 3) != 1 else f"{value:.5g}"


def _width(png: bytes) -> int:
    """Give the pixels of a page that a picture is wide, so that its type is as large as any."""
    return struct.unpack(">II", png[16:24])[0] * style.PIXELS // draw.DPI


def _wide(png: bytes) -> bool:
    """Say whether a picture is too wide for a phone, where it is not to be shrunk."""
    return _width(png) > PHONE


def _percent(value: float | None) -> str:
    """Write a probability for people: never 0% or 100% unless it is."""
    if value is None:
        return "-"
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{value:.1%}"
