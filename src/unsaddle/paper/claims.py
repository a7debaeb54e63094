"""The paper's claims: how each is measured under a reading, and the verdict over its readings.

A question, such as ``share("ours", "<=", 0.9, "<", 0.05)``, is put to an experiment that is under a
reading. The answer is what was measured, how sure it is, and whether the paper is right.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, prod, sqrt
from operator import eq, gt, lt
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from unsaddle.paper.experiment import ARMS, RUN, Experiment, Panel

SAMPLES = 100_000  # for each probability
NONE = 1e-3  # fewer than this share through: a method has not arrived yet
ALIKE = 0.05  # shares within this of 0, or of 1, are alike whatever the methods do
HOLDS, ONLY, FAILS = "holds", "holds only under this reading", "does not hold"
LASTING = "{}, for good"
CAPTION, DRAWN = "caption: histograms", "caption: samples drawn, and growth with n"
INTRODUCTION, TEXT = "introduction: iterations", "text and theorems"  # where it stands
HALVES = "caption: both halves at once, which is ours"
COMPARE = {">": gt, "<": lt, "=": eq}
COUNTS = np.arange(RUN + 1)  # of samples in one run of the paper


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


Ask = Callable[[Experiment], Measured]
Readings = dict[str, dict[str, Any]]  # name -> what it changes; the first is the literal one


class Claim(NamedTuple):
    """One sentence of the paper that can be true or false."""

    words: str
    ask: Ask
    readings: Readings
    note: str = ""
    first: bool = False  # to be measured before others, whose samples are among its own
    kind: str = CAPTION  # where the sentence stands


def question(measure: Callable[..., Measured]) -> Callable[..., Ask]:
    """Turn ``measure(*given, experiment)`` into a function that gives an ``Ask``."""
    return lambda *given: partial(measure, *given)


def wilson(p: float, m: int) -> tuple[float, float]:
    """Give Wilson's 95% interval of a share p of m samples."""
    z = 1.96
    centre, spread = p + z * z / (2 * m), z * sqrt(p * (1 - p) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


@question
def share(
    arm: str, side: str, threshold: float, sense: str, bound: float, experiment: Experiment
) -> Measured:
    """Ask whether the share with a decrease ``<=`` or ``>`` a threshold is ``>, <, =`` a bound."""
    m, above = experiment.m, experiment.share(arm, threshold)
    p = above if side == ">" else 1 - above
    shows = COMPARE[sense](COUNTS, round(bound * RUN))
    run = float(binom.pmf(COUNTS, RUN, p)[shows].sum())
    words = f"{p:.1%} with decrease {side} {threshold:g}"
    vacuous = (side, sense) == ("<=", ">") and above < NONE  # many are not above: none is
    return Measured(p, *wilson(p, m), run, COMPARE[sense](p, bound), words, m, vacuous)


@question
def dominated(threshold: float, experiment: Experiment) -> Measured:
    """Ask whether more of their samples than of ours end at or below a threshold."""
    m, (ours, theirs) = experiment.m, (1 - experiment.share(arm, threshold) for arm in ARMS)
    spread = 1.96 * sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / m)
    run = float(binom.pmf(COUNTS, RUN, theirs) @ binom.cdf(COUNTS - 1, RUN, ours))
    words = f"{theirs:.1%} of theirs and {ours:.1%} of ours at or below {threshold:g}"
    gap = theirs - ours
    return Measured(gap, gap - spread, gap + spread, run, gap > 0, words, m)


@question
def ahead(threshold: float, experiment: Experiment) -> Measured:
    """Ask whether at each time more of our samples than of theirs are above a threshold."""
    above = np.array([experiment.above(arm, threshold) for arm in ARMS])
    m, shares = experiment.m, above.mean(-1)
    gap = float((shares[0] - shares[1]).min())
    spread = 1.96 * sqrt(float((shares * (1 - shares)).sum(0).max()) / m)
    ours, theirs = of_runs(above)
    run = float((ours > theirs).all(0).mean())
    lists = [" and ".join(f"{p:.1%}" for p in each) for each in shares]
    words = f"ours {lists[0]}, theirs {lists[1]} above {threshold:g}"
    return Measured(gap, gap - spread, gap + spread, run, gap > 0, words, m)


@question
def aligned(arm: str, curvature: float, bound: float, experiment: Experiment) -> Measured:
    """Ask whether more than this share of directions has half of the saddle's curvature."""
    curved = experiment.under({"extract": "curvature", "reference": 0.0})
    measured = share(arm, ">", curvature / 2, ">", bound)(curved)
    what = f"{measured.value:.1%} with curvature below {-curvature / 2:.3g}"
    return measured._replace(what=what)


