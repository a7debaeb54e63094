"""From samples to a measured answer to one of the paper's claims, under one reading."""

from collections.abc import Callable, Mapping
from math import inf, prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from unsaddle.paper.obtain import ARMS, RUN, Experiment

SAMPLES = 100_000  # for each probability
NONE = 1e-3  # fewer than this share through: a method has not arrived yet
ALIKE = 0.05  # shares within this of 0, or of 1, are alike whatever the methods do


class Measured(NamedTuple):
    """The answer under one reading."""

    value: float
    low: float
    high: float
    run: float  # chance that one run of 300 samples shows what the paper says; NaN if not asked
    satisfied: bool
    what: str  # the value in words
    samples: int  # of each method, or of its starts
    vacuous: bool = False  # true, but it would be of any method, or of any that has not arrived


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
        The question. That many are not above is vacuous where none is, to speak of.
    """

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        above = float(np.mean(experiment.above(arm, changes, m, threshold)[-1]))
        p = above if side == ">" else 1 - above
        need = round(bound * RUN)
        counts = np.arange(RUN + 1)
        shows = [COMPARE[sense](float(k), need) for k in counts]
        run = float(binom.pmf(counts, RUN, p)[shows].sum())
        words = f"{p:.1%} with decrease {side} {threshold:g}"
        vacuous = (side, sense) == ("<=", ">") and above < NONE
        return Measured(p, *wilson(p, m), run, COMPARE[sense](p, bound), words, m, vacuous)

    return ask


def dominated(threshold: float) -> Ask:
    """Ask whether more of their samples than of ours end at or below a threshold."""

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        ours, theirs = (
            1 - float(np.mean(experiment.above(arm, changes, m, threshold)[-1])) for arm in ARMS
        )
        spread = 1.96 * sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / m)
        counts = np.arange(RUN + 1)
        fewer = binom.cdf(counts - 1, RUN, ours)
        run = float(binom.pmf(counts, RUN, theirs) @ fewer)
        words = f"{theirs:.1%} of theirs and {ours:.1%} of ours at or below {threshold:g}"
        gap = theirs - ours
        return Measured(gap, gap - spread, gap + spread, run, gap > 0, words, m)

    return ask


def ahead(threshold: float) -> Ask:
    """Ask whether at each time more of our samples than of theirs are above a threshold."""

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        above = np.array([experiment.above(arm, changes, m, threshold) for arm in ARMS])
        shares = above.mean(-1)
        gap = float((shares[0] - shares[1]).min())
        spread = 1.96 * sqrt(float((shares * (1 - shares)).sum(0).max()) / m)
        runs = above[..., : m - m % RUN].reshape(*shares.shape, -1, RUN).mean(-1)
        run = float((runs[0] > runs[1]).all(0).mean())
        lists = [" and ".join(f"{p:.1%}" for p in each) for each in shares]
        words = f"ours {lists[0]}, theirs {lists[1]} above {threshold:g}"
        return Measured(gap, gap - spread, gap + spread, run, gap > 0, words, m)

    return ask


def aligned(arm: str, curvature: float, bound: float) -> Ask:
    """Ask whether more than this share of directions has half of the saddle's curvature."""
    found = share(arm, ">", curvature / 2, ">", bound)

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        measured = found(experiment, {**changes, "extract": "curvature", "reference": 0.0}, m)
        what = f"{measured.value:.1%} with curvature below {-curvature / 2:.3g}"
        return measured._replace(what=what)

    return ask


def both(*halves: tuple[str, str, float, str, float]) -> Ask:
    """Ask for two shares under the same reading.

    Args:
        *halves: Arguments of ``share``.

    Returns:
        The question, satisfied if both are. The value is the smaller of the two margins by which
        the shares are on the right side of their bounds, with the interval of that.
    """

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        found = [share(*half)(experiment, changes, m) for half in halves]
        margins = [
            (p - bound, low - bound, high - bound) if sense == ">"
            else (bound - p, bound - high, bound - low)
            for (p, low, high, *_), (*_, sense, bound) in zip(found, halves, strict=True)
        ]  # fmt: skip
        least, low, high = (min(each) for each in zip(*margins, strict=True))
        return Measured(
            least,
            low,
            high,
            run=prod(each.run for each in found),
            satisfied=all(each.satisfied for each in found),
            what="; ".join([*(each.what for each in found), f"margin {100 * least:.1f} points"]),
            samples=m,
            vacuous=any(each.vacuous for each in found),
        )

    return ask


