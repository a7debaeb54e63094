"""What can be reproduced: each job writes its pictures and data into a folder and says what it saw.

A result is ``{"title", "text", "claims", "pictures": [{"stem", "alt"}], "tables": [...]}``, all of
it JSON: the report is made from results alone.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from unsaddle import style
from unsaddle.paper import draw
from unsaddle.paper.claims import SAMPLES, judge
from unsaddle.paper.declare import Scan
from unsaddle.paper.experiment import ARMS, RUN, Experiment, Way, descents, seeds
from unsaddle.paper.figures import FIGURES

Told = Callable[[float], None]  # is called with the share of the job that is done
Job = Callable[[Path, int, Told], dict[str, Any]]  # (folder to write to, seed, told) -> result


def ticker(told: Told, total: int) -> Callable[[], None]:
    """Give a function that tells of one more of so many steps."""
    steps = count(1)
    return lambda: told(next(steps) / total)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table and give the file's name."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([f"{v:.8g}" if isinstance(v, float) else v for v in row] for row in rows)
    return path.name


def result(
    name: str, title: str, text: str, judged: Iterable[dict[str, Any]], pictures: dict[str, str],
    tables: list[str],
) -> dict[str, Any]:  # fmt: skip
    """Put the result of a job together: pictures are stem -> alt, and claims are numbered."""
    return {
        "title": title,
        "text": text,
        "claims": [{"id": f"{name}.{i}", **each} for i, each in enumerate(judged, 1)],
        "pictures": [{"stem": stem, "alt": alt} for stem, alt in pictures.items()],
        "tables": tables,
    }


def study(
    folder: Path, name: str, title: str, text: str, picture: Any, alt: str,
    header: Sequence[str], rows: Sequence[Sequence[Any]], *judged: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Write one picture and one table, and put the result together, the table in it."""
    draw.save(picture, folder / name)
    table = write_csv(folder / f"{name}.csv", header, rows)
    forms = {float: "{:.3g}", int: "{:,}"}
    shown = [[forms.get(type(v), "{}").format(v) for v in row] for row in rows]
    whole = result(name, title, text, judged, {name: alt}, [table])
    return whole | {"header": list(header), "rows": shown}


def figure(name: str, folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Reproduce a figure: picture, sensitivity panel, claims."""
    title, panels, claims, scan, note = FIGURES[name]()
    experiment = Experiment(panels, seed, SAMPLES)
    points = len(scan.grid) * len(scan.lines)
    tick = ticker(told, sum(len(claim.readings) for claim in claims) + points)
    order = sorted(range(len(claims)), key=lambda i: not claims[i].first)
    judged = {i: judge(claims[i], experiment, tick) for i in order}
    table = _picture(name, folder, experiment)
    tables = [table, _sensitivity(name, folder, scan, experiment, tick)]
    pictures = {
        name: f"{title}: samples and histogram of descent values",
        f"{name}-sensitivity": f"Measured share against {scan.label}",
    }
    verdicts = [judged[i] for i in sorted(judged)]
    return result(name, f"Figure {name[3:]}. {title}", note, verdicts, pictures, tables)


def _picture(name: str, folder: Path, experiment: Experiment) -> str:
    panels = experiment.panels
    flat = [panel for panel in panels if panel.landscape.name in draw.WINDOWS]
    picture, axes = draw.sheet(sum(len(panel.ours.times) for panel in flat) + len(panels), 3.5)
    free, rows = iter(axes), []
    for panel in flat:
        runs = [
            Way(panel, arm, {}).run(seeds(arm, experiment.seed, RUN), getattr(panel, arm).times)
            for arm in ARMS
        ]
        for moment, points in enumerate(zip(*runs, strict=True)):
            draw.samples(next(free), panel, moment, *points)
    for axis, panel in zip(free, panels, strict=True):
        values = {arm: descents(panel, arm, {}, experiment.seed, SAMPLES)[0] for arm in ARMS}
        draw.histogram(axis, panel, values, RUN)
        rows += [(panel.title or panel.landscape.name, getattr(panel, arm).label, float(v))
                 for arm, each in values.items() for v in each[:RUN]]  # fmt: skip
    draw.save(picture, folder / name)
    return write_csv(folder / f"{name}.csv", ("panel", "method", "descent"), rows)


def _sensitivity(
    name: str, folder: Path, scan: Scan, experiment: Experiment, tick: Callable[[], None]
) -> str:
    lines: dict[str, list[float]] = {label: [] for label in scan.lines}
    for label, ask in scan.lines.items():
        for value in scan.grid:
            lines[label].append(ask(experiment.under(scan.changes(value))).value)
            tick()
    picture, (axis,) = draw.sheet(1, 3.2, 6.2)
    draw.curves(axis, scan.grid, lines)
    for (label, at), dash in zip(scan.theory.items(), ("--", ":"), strict=False):
        colour = draw.PALETTE[[*lines].index(label)]
        axis.axvline(at, color=colour, linestyle=dash, label=f"theory, {label}")
    for bound in scan.bounds:
        axis.axhline(bound, color=style.SOFT, linewidth=0.8)
    opposite = axis.secondary_yaxis("right")
    opposite.set_yticks(scan.bounds, [f"paper: {bound:.0%}" for bound in scan.bounds], fontsize=8.5)
    opposite.spines["right"].set_visible(False)
    draw.percent(axis)
    axis.set(xlabel=scan.label, ylabel=f"share with {scan.share}")
    if scan.logarithmic:
        axis.set_xscale("log")
    draw.key(axis, 2)
    draw.save(picture, folder / f"{name}-sensitivity")
    rows = zip(scan.grid, *lines.values(), strict=True)
    return write_csv(folder / f"{name}-sensitivity.csv", (scan.label, *lines), rows)


def slope(x: Any, y: Any) -> float:
    """Fit a straight line and give its slope, to nine places: none is none."""
    return round(float(np.polyfit(np.asarray(x, float), np.asarray(y, float), 1)[0]), 9) + 0.0
