"""An experiment: from a reading to samples, and from samples to descent values.

A *reading* is what has to be added to a caption before it can be run: a table of symbols and
values that replaces those of the figure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from unsaddle.landscapes import Landscape
from unsaddle.paper.batch import BATCH, Batch
from unsaddle.paper.lockstep import KINDS, trajectory

RUN = 300  # samples of one run of the paper, M
ARMS = ("ours", "theirs")
PATIENCE = 20  # iterations in which a search that swings has swung back
REACH = {"quartic": 4.0, "cubic": 3.0, "triangle": 1.6, "exponential": 4.0, "h": 4.0}  # of searches
PIECE = 33 * RUN  # samples that go together: more would not stay in a processor's cache


class Arm(NamedTuple):
    """One of the two methods in a figure."""

    label: str
    method: str  # a key of KINDS
    times: tuple[int, ...]  # the steps at which samples are drawn; the last is the histogram's
    values: Mapping[str, Any]  # symbol -> value, under the figure's reading


class Panel(NamedTuple):
    """A landscape and the two methods on it."""

    landscape: Landscape
    ours: Arm
    theirs: Arm
    title: str = ""  # if it is not the landscape's name
    ops: Batch = BATCH
    family: Callable[[float], Landscape] | None = None  # eps -> a landscape of the same kind


def lowest(f: Landscape, points: np.ndarray) -> np.ndarray:
    """Give the lowest value along each row's direction, at most ``REACH`` away, either way."""
    # a grid of 97 lengths, then three grids of 7 around the best
    e = points / np.linalg.norm(points, axis=-1, keepdims=True)
    best, at = np.full(len(e), inf), np.zeros(len(e))
    half = REACH[f.name]
    for count in (97, 7, 7, 7):
        centre = at.copy()
        for shift in np.linspace(-half, half, count):
            length = centre + shift
            value = f.value(length[:, None] * e)
            lower = value < best
            best, at = np.where(lower, value, best), np.where(lower, length, at)
        half = 2 * half / (count - 1)
    return best


@lru_cache(32)
def sectors(f: Landscape, level: float) -> tuple[np.ndarray, bool]:
    """Find the directions of the plane along which ``lowest`` is below a level, as sectors."""
    # They are few, found once, instead of a line search for each sample. Given are the cotangents
    # of their sides, in order, and whether the last direction is in one.

    def below(angles: np.ndarray) -> np.ndarray:
        return lowest(f, np.stack([np.cos(angles), np.sin(angles)], -1)) < level

    angles = np.linspace(0, np.pi, 2001)
    inside = below(angles)
    at = np.flatnonzero(inside[1:] != inside[:-1])
    low, high, first = angles[at], angles[at + 1], inside[at]
    for _ in range(48 if len(at) else 0):
        middle = (low + high) / 2
        left = below(middle) == first
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return np.sort(1 / np.tan(high)), bool(inside[-1])


def within(sides: np.ndarray, first: bool, points: np.ndarray) -> np.ndarray:
    """Say which rows point into the sectors, or away from them."""
    with np.errstate(divide="ignore"):
        quotients = points[:, 0] / points[:, 1]
    return (np.searchsorted(sides, quotients) % 2 == 1) != first