@question
def both(one: tuple[Any, ...], other: tuple[Any, ...], experiment: Experiment) -> Measured:
    """Ask for two shares under one reading; the value is the smaller margin to their bounds."""
    found = [share(*half)(experiment) for half in (one, other)]
    margins = [
        (p - bound, low - bound, high - bound) if sense == ">"
        else (bound - p, bound - high, bound - low)
        for (p, low, high, *_), (*_, sense, bound) in zip(found, (one, other), strict=True)
    ]  # fmt: skip
    least, low, high = (min(each) for each in zip(*margins, strict=True))
    words = "; ".join([*(each.what for each in found), f"margin {100 * least:.1f} points"])
    run, satisfied = prod(each.run for each in found), all(each.satisfied for each in found)
    vacuous = any(each.vacuous for each in found)
    return Measured(least, low, high, run, satisfied, words, experiment.m, vacuous)


def under(ask: Ask, **fixed: Any) -> Ask:
    """Ask the same with something added to the reading."""
    return lambda experiment: ask(experiment.under(fixed))


@question
def similar(threshold: float, most: float, experiment: Experiment) -> Measured:
    """Ask whether in every panel the shares above a threshold differ by at most so much."""
    m, panels = experiment.m, range(len(experiment.panels))
    shares = [[experiment.share(arm, threshold, i) for i in panels] for arm in ARMS]
    pairs = [*zip(*shares, strict=True)]
    gap, spread = max(abs(a - b) for a, b in pairs), 1.96 * sqrt(0.5 / m)
    run = prod(_close(a, b, most) for a, b in pairs)
    lists = [" ".join(f"{p:.0%}" for p in each) for each in shares]
    words = f"ours {lists[0]}, theirs {lists[1]} above {threshold:g}"
    bounds = (max(0.0, gap - spread), min(1.0, gap + spread))
    vacuous = all(min(pair) > 1 - ALIKE or max(pair) < ALIKE for pair in pairs)
    return Measured(gap, *bounds, run, gap <= most, words, m, vacuous)


def _close(p: float, q: float, most: float) -> float:
    """Give the chance that shares of two runs, p and q, differ by at most so much."""
    pairs = np.outer(binom.pmf(COUNTS, RUN, p), binom.pmf(COUNTS, RUN, q))
    return float(pairs[abs(COUNTS[:, None] - COUNTS) <= round(most * RUN)].sum())


def reached(shares: np.ndarray, level: float = 0.9, lasting: bool = False) -> np.ndarray:
    """Give the iteration at which each column first is at a level, or is from then on; or inf."""
    above = shares >= level
    if lasting:
        above = np.logical_and.accumulate(above[::-1])[::-1]
    return np.where(above.any(0), np.argmax(above, 0) + 1.0, inf)


def of_runs(rows: np.ndarray) -> np.ndarray:
    """Give the shares of single runs of the paper's size, one column for each."""
    whole = rows.shape[-1] // RUN * RUN
    return rows[..., :whole].reshape(*rows.shape[:-1], -1, RUN).mean(-1)


@question
def race(threshold: float, ratio: float, limit: int, experiment: Experiment) -> Measured:
    """Ask whether ours has 90% of its samples through in less than a ratio of their iterations."""
    # A reading may be ``lasting``: 90% from then on, as searches swing back. They are followed to
    # the limit, or until over 97% were through ``PATIENCE`` times on end. Where theirs are not
    # through at the limit, the value is a bound from above, as if they were next.
    m, lasting = experiment.m, bool(experiment.changes.get("lasting"))
    rows = [experiment.curve(arm, threshold, range(1, limit + 1), stop=0.97) for arm in ARMS]
    ours, theirs = (each.mean(-1) for each in rows)

    def quotient(fast: np.ndarray, slow: np.ndarray, shift: float = 0.0) -> np.ndarray:
        ends = reached(fast, 0.9 - shift, lasting), reached(slow, 0.9 + shift, lasting)
        return ends[0] / np.minimum(ends[1], limit + 1)

    spread = 1.96 * 0.3 / sqrt(m)
    value, low, high = (float(quotient(ours, theirs, by)) for by in (0.0, spread, -spread))
    run = float(np.mean(quotient(of_runs(rows[0]), of_runs(rows[1])) < ratio))
    ends = (reached(shares, lasting=lasting) for shares in (ours, theirs))
    counts = [f"{end:.0f}".replace("inf", f"over {limit}") for end in ends]
    kind = "for good" if lasting else "through"
    words = f"90% {kind} after {counts[0]} iterations of ours, {counts[1]} of theirs"
    return Measured(value, low, high, run, value < ratio, words, m)


