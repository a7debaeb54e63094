"""What a figure is made of: records that ``figures.py`` fills in."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from unsaddle.landscapes import Landscape
from unsaddle.ops import batch
from unsaddle.paper.measure import Arm, Ask, Panel

FASTER = "{} typically needs less than {} of {}'s iterations"
Readings = dict[str, dict[str, Any]]  # name -> what it changes; the first is the literal one


class Claim(NamedTuple):
    """One sentence of the paper that can be true or false."""

    words: str
    ask: Ask
    readings: Readings
    note: str = ""


class Scan(NamedTuple):
    """How measured shares depend on a parameter that the caption leaves open."""

    label: str
    grid: tuple[float, ...]
    changes: Callable[[float], Mapping[str, Any]]
    lines: Mapping[str, Ask]  # label -> the share to measure
    theory: Mapping[str, float]  # label -> the theory's value
    bounds: tuple[float, ...]  # what the paper says of the shares
    logarithmic: bool = False


class Figure(NamedTuple):
    """A figure of the paper."""

    title: str
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]
    scan: Scan
    note: str  # what was chosen, and why
    window: tuple[float, float, float, float] | None = None  # of the contour plot


def panel_on(f: Landscape, ours: Arm, theirs: Arm, reach: float, **more: Any) -> Panel:
    """Give a panel with the landscape's name for a title, whose descents count from the saddle."""
    reference = float(f.value(np.zeros(f.n)))
    return Panel(**({"title": f.name, "reference": reference, "ops": batch} | more),
                 landscape=f, ours=ours, theirs=theirs, reach=reach)  # fmt: skip


def grid(*values: float) -> tuple[float, ...]:
    """Give the values of a scan."""
    return tuple(round(float(v), 6) for v in values)


def friction(eta: float, curvature: float) -> float:
    """Give the theory's theta, sqrt(eta curvature)/2: sqrt(gamma/l)/4 with l = 1/(4 eta)."""
    return sqrt(eta * curvature) / 2