class Way:
    """An arm under a reading: what is run, and how descent values are got from its samples."""

    def __init__(self, panel: Panel, arm: str, changes: Mapping[str, Any]) -> None:
        """Put the reading's values in place of the arm's, as far as they concern it."""
        one: Arm = getattr(panel, arm)
        kind = KINDS[one.method]
        known = {*kind.names, "circle", "extract", "reference", "eps"}
        own = changes.get(arm, {})  # what a reading says of this arm alone
        values = {k: v for k, v in {**one.values, **changes, **own}.items() if k in known}
        self.method, self.values = one.method, values
        self.ops = Batch(circle=True) if values.get("circle") else panel.ops
        # search, point, curvature at the saddle, or a length along the direction
        self.extract = values.get("extract", "search" if kind.searches else "point")
        self.reference = values.get("reference", 0.0)  # a descent value is this minus f
        self.f, self.unit = panel.landscape, 1.0  # of descent values
        if panel.family and "eps" in values:
            self.f = panel.family(values["eps"])
            self.unit = -self.f.infimum

    def descent(self, points: np.ndarray) -> np.ndarray:
        """Give the descent value of each row."""
        if self.extract == "search":
            value = lowest(self.f, points)
        elif self.extract == "point":
            value = self.f.value(points)
        else:
            e = points / np.linalg.norm(points, axis=-1, keepdims=True)
            if self.extract == "curvature":
                value = ((e @ self.f.hessian(np.zeros(self.f.n))) * e).sum(-1)
            else:
                value = np.minimum(self.f.value(self.extract * e), self.f.value(-self.extract * e))
        return (self.reference - value) / self.unit

    def above(self, threshold: float) -> Callable[[np.ndarray], np.ndarray]:
        """Give a function that says which rows have a descent value above a threshold."""
        if self.extract != "search" or self.f.n != 2:
            return lambda points: self.descent(points) > threshold
        level = self.reference - threshold * self.unit
        return partial(within, *sectors(self.f, level))

    def run(self, numbers: np.ndarray, times: Iterable[int]) -> Iterator[np.ndarray]:
        """Run the samples with these seeds, and give their rows at each time."""
        return trajectory(self.method, self.f, self.values, times, numbers, self.ops)


def descents(
    panel: Panel, arm: str, changes: Mapping[str, Any], seed: int, m: int, times: Any = None
) -> np.ndarray:
    """Give the descent values of m samples of an arm: a row for each time, or for its last."""
    how, times = Way(panel, arm, changes), times or getattr(panel, arm).times[-1:]
    rows = [[*map(how.descent, how.run(piece, times))] for piece in pieces(arm, seed, m)]
    return np.concatenate(rows, -1)


def seeds(arm: str, seed: int, m: int) -> np.ndarray:
    """Give m seeds, different for the two arms."""
    return (seed << 32) + (arm == "theirs") * 2**31 + np.arange(m)


def pieces(arm: str, seed: int, m: int) -> list[np.ndarray]:
    """Give the seeds of m samples, in pieces: what becomes of a sample depends on its own only."""
    return np.split(seeds(arm, seed, m), range(PIECE, m, PIECE))


@dataclass
class Experiment:
    """Panels, a seed and a number of samples, under a reading."""

    panels: tuple[Panel, ...]
    seed: int
    m: int  # samples of each arm
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the reading
    known: dict[Any, list[tuple[Any, np.ndarray]]] = field(default_factory=dict)  # times, and seen

    def under(self, changes: Mapping[str, Any]) -> "Experiment":
        """Give the same experiment with something added to the reading."""
        return replace(self, changes={**self.changes, **changes})

    def curve(
        self, arm: str, threshold: float, times: Sequence[int], which: int = 0, stop: float = inf
    ) -> np.ndarray:
        """Say at each time, by rows, which samples have a descent value above a threshold."""
        # no later times are run when over a share ``stop`` of the first piece was above
        # ``PATIENCE`` times on end
        how = Way(self.panels[which], arm, self.changes)
        key = (arm, which, threshold, tuple(sorted(how.values.items())))
        asked, seen, columns = tuple(times), how.above(threshold), []
        for longer, whole in self.known.setdefault(key, []):
            if longer == asked:
                return whole
            if {*asked} <= {*longer[: len(whole)]}:
                return whole[[longer.index(time) for time in asked]]
        for piece in pieces(arm, self.seed, self.m):
            rows, still = [], 0
            for row in map(seen, how.run(piece, times)):
                rows.append(row)
                still = still + 1 if row.mean() > stop else 0
                if not columns and still == PATIENCE:
                    times = times[: len(rows)]
                    break
            columns.append(rows)
        whole = np.concatenate(columns, -1)
        self.known[key].append((asked, whole))
        return whole

    def above(self, arm: str, threshold: float, which: int = 0) -> np.ndarray:
        """Give the curve at the arm's own times; ``t`` in a reading is another time."""
        times = self.changes.get("t", getattr(self.panels[which], arm).times)
        return self.curve(arm, threshold, times, which)

    def share(self, arm: str, threshold: float, which: int = 0) -> float:
        """Give the share of samples that are above a threshold at the last time."""
        return float(np.mean(self.above(arm, threshold, which)[-1]))
