"""From samples to descent values, and from those to a measured answer to one of the paper's claims.

A *reading* is what has to be added to a caption before it can be run: a table of symbols and
values that replaces those of the figure. A measurement is made under one reading.
"""

from collections.abc import Callable, Iterator, Mapping
from math import inf, isfinite, prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from unsaddle.landscapes import Landscape
from unsaddle.ops import batch
from unsaddle.paper.lockstep import CIRCLE, KINDS, trajectory

RUN = 300  # samples of one run of the paper, M
SAMPLES = 100_000  # for each probability
SCANNED = 20_000  # for each point of a scan
RACED = 30 * RUN  # for each curve of success against iterations


class Arm(NamedTuple):
    """One of the two methods in a figure."""

    label: str
    method: str  # a key of KINDS
    times: tuple[int, ...]  # the steps at which samples are drawn; the last is the histogram's
    values: Mapping[str, Any]  # symbol -> value, under the figure's reading


class Panel(NamedTuple):
    """A landscape and the two methods on it."""

    title: str
    landscape: Landscape
    ours: Arm
    theirs: Arm
    reach: float  # how far the line search goes
    reference: float  # a descent value is this minus the value
    ops: Any = batch


class Measured(NamedTuple):
    """The answer under one reading."""

    value: float
    low: float
    high: float
    run: float  # chance that one run of 300 samples shows what the paper says; NaN if not asked
    satisfied: bool
    what: str  # the value in words


def lowest(f: Landscape, points: np.ndarray, reach: float) -> np.ndarray:
    """Give the lowest value along each row's direction, either way, by a global line search.

    Args:
        f: The landscape.
        points: Rows that are not zero, as directions from the origin.
        reach: How far to go.

    Returns:
        One value per row: a grid of 97 lengths, then three grids of 7 around the best.
    """
    e = points / np.linalg.norm(points, axis=-1, keepdims=True)
    best, at = np.full(len(e), inf), np.zeros(len(e))
    half = reach
    for count in (97, 7, 7, 7):
        centre = at.copy()
        for shift in np.linspace(-half, half, count):
            length = centre + shift
            value = f.value(length[:, None] * e)
            lower = value < best
            best, at = np.where(lower, value, best), np.where(lower, length, at)
        half = 2 * half / (count - 1)
    return best


def descents(
    panel: Panel, arm: str, changes: Mapping[str, Any], seed: int, m: int, times: Any = None
) -> Iterator[np.ndarray]:
    """Give the descent values of m samples of one arm.

    Args:
        panel: Where.
        arm: ``ours`` or ``theirs``.
        changes: Of the arm's values. Beside the methods' symbols: ``circle`` (start on the circle
            rather than in the disc), ``extract`` (``search``, ``point``, ``curvature`` at the
            saddle, or a step length along the direction) and ``reference``.
        seed: Of all of them.
        m: How many.
        times: The iterations; the arm's last if not given.

    Yields:
        One array for each time.
    """
    one: Arm = getattr(panel, arm)
    values = {**one.values, **changes}
    f, reference = panel.landscape, values.get("reference", panel.reference)
    extract = values.get("extract", "search" if KINDS[one.method].searches else "point")
    ops = CIRCLE if values.get("circle") else panel.ops
    looks = times or one.times[-1:]
    for points in trajectory(one.method, f, values, looks, seeds(arm, seed, m), ops):
        if extract == "search":
            value = lowest(f, points, panel.reach)
        elif extract == "point":
            value = f.value(points)
        elif extract == "curvature":
            e = points / np.linalg.norm(points, axis=-1, keepdims=True)
            value = ((e @ f.hessian(np.zeros(f.n))) * e).sum(-1)
        else:
            e = points * (extract / np.linalg.norm(points, axis=-1, keepdims=True))
            value = np.minimum(f.value(e), f.value(-e))
        yield reference - value


def seeds(arm: str, seed: int, m: int) -> np.ndarray:
    """Give m seeds, different for the two arms."""
    return (seed << 32) + (arm == "theirs") * 2**31 + np.arange(m)