@question
def larger(threshold: float, other: Panel, experiment: Experiment) -> Measured:
    """Ask whether either arm has more samples above a threshold than its like of another panel."""
    whole = replace(experiment, panels=(*experiment.panels, other))
    pairs = [[whole.share(arm, threshold, which) for which in (0, 1)] for arm in ARMS]
    gap = min(fast - slow for fast, slow in pairs)
    spread = 1.96 * sqrt(max(p * (1 - p) + q * (1 - q) for p, q in pairs) / whole.m)
    run = prod(float(binom.pmf(COUNTS, RUN, p) @ binom.cdf(COUNTS - 1, RUN, q)) for p, q in pairs)
    arms = [[getattr(panel, arm) for panel in whole.panels] for arm in ARMS]
    words = "; ".join(
        ", ".join(
            f"{arm.label} {p:.1%} at t = {arm.times[-1]}" for arm, p in zip(*each, strict=True)
        )
        for each in zip(arms, pairs, strict=True)
    )
    words += f" above {threshold:g}"
    return Measured(gap, gap - spread, gap + spread, run, gap > 0, words, whole.m)


@question
def sooner(threshold: float, limit: int, other: Panel, experiment: Experiment) -> Measured:
    """Ask whether both arms have 90% of their samples through before another panel's second has."""
    lasting = bool(experiment.changes.get("lasting"))
    changes = experiment.changes.get("other", {})
    slow = replace(experiment, panels=(*experiment.panels, other), changes=changes)
    times = range(1, limit + 1)
    rows = [experiment.curve(arm, threshold, times, stop=0.97) for arm in ARMS]
    rows.append(slow.curve("theirs", threshold, times, 1, stop=0.97))

    def quotient(shares: list[np.ndarray], shift: float = 0.0) -> np.ndarray:
        *fast, last = (reached(each, 0.9 + by, lasting) for each, by in
                       zip(shares, (-shift, -shift, shift), strict=True))  # fmt: skip
        return np.maximum(*fast) / np.minimum(last, limit + 1)

    shares, m = [each.mean(-1) for each in rows], experiment.m
    spread = 1.96 * 0.3 / sqrt(m)
    value, low, high = (float(quotient(shares, by)) for by in (0.0, spread, -spread))
    run = float(np.mean(quotient([of_runs(each) for each in rows]) < 1))
    ends = [reached(each, lasting=lasting) for each in shares]
    counts = [f"{end:.0f}".replace("inf", f"over {limit}") for end in ends]
    labels = [getattr(experiment.panels[0], arm).label for arm in ARMS] + [other.theirs.label]
    words = ", ".join(f"{label} {count}" for label, count in zip(labels, counts, strict=True))
    kind = "for good" if lasting else "through"
    return Measured(value, low, high, run, value < 1, f"90% {kind} after: {words}", m)


def judge(
    claim: Claim, experiment: Experiment, tick: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Measure a claim under each of its readings and give the verdict, as claims.json has it."""
    measured = {}
    for name, values in claim.readings.items():
        measured[name] = claim.ask(experiment.under(values))
        tick()
    names = list(measured)
    good = [name for name in names if measured[name].satisfied and not measured[name].vacuous]
    literal = {names[0], LASTING.format(names[0])} & {*names}
    shown = good[0] if good else names[0]
    verdict = HOLDS if literal <= {*good} else ONLY if good else FAILS
    return {
        "paper": claim.words,
        "kind": claim.kind,
        "verdict": verdict,
        "literal": names[0],
        "reading": shown,
        **entry(measured[shown]),
        "note": claim.note,
        "readings": {name: entry(each) for name, each in measured.items()},
    }


def known(words: str, reading: str, measured: Measured, note: str, kind: str) -> dict[str, Any]:
    """Give the verdict on a claim that has one reading and is measured already."""
    claim = Claim(words, lambda *asked: measured, {reading: {}}, note, kind=kind)
    return judge(claim, Experiment((), 0, measured.samples))


def entry(measured: Measured) -> dict[str, Any]:
    """Write a measurement with as many digits as it can carry."""
    numbers = {name: _number(getattr(measured, name)) for name in ("value", "low", "high", "run")}
    numbers["samples"] = measured.samples
    flags = {name: bool(getattr(measured, name)) for name in ("satisfied", "vacuous")}
    return {"measured": measured.what, **flags, **numbers}


def _number(value: float) -> float | None:
    return None if value != value or abs(value) == float("inf") else float(f"{value:.5g}")
