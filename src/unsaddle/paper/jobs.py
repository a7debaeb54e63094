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

from unsaddle.paper import draw
from unsaddle.paper.claims import FAILS, HOLDS, SAMPLES, Measured, entry, judge
from unsaddle.paper.declare import Figure, Scan
from unsaddle.paper.experiment import ARMS, RUN, Experiment, seeds
from unsaddle.paper.figures import FIGURES
from unsaddle.paper.lockstep import trajectory

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
    name: str, title: str, text: str, header: Any, rows: Any, folder: Path, alt: str,
    claims: Any = (),
) -> dict[str, Any]:  # fmt: skip
    """Put the result of a job that has one table and one picture together."""
    table = write_csv(folder / f"{name}.csv", header, rows)
    forms = {float: "{:.3g}", int: "{:,}"}
    shown = [[forms.get(type(v), "{}").format(v) for v in row] for row in rows]
    return {
        "title": title, "text": text, "claims": list(claims), "tables": [table],
        "pictures": [{"stem": name, "alt": alt}], "header": list(header), "rows": shown,
    }  # fmt: skip


def claim(
    name: str, paper: str, reading: str, measured: Measured, note: str = ""
) -> dict[str, Any]:
    """Write the entry of a claim that has one reading."""
    return {
        "id": name, "paper": paper, "verdict": HOLDS if measured.satisfied else FAILS,
        "literal": reading, "reading": reading, **entry(measured), "note": note,
        "readings": {reading: entry(measured)},
    }  # fmt: skip


def figure(name: str, folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Reproduce a figure: picture, sensitivity panel, claims."""
    declared = FIGURES[name]()
    experiment, scan = Experiment(declared.panels, seed), declared.scan
    points = len(scan.grid) * len(scan.lines)
    tick = ticker(told, sum(len(claim.readings) for claim in declared.claims) + points)
    judged = {id(claim): judge(claim, experiment, tick)
              for claim in sorted(declared.claims, key=lambda claim: not claim.first)}  # fmt: skip
    claims = [{"id": f"{name}.{i}", **judged[id(claim)]}
              for i, claim in enumerate(declared.claims, 1)]  # fmt: skip
    tables = [_picture(name, folder, declared, experiment)]
    tables.append(_sensitivity(name, folder, scan, experiment, tick))
    return {
        "title": f"Figure {name[3:]}. {declared.title}",
        "text": declared.note,
        "claims": claims,
        "pictures": [
            {"stem": name, "alt": f"{declared.title}: samples and histogram of descent values"},
            {"stem": f"{name}-sensitivity", "alt": f"Measured share against {declared.scan.label}"},
        ],
        "tables": tables,
    }


def _picture(name: str, folder: Path, declared: Figure, experiment: Experiment) -> str:
    columns = [(panel, moment) for panel in declared.panels
               for moment in range(len(panel.ours.times) if declared.window else 0)]  # fmt: skip
    picture, axes = draw.sheet(len(columns) + len(declared.panels), 3.5)
    for axis, (panel, moment) in zip(axes, columns, strict=False):
        points = {}
        for arm in ARMS:
            one = getattr(panel, arm)
            numbers = seeds(arm, experiment.seed, RUN)
            run = trajectory(one.method, panel.landscape, one.values, one.times, numbers, panel.ops)
            points[arm] = (one.times[moment], list(run)[moment])
        draw.samples(axis, panel, declared.window or (), points, panel.ours.values["r"])
    rows = []
    for i, panel in enumerate(declared.panels):
        values = {arm: experiment.final(arm, {}, SAMPLES, i) for arm in ARMS}
        axis = axes[len(columns) + i]
        draw.histogram(axis, panel, values, RUN)
        axis.set_title(panel.title if not declared.window else "", pad=36)
        rows += [(panel.title, getattr(panel, arm).label, float(v))
                 for arm, each in values.items() for v in each[:RUN]]  # fmt: skip
    draw.save(picture, folder / name)
    return write_csv(folder / f"{name}.csv", ("panel", "method", "descent"), rows)


def _sensitivity(
    name: str, folder: Path, scan: Scan, experiment: Experiment, tick: Callable[[], None]
) -> str:
    lines: dict[str, list[float]] = {label: [] for label in scan.lines}
    for label, ask in scan.lines.items():
        for value in scan.grid:
            lines[label].append(ask(experiment, scan.changes(value), SAMPLES).value)
            tick()
    picture, (axis,) = draw.sheet(1, 3.2, 6.2)
    draw.curves(axis, scan.grid, lines)
    for (label, at), style in zip(scan.theory.items(), ("--", ":"), strict=False):
        colour = draw.PALETTE[[*lines].index(label)]
        axis.axvline(at, color=colour, linestyle=style, label=f"theory, {label}")
    for bound in scan.bounds:
        axis.axhline(bound, color="#777777", linewidth=0.8)
    beside = axis.secondary_yaxis("right")
    beside.set_yticks(scan.bounds, [f"paper: {bound:.0%}" for bound in scan.bounds], fontsize=8.5)
    beside.spines["right"].set_visible(False)
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