def under(ask: Ask, **fixed: Any) -> Ask:
    """Ask the same with something added to the reading."""
    return lambda experiment, changes, m: ask(experiment, {**changes, **fixed}, m)


def similar(threshold: float, most: float) -> Ask:
    """Ask whether in every panel the shares above a threshold differ by at most so much.

    Args:
        threshold: Of the decrease.
        most: Of the difference.

    Returns:
        The question; vacuous if in every panel all samples of both are through, or none of either.
    """

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        shares = [
            [float(np.mean(experiment.above(arm, changes, m, threshold, i)[-1])) for i in panels]
            for arm in ARMS
            for panels in [range(len(experiment.panels))]
        ]
        gaps = [abs(a - b) for a, b in zip(*shares, strict=True)]
        gap, spread = max(gaps), 1.96 * sqrt(0.5 / m)
        run = prod(_close(a, b, most) for a, b in zip(*shares, strict=True))
        lists = [" ".join(f"{p:.0%}" for p in each) for each in shares]
        words = f"ours {lists[0]}, theirs {lists[1]} above {threshold:g}"
        bounds = (max(0.0, gap - spread), min(1.0, gap + spread))
        ends = [min(a, b) > 1 - ALIKE or max(a, b) < ALIKE for a, b in zip(*shares, strict=True)]
        return Measured(gap, *bounds, run, gap <= most, words, m, all(ends))

    return ask


def _close(p: float, q: float, most: float) -> float:
    """Give the chance that shares of two runs, p and q, differ by at most so much."""
    counts = np.arange(RUN + 1)
    pairs = np.outer(binom.pmf(counts, RUN, p), binom.pmf(counts, RUN, q))
    return float(pairs[abs(counts[:, None] - counts) <= round(most * RUN)].sum())


def reached(shares: np.ndarray, level: float = 0.9, lasting: bool = False) -> np.ndarray:
    """Give the iteration at which a share first is at this level, or is from then on.

    Args:
        shares: One row for each iteration from the first.
        level: What to reach.
        lasting: Whether it has to stay.

    Returns:
        One number for each column; infinite where there is none.
    """
    above = shares >= level
    if lasting:
        above = np.logical_and.accumulate(above[::-1])[::-1]
    return np.where(above.any(0), np.argmax(above, 0) + 1.0, inf)


def of_runs(rows: np.ndarray) -> np.ndarray:
    """Give the shares of single runs of the paper's size, one column for each."""
    whole = rows.shape[-1] // RUN * RUN
    return rows[:, :whole].reshape(len(rows), -1, RUN).mean(-1)


def race(threshold: float, ratio: float, limit: int) -> Ask:
    """Ask whether ours has 90% of its samples through in less than a ratio of their iterations.

    Args:
        threshold: Of the decrease.
        ratio: Of the iterations.
        limit: The last iteration.

    Returns:
        The question; where a reading is ``lasting``, of 90% from then on: searches swing back, and
        are followed until over 97% were through ``PATIENCE`` times on end, or to the limit. If
        they are not through at the limit the value is a bound from above, as if they were next.
    """

    def ask(experiment: Experiment, changes: Mapping[str, Any], m: int) -> Measured:
        changes = dict(changes)
        lasting = bool(changes.pop("lasting", 0))
        times = range(1, limit + 1)
        rows = [experiment.curve(arm, changes, threshold, times, m, stop=0.97) for arm in ARMS]
        ours, theirs = (each.mean(-1) for each in rows)
        our_runs, their_runs = map(of_runs, rows)

        def quotient(fast: np.ndarray, slow: np.ndarray, shift: float = 0.0) -> np.ndarray:
            ends = reached(fast, 0.9 - shift, lasting), reached(slow, 0.9 + shift, lasting)
            return ends[0] / np.minimum(ends[1], limit + 1)

        spread = 1.96 * 0.3 / sqrt(m)
        value, low, high = (float(quotient(ours, theirs, by)) for by in (0.0, spread, -spread))
        run = float(np.mean(quotient(our_runs, their_runs) < ratio))
        ends = (reached(shares, lasting=lasting) for shares in (ours, theirs))
        counts = [f"{end:.0f}".replace("inf", f"over {limit}") for end in ends]
        kind = "for good" if lasting else "through"
        words = f"90% {kind} after {counts[0]} iterations of ours, {counts[1]} of theirs"
        return Measured(value, low, high, run, value < ratio, words, m)

    return ask