class Experiment:
    """Panels, a seed, and the descent values that were computed so far."""

    def __init__(self, panels: tuple[Panel, ...], seed: int) -> None:
        """Begin.

        Args:
            panels: Of the figure.
            seed: Of everything.
        """
        self.panels, self.seed = panels, seed
        self.known: dict[Any, np.ndarray] = {}

    def final(
        self, arm: str, changes: Mapping[str, Any], m: int, which: int = 0, moment: int = -1
    ) -> np.ndarray:
        """Give the descent values of an arm at its last time.

        Args:
            arm: ``ours`` or ``theirs``.
            changes: The reading; beside what ``descents`` takes, ``t`` is another time.
            m: How many samples.
            which: The panel.
            moment: Another of the arm's times, by its index.

        Returns:
            One value per sample.
        """
        panel = self.panels[which]
        time = changes.get("t", getattr(panel, arm).times[moment])
        key = (arm, tuple(changes.items()), m, which, time)
        if key not in self.known:
            self.known[key] = next(descents(panel, arm, changes, self.seed, m, (time,)))
        return self.known[key]


Ask = Callable[[Experiment, Mapping[str, Any], int], Measured]
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": lambda p, bound: p > bound,
    "<": lambda p, bound: p < bound,
    "=": lambda p, bound: p == bound,
}


def wilson(p: float, m: int) -> tuple[float, float]:
    """Give Wilson's 95% interval of a share p of m samples."""
    z = 1.96
    centre, spread = p + z * z / (2 * m), z * sqrt(p * (1 - p) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def share(arm: str, side: str, threshold: float, sense: str, bound: float) -> Ask:
    """Ask for the share of samples whose decrease is on one side of a threshold.

    Args:
        arm: Whose.
        side: ``<=`` or ``>`` the threshold.
        threshold: Of the decrease.
        sense: Whether the share is to be ``>``, ``<`` or ``=`` the bound.
        bound: What the paper says.

    Returns:
        The question.
    """

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        low = experiment.final(arm, changes, m) <= threshold
        p = float(np.mean(low if side == "<=" else ~low))
        need = round(bound * RUN)
        counts = np.arange(RUN + 1)
        shows = [COMPARE[sense](float(k), need) for k in counts]
        run = float(binom.pmf(counts, RUN, p)[shows].sum())
        words = f"{p:.1%} with decrease {side} {threshold:g}"
        return Measured(p, *wilson(p, m), run, COMPARE[sense](p, bound), words)

    return ask


def dominated(threshold: float) -> Ask:
    """Ask whether more of their samples than of ours end at or below a threshold."""

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        ours, theirs = (
            float(np.mean(experiment.final(arm, changes, m) <= threshold))
            for arm in ("ours", "theirs")
        )
        spread = 1.96 * sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / m)
        counts = np.arange(RUN + 1)
        fewer = binom.cdf(counts - 1, RUN, ours)
        run = float(binom.pmf(counts, RUN, theirs) @ fewer)
        words = f"{theirs:.1%} of theirs and {ours:.1%} of ours at or below {threshold:g}"
        gap = theirs - ours
        return Measured(gap, gap - spread, gap + spread, run, gap > 0, words)

    return ask


def ahead(threshold: float) -> Ask:
    """Ask whether at each time more of our samples than of theirs are above a threshold."""

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        times = range(len(experiment.panels[0].ours.times))
        above = np.array([
            [experiment.final(arm, changes, m, moment=i) > threshold for i in times]
            for arm in ("ours", "theirs")
        ])  # fmt: skip
        shares = above.mean(-1)
        gap = float((shares[0] - shares[1]).min())
        spread = 1.96 * sqrt(float((shares * (1 - shares)).sum(0).max()) / m)
        runs = above[..., : m - m % RUN].reshape(*shares.shape, -1, RUN).mean(-1)
        run = float((runs[0] > runs[1]).all(0).mean())
        lists = [" and ".join(f"{p:.1%}" for p in each) for each in shares]
        words = f"ours {lists[0]}, theirs {lists[1]} above {threshold:g}"
        return Measured(gap, gap - spread, gap + spread, run, gap > 0, words)

    return ask


def aligned(arm: str, curvature: float, bound: float) -> Ask:
    """Ask whether more than this share of directions has half of the saddle's curvature."""
    found = share(arm, ">", curvature / 2, ">", bound)

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        measured = found(experiment, {**changes, "extract": "curvature", "reference": 0.0}, m)
        what = f"{measured.value:.1%} with curvature below {-curvature / 2:.3g}"
        return measured._replace(what=what)

    return ask


def both(first: Ask, second: Ask) -> Ask:
    """Ask two questions under the same reading: satisfied if both are."""

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        one, two = first(experiment, changes, m), second(experiment, changes, m)
        words = f"{one.what}; {two.what}"
        return one._replace(
            run=one.run * two.run, satisfied=one.satisfied and two.satisfied, what=words
        )

    return ask


