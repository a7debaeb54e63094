"""Beyond the paper: iterations to 90% success against n, for every method, down to Lanczos."""

from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from unsaddle import landscapes
from unsaddle.paper import draw
from unsaddle.paper.beyond import claim, result
from unsaddle.paper.jobs import Told, slope, ticker
from unsaddle.paper.lockstep import reduced
from unsaddle.paper.measure import SAMPLES, Measured, of_runs, reached
from unsaddle.paper.obtain import RUN, Arm, Experiment, Panel, sectors
from unsaddle.paper.quadratics import dense, drawn, lanczos, quadratic, quotients, rayleigh

DIMENSIONS = tuple(10**p for p in range(1, 7))
STARTS = 10 * RUN  # on the dense spectrum
LANCZOS = 1000  # starts of Lanczos, anywhere
EPS, BARS = 0.01, {"lambda/4": 0.25, "0.9 lambda": 0.9}
LIMIT = "Lanczos"
RACERS = {  # label -> (method, eta l on the dense spectrum); theta and zeta by theory
    "NC-finding": ("pgd+nc", 1.0), "PGD": ("pgd", 1.0), "NEON": ("neon", 1.0),
    "ANCGD": ("ancgd", 0.25), "PAGD": ("pagd", 0.25), "NEON+": ("neon+", 0.25),
    "ANC, eta = 1/l": ("ancgd", 1.0),
}  # fmt: skip
STYLES = {  # label -> colour, marker and line
    "NC-finding": ("#0072b2", "o", "-"), "PGD": ("#d55e00", "s", "--"),
    "NEON": ("#56b4e9", "^", ":"),
    "ANCGD": ("#009e73", "o", "-"), "PAGD": ("#cc79a7", "s", "--"), "NEON+": ("#b58900", "^", "-"),
    "ANC, eta = 1/l": ("#6a3d9a", "D", "-"), LIMIT: ("#222222", "v", "-"),
}  # fmt: skip
Counts = dict[str, list[float]]


def symbols(eta: float, curvature: float) -> dict[str, float]:
    """Give the step and what theory makes of it and of the curvature."""
    root = sqrt(eta * curvature)
    return {"eta": eta, "theta": root / 2, "zeta": 1 - root}


def on_h(seed: int, tick: Any) -> tuple[Counts, dict[str, np.ndarray]]:
    """Count iterations until 90% of the samples have a decrease above 0.9 on h.

    Args:
        seed: Of the samples.
        tick: Called after each method.

    Returns:
        Counts against n for each method; and those of single runs of 300, a row for each n.
    """
    f, values = landscapes.h(2, 1.0), symbols(0.05, 1.0) | {"r": 0.1}
    side = sectors(f, -0.9, 4.0)[0]
    bar = rayleigh(np.array([-1.0, 1.0]), np.array([[abs(side[0]), 1.0]]))
    labels = [label for label in RACERS if "=" not in label]
    counts: Counts = {label: [] for label in (*labels, LIMIT)}
    runs: dict[str, list[np.ndarray]] = {label: [] for label in labels}
    for n in DIMENSIONS:
        for label in labels:
            arm = Arm(label, RACERS[label][0], (), values)
            panel = Panel("h", f, arm, arm, 4.0, 0.0, reduced(n))
            experiment = Experiment((panel,), seed)
            rows = experiment.curve("ours", {}, 0.9, range(1, 401), SAMPLES, stop=0.97)
            counts[label].append(float(reached(rows.mean(-1))))
            runs[label].append(reached(of_runs(rows)))
            tick()
        squares = drawn(np.array([1.0, n - 1.0]), seed, LANCZOS)
        counts[LIMIT].append(nine_tenths(lanczos(f, squares, bar, 20)[0]))
    return counts, {label: np.array(each) for label, each in runs.items()}


def on_band(seed: int, tick: Any) -> list[Counts]:
    """Count gradients until 90% of the starts have a direction of curvature below each bar.

    Args:
        seed: Of the starts.
        tick: Called after each method.

    Returns:
        For each bar, counts against n for each method.
    """
    counts: list[Counts] = [{label: [] for label in (*RACERS, LIMIT)} for _ in BARS]
    bars = [-EPS * share for share in BARS.values()]
    for n in DIMENSIONS:
        eigenvalues, multiplicities = dense(EPS, n)
        f, squares = quadratic(eigenvalues), drawn(multiplicities, seed, STARTS)
        times: dict[str, list[float]] = {}
        for label, (method, eta) in RACERS.items():
            values = symbols(eta, EPS) | {"r": 1e-6}
            times[label] = through(quotients(method, f, values, squares, 3000), bars)
            tick()
        found = lanczos(f, squares[:LANCZOS], bars, 150)
        times[LIMIT] = [nine_tenths(each) for each in found]
        tick()
        for label, each in times.items():
            for count, time in zip(counts, each, strict=True):
                count[label].append(time)
    return counts


