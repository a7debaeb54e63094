"""What a figure is made of: records that ``figures.py`` fills in."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import asin, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from unsaddle.landscapes import Landscape
from unsaddle.paper.claims import LASTING, Ask, Claim, Readings, ahead, aligned, race
from unsaddle.paper.experiment import Arm, Panel

FASTER = "{} typically needs less than {} of {}'s iterations"
AHEAD = "{} converges faster than {} even when it has far fewer iterations"
GATHERS = "{}: from a uniform circle to a distribution concentrating on two points"


class Scan(NamedTuple):
    """How measured shares depend on a parameter that the caption leaves open."""

    label: str
    grid: tuple[float, ...]
    changes: Callable[[float], Mapping[str, Any]]
    lines: Mapping[str, Ask]  # label -> the share to measure
    theory: Mapping[str, float]  # label -> the theory's value
    bounds: tuple[float, ...]  # what the paper says of the shares
    share: str = "decrease <= 0.9"  # of what
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
    given = {"title": f.name, "reference": reference} | more
    return Panel(landscape=f, ours=ours, theirs=theirs, reach=reach, **given)


def grid(*values: float) -> tuple[float, ...]:
    """Give the values of a scan."""
    return tuple(round(float(v), 6) for v in values)


def friction(eta: float, curvature: float) -> float:
    """Give the theory's theta, sqrt(eta curvature)/2: sqrt(gamma/l)/4 with l = 1/(4 eta)."""
    return sqrt(eta * curvature) / 2


def raced(readings: Readings) -> Readings:
    """Give each reading twice: 90% are through for the first time, and for good."""
    lasting = {LASTING.format(name): each | {"lasting": 1} for name, each in readings.items()}
    return {**readings, **lasting}


def wins(
    panel: Panel, threshold: float, ratio: str, limit: int, readings: Readings, note: str = ""
) -> Claim:
    """Claim what the introduction says: ours needs less than a ratio of their iterations."""
    words = FASTER.format(panel.ours.label, ratio, panel.theirs.label)
    asked = race(threshold, float(Fraction(ratio)), limit)
    return Claim(words, asked, raced(readings), note, first=True)


def converges(panel: Panel, threshold: float, readings: Readings) -> Claim:
    """Claim what the captions say of their left halves: our samples are further at each time."""
    words = AHEAD.format(panel.ours.label, panel.theirs.label)
    note = "Read as: at each of the times drawn a larger share of samples is above the threshold."
    return Claim(words, ahead(threshold), readings, note)


def gathers(panel: Panel, arm: str, readings: Readings) -> Claim:
    """Claim that directions gather where the curvature is negative."""
    low, *_, high = np.linalg.eigvalsh(panel.landscape.hessian(np.zeros(panel.landscape.n)))
    start = 2 / pi * asin(sqrt(low / 2 / (low - high)))
    note = (
        "Read as: over 90% of the directions have at least half of the saddle's negative "
        f"curvature; on a uniform circle {start:.0%} have."
    )
    words = GATHERS.format(getattr(panel, arm).label)
    return Claim(words, aligned(arm, -float(low), 0.9), readings, note)