def under(ask: Ask, **fixed: Any) -> Ask:
    """Ask the same with something added to the reading."""
    return lambda experiment, changes, m: ask(experiment, {**changes, **fixed}, m)


def similar(threshold: float, most: float) -> Ask:
    """Ask whether in every panel the shares above a threshold differ by at most so much."""

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        shares = [
            [float(np.mean(experiment.final(arm, changes, m, i) > threshold)) for i in panels]
            for arm in ("ours", "theirs")
            for panels in [range(len(experiment.panels))]
        ]
        gaps = [abs(a - b) for a, b in zip(*shares, strict=True)]
        gap, spread = max(gaps), 1.96 * sqrt(0.5 / m)
        run = prod(_close(a, b, most) for a, b in zip(*shares, strict=True))
        lists = [" ".join(f"{p:.0%}" for p in each) for each in shares]
        words = f"ours {lists[0]}, theirs {lists[1]} above {threshold:g}"
        bounds = (max(0.0, gap - spread), min(1.0, gap + spread))
        return Measured(gap, *bounds, run, gap <= most, words)

    return ask


def _close(p: float, q: float, most: float) -> float:
    """Give the chance that shares of two runs, p and q, differ by at most so much."""
    counts = np.arange(RUN + 1)
    pairs = np.outer(binom.pmf(counts, RUN, p), binom.pmf(counts, RUN, q))
    return float(pairs[abs(counts[:, None] - counts) <= round(most * RUN)].sum())


def curve(
    experiment: Experiment, arm: str, changes: Mapping[str, Any], threshold: float, limit: int,
    which: int = 0, m: int | None = None, whole: bool = False,
) -> np.ndarray:  # fmt: skip
    """Give, for each iteration, which samples have a decrease above the threshold.

    Args:
        experiment: Where.
        arm: Whose.
        changes: The reading.
        threshold: Of the decrease.
        limit: The last iteration; unless ``whole``, it ends before when 97% are above.
        which: The panel.
        m: How many samples; ``RACED`` if not given.
        whole: Whether to go on to the last iteration.

    Returns:
        One row for each iteration from the first, one column for each sample.
    """
    rows = []
    panel, times = experiment.panels[which], range(1, limit + 1)
    for values in descents(panel, arm, changes, experiment.seed, m or RACED, times):
        rows.append(values > threshold)
        if rows[-1].mean() > 0.97 and not whole:
            break
    return np.array(rows)


def reached(rows: np.ndarray, level: float = 0.9, lasting: bool = False) -> float:
    """Give the iteration at which this share first is above the threshold, or is from then on."""
    above = rows.mean(axis=1) >= level
    if lasting:
        above = np.logical_and.accumulate(above[::-1])[::-1]
    return float(np.argmax(above) + 1) if above.any() else inf


def race(threshold: float, ratio: float, limit: int) -> Ask:
    """Ask whether ours has 90% of its samples through in less than a ratio of their iterations.

    Args:
        threshold: Of the decrease.
        ratio: Of the iterations.
        limit: The last iteration.

    Returns:
        The question; where a reading is ``lasting``, of 90% from then on: searches swing back.
    """
    kept: dict[Any, Any] = {}

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        changes = dict(changes)
        lasting, name = bool(changes.pop("lasting", 0)), repr(sorted(changes.items()))
        if name not in kept:
            kept[name] = tuple(
                curve(experiment, arm, changes, threshold, limit, whole=True)
                for arm in ("ours", "theirs")
            )
        ours, theirs = kept[name]

        def quotient(pick: slice | None = None, shift: float = 0.0) -> float:
            columns = slice(None) if pick is None else pick
            fast, slow = (
                reached(ours[:, columns], 0.9 - shift, lasting),
                reached(theirs[:, columns], 0.9 + shift, lasting),
            )
            return fast / slow if isfinite(fast) else inf

        spread = 1.96 * 0.3 / sqrt(RACED)
        value, low, high = quotient(), quotient(None, spread), quotient(None, -spread)
        runs = [quotient(slice(i, i + RUN)) < ratio for i in range(0, RACED, RUN)]
        times = (reached(rows, lasting=lasting) for rows in (ours, theirs))
        counts = [f"{time:.0f}".replace("inf", f"over {limit}") for time in times]
        kind = "for good" if lasting else "through"
        words = f"90% {kind} after {counts[0]} iterations of ours, {counts[1]} of theirs"
        return Measured(value, low, high, float(np.mean(runs)), value < ratio, words)

    return ask
