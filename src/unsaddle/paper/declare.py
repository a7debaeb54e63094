"""What a figure is made of: records that ``figures.py`` fills in."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import asin, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from unsaddle.landscapes import Landscape
from unsaddle.methods import theory
from unsaddle.paper.claims import (
    DRAWN,
    INTRODUCTION,
    LASTING,
    Ask,
    Claim,
    Readings,
    ahead,
    aligned,
    race,
)
from unsaddle.paper.experiment import Panel


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


def figure_on(panel: Panel, *claims: Claim, scan: Scan, note: str) -> Figure:
    """Give a figure of one panel, with the methods and the landscape for a title."""
    methods = f"{panel.ours.label} and {panel.theirs.label}"
    return Figure(
        f"{methods} on the {panel.landscape.name} landscape", (panel,), claims, scan, note
    )


def curvatures(f: Landscape) -> tuple[float, float]:
    """Give the lowest and the highest eigenvalue of the Hessian at the saddle."""
    low, *_, high = np.linalg.eigvalsh(f.hessian(np.zeros(f.n)))
    return float(low), float(high)


def symbols(f: Landscape, eta: float) -> dict[str, float]:
    """Give the step and what theory makes of it: theta is sqrt(gamma/l)/4 with l = 1/(4 eta)."""
    root = sqrt(-eta * curvatures(f)[0])
    return {"eta": eta, "theta": root / 2, "zeta": 1 - root}


def jump(f: Landscape) -> float:
    """Give the theory's length of a jump from the saddle, |lambda|/(4 rho)."""
    rho = f.hessian_lipschitz
    return theory.jump(hessian_lipschitz=rho, tol=curvatures(f)[0] ** 2 / rho).length


def at(symbol: str, *values: float, before: str = "", after: str = "") -> Readings:
    """Give the readings that a symbol has one of these values."""
    return {f"{before}{symbol} = {value:g}{after}": {symbol: value} for value in values}


def both_counts(readings: Readings) -> Readings:
    """Give the readings of a race: through for the first time, and for good."""
    lasting = {LASTING.format(name): each | {"lasting": 1} for name, each in readings.items()}
    return readings | lasting


def faster(
    panel: Panel, threshold: float, ratio: str, limit: int, readings: Readings, note: str = ""
) -> tuple[Claim, Claim]:
    """Claim what the introduction says of the iterations, and the captions of their left halves."""
    ours, theirs = panel.ours.label, panel.theirs.label
    needs_less = Claim(
        f"{ours} typically needs less than {ratio} of {theirs}'s iterations",
        race(threshold, float(Fraction(ratio)), limit),
        both_counts(readings),
        note,
        first=True,
        kind=INTRODUCTION,
    )
    converges = Claim(
        f"{ours} converges faster than {theirs} even when it has far fewer iterations",
        ahead(threshold),
        readings,
        "Read as: at each of the times drawn a larger share of samples is above the threshold.",
        kind=DRAWN,
    )
    return needs_less, converges


def gathers(panel: Panel, arm: str, readings: Readings, more: str = "") -> Claim:
    """Claim that directions gather where the curvature is negative."""
    low, high = curvatures(panel.landscape)
    start = 2 / pi * asin(sqrt(low / 2 / (low - high)))
    return Claim(
        f"{getattr(panel, arm).label}: from a uniform circle to a distribution concentrating on "
        "two points",
        aligned(arm, -low, 0.9),
        readings,
        "Read as: over 90% of the directions have at least half of the saddle's negative "
        f"curvature; on a uniform circle {start:.0%} have.{more}",
        kind=DRAWN,
    )