def nine_tenths(counts: np.ndarray) -> float:
    """Give the count within which 90% are."""
    return float(np.quantile(counts, 0.9, method="higher"))


def through(rows: Any, bars: Any) -> list[float]:
    """Give the first step at which 90% of the starts are at or below each bar."""
    times = [inf] * len(bars)
    for step, each in enumerate(rows, 1):
        for i, bar in enumerate(bars):
            if times[i] == inf and np.mean(each <= bar) >= 0.9:
                times[i] = float(step)
        if inf not in times:
            break
    return times


def faster(counts: Counts, runs: dict[str, np.ndarray]) -> dict[str, Any]:
    """Judge figure 3's claim that PGD's iterations grow faster than NC-finding's.

    Args:
        counts: On h.
        runs: Of single runs.

    Returns:
        The claim.
    """
    decades = np.log10(DIMENSIONS)
    ours, theirs = (slope(decades, counts[label]) for label in ("NC-finding", "PGD"))
    single = np.polyfit(decades, runs["PGD"], 1)[0] / np.polyfit(decades, runs["NC-finding"], 1)[0]
    ratio, spread = theirs / ours, 1.96 * single.std(ddof=1) / sqrt(len(single))
    words = (
        f"{theirs:.1f} more iterations per decade of n, NC-finding {ours:.1f}: {ratio:.3g} times"
    )
    run = float(np.mean(single > 1))
    measured = Measured(ratio, ratio - spread, ratio + spread, run, theirs > ours, words, SAMPLES)
    return claim(
        "growth.1",
        "PGD's iterations grow faster with n than NC-finding's (figure 3)",
        "on h, eps = 1, eta = 0.05; iterations to 90% success",
        measured,
        "True as a slope: both grow linearly in log n, where the proofs have log n and log^4 n. "
        f"The value is the quotient of the slopes; its interval is from {len(single)} runs of 300.",
    )


def growth(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Count iterations to 90% success against n, on h and on a dense spectrum.

    Args:
        folder: Where to write.
        seed: Of the samples.
        told: Called with the share that is done.

    Returns:
        The result.
    """
    tick = ticker(told, len(DIMENSIONS) * (2 * len(RACERS)))
    counts, runs = on_h(seed, tick)
    parts = {"h: decrease > 0.9": counts}
    parts |= {f"dense: {bar}": each for bar, each in zip(BARS, on_band(seed, tick), strict=True)}
    picture, axes = draw.sheet(3, 3.6, 4.4)
    for axis, (title, lines) in zip(axes, parts.items(), strict=True):
        for label, each in lines.items():
            colour, marker, line = STYLES[label]
            axis.plot(DIMENSIONS, each, color=colour, marker=marker, linestyle=line, markersize=4.5,
                      label=label)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="n", title=title)
    axes[0].set(yscale="linear", ylim=0, ylabel="gradients until 90% are through")
    handles, labels = axes[1].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=8, fontsize=9)
    draw.save(picture, folder / "growth")
    decades = np.log10(DIMENSIONS)
    table = [
        (part, label, starts(part, label), *[int(t) for t in times], slope(decades, times))
        for part, lines in parts.items()
        for label, times in lines.items()
    ]
    return result(
        "growth",
        "Beyond the paper: growth with the dimension",
        "Iterations until 90% of the starts succeed. Left, on h (eps = 1, eta = 0.05): roughly "
        "straight lines in log n. Middle and right, on quadratics with l = 1, lambda = -0.01 and a "
        "dense band above -0.005 (at most 600 distinct eigenvalues, repeated): gradients until a "
        "direction of curvature lambda/4, or 0.9 lambda, is found; eta is 1/l for NC-finding, PGD "
        "and NEON, whose recursions are the same there, and 1/(4l), the paper's, for the "
        "accelerated ones. Theta and zeta are by theory throughout. Lanczos, the escape of "
        "agd+lanczos, is the limit of all methods of this kind; one of its gradients measures the "
        "error of a difference. h is no benchmark for it: there are two distinct eigenvalues, and "
        f"it is done at once. The dense spectrum has {STARTS:,} starts for each n, Lanczos "
        f"{LANCZOS:,}, h {SAMPLES:,}.",
        ("problem", "method", "starts", *[f"n = {n:,}" for n in DIMENSIONS], "per decade"),
        table, folder, "Gradients until 90% of the starts are through, against n",
        [faster(counts, runs)],
    )  # fmt: skip


def starts(part: str, label: str) -> int:
    """Say how many starts a row of the table is from."""
    return LANCZOS if label == LIMIT else SAMPLES if part.startswith("h") else STARTS
