"""Beyond the paper: iterations to 90% success against n, for every method, down to Lanczos."""

from functools import partial
from math import inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unsaddle import landscapes, style
from unsaddle.paper import draw
from unsaddle.paper.batch import Batch
from unsaddle.paper.claims import DRAWN, SAMPLES, Claim, Measured, judge, of_runs, reached
from unsaddle.paper.declare import symbols
from unsaddle.paper.experiment import PATIENCE, RUN, Arm, Experiment, Panel, sectors
from unsaddle.paper.extras.quadratics import dense, drawn, lanczos, quadratic, quotients, rayleigh
from unsaddle.paper.figures import SCALES
from unsaddle.paper.jobs import Told, slope, study, ticker

DIMENSIONS = tuple(10**p for p in range(1, 7))
STARTS = 10 * RUN  # on the dense spectrum, and of the readings that are not drawn
LANCZOS = 1000  # starts of Lanczos, anywhere
EPS, BARS = 0.01, {"lambda/4": 0.25, "0.9 lambda": 0.9}
LIMIT, H = "Lanczos", "h: decrease > 0.9"
COMPARED = ("NC-finding", "PGD")
RACERS = {  # label -> (method, eta l on the dense spectrum); theta and zeta by theory
    "NC-finding": ("pgd+nc", 1.0), "PGD": ("pgd", 1.0), "NEON": ("neon", 1.0),
    "ANCGD": ("ancgd", 0.25), "PAGD": ("pagd", 0.25), "NEON+": ("neon+", 0.25),
    "ANC, eta = 1/l": ("ancgd", 1.0),
}  # fmt: skip
STYLES = {  # label -> colour, marker and line: the paper's methods, their rivals, and the others
    "NC-finding": (style.OURS, "o", "-"), "ANCGD": (style.OURS, "D", "-"),
    "PGD": (style.THEIRS, "s", "--"), "PAGD": (style.THEIRS, "^", "--"),
    "NEON": (style.SOFT, "^", ":"), "NEON+": (style.SOFT, "v", ":"),
    "ANC, eta = 1/l": (style.SOFT, "D", "-"), LIMIT: (style.INK, "v", "-"),
}  # fmt: skip
Counts = dict[str, list[float]]
Slope = tuple[float, np.ndarray]  # in all, and in single runs


class Ends(NamedTuple):
    """When 90% of the samples are through: for the first time, for good, and in single runs."""

    first: float
    lasting: float
    runs: np.ndarray


def on_h(label: str, n: int, eps: float, eta: float, seed: int, m: int) -> np.ndarray:
    """Say at each iteration, by rows, which of m samples have 90% of the decrease on h."""
    f = landscapes.h(2, eps)
    arm = Arm(label, RACERS[label][0], (), symbols(f, eta) | {"r": 0.1})
    experiment = Experiment((Panel(f, arm, arm, ops=Batch(n=n)),), seed, m)
    return experiment.curve("ours", -0.9 * f.infimum, range(1, 1201), stop=0.97)


def ends(rows: np.ndarray) -> Ends:
    """Count the iterations until 90% of the samples are through."""
    shares = rows.mean(-1)
    lasting = float(reached(shares, lasting=True))
    return Ends(float(reached(shares)), lasting, reached(of_runs(rows)))


def slopes(by_size: list[Ends]) -> Slope:
    """Give how many more iterations each decade of n takes, in all and in single runs."""
    decades = np.log10(DIMENSIONS)
    runs = np.polyfit(decades, np.array([each.runs for each in by_size]), 1)[0]
    return slope(decades, [each.first for each in by_size]), runs


def all_on_h(seed: int, tick: Any) -> tuple[Counts, Counts, dict[str, Slope]]:
    """Count iterations until 90% of the samples have a decrease above 0.9 on h."""
    f = landscapes.h(2, 1.0)
    bar = rayleigh(np.array([-1.0, 1.0]), np.array([[abs(sectors(f, -0.9)[0][0]), 1.0]]))
    found: dict[str, list[Ends]] = {label: [] for label in RACERS if "=" not in label}
    limit: list[float] = []
    for n in DIMENSIONS:
        for label, by_size in found.items():
            by_size.append(ends(on_h(label, n, 1.0, 0.05, seed, SAMPLES)))
            tick()
        squares = drawn(np.array([1.0, n - 1.0]), seed, LANCZOS)
        limit.append(nine_tenths(lanczos(f, squares, bar, 20)[0]))
    first = {label: [each.first for each in by_size] for label, by_size in found.items()}
    lasting = {label: [each.lasting for each in by_size] for label, by_size in found.items()}
    grown = {label: slopes(found[label]) for label in COMPARED}
    return first | {LIMIT: limit}, lasting | {LIMIT: limit}, grown


def on_band(seed: int, tick: Any) -> list[Counts]:
    """Count gradients until 90% have a direction below each bar: for each bar and method, by n."""
    counts: list[Counts] = [{label: [] for label in (*RACERS, LIMIT)} for _ in BARS]
    bars = [-EPS * share for share in BARS.values()]
    for n in DIMENSIONS:
        eigenvalues, multiplicities = dense(EPS, n)
        f, squares = quadratic(eigenvalues), drawn(multiplicities, seed, STARTS)
        known: dict[int, list[Any]] = {}
        for label in counts[0]:
            if label == LIMIT:
                times = [*map(nine_tenths, lanczos(f, squares[:LANCZOS], bars, 150))]
            else:
                method, eta = RACERS[label]
                values = symbols(f, eta) | {"r": 1e-6}
                times = through(quotients(method, f, values, squares, 3000, known), bars)
            for count, time in zip(counts, times, strict=True):
                count[label].append(time)
            tick()
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


def faster(drawn: dict[str, Slope], seed: int, tick: Any) -> dict[str, Any]:
    """Judge figure 3's claim that PGD's iterations grow faster; ``drawn`` is known already."""

    def grown(label: str, eta: float, eps: float = 1.0) -> Slope:
        return slopes([ends(on_h(label, n, eps, eta, seed, STARTS)) for n in DIMENSIONS])

    def ask(experiment: Experiment) -> Measured:
        changes = experiment.changes
        m, found = (STARTS, partial(grown, **changes)) if changes else (SAMPLES, drawn.__getitem__)
        (ours, our_runs), (theirs, their_runs) = map(found, COMPARED)
        gaps, gap = their_runs - our_runs, theirs - ours
        spread = 1.96 * gaps.std(ddof=1) / sqrt(len(gaps))
        words = f"{theirs:.1f} more iterations for each decade of n, NC-finding {ours:.1f}"
        words += f": {theirs / ours:.3g} times" if ours else ""
        run = float(np.mean(gaps > 0))
        return Measured(gap, gap - spread, gap + spread, run, gap > 0, words, m)

    claim = Claim(
        "PGD's iterations grow faster with n than NC-finding's (figure 3)",
        ask,
        SCALES,
        "On h, iterations until 90% have 90% of the decrease. True as a slope: both grow "
        "linearly in log n, where the proofs have log n and log^4 n. The value is the "
        "difference of the slopes; its interval is from the runs of 300 that the samples make.",
        kind=DRAWN,
    )
    return judge(claim, Experiment((), seed, SAMPLES), tick)


def growth(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Count iterations to 90% success against n, on h and on a dense spectrum."""
    tick = ticker(told, len(DIMENSIONS) * (2 * len(RACERS)) + 3)
    first, lasting, drawn = all_on_h(seed, tick)
    parts = {H: first}
    parts |= {f"dense: {bar}": each for bar, each in zip(BARS, on_band(seed, tick), strict=True)}
    picture, axes = draw.sheet(3, 3.6)
    for axis, (title, lines) in zip(axes, parts.items(), strict=True):
        for label, each in lines.items():
            colour, marker, line = STYLES[label]
            axis.plot(DIMENSIONS, each, color=colour, marker=marker, linestyle=line, markersize=4.5,
                      label=label)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="n", title=title)
    axes[0].set(yscale="linear", ylim=0, ylabel="gradients until 90% are through")
    for axis, lines in zip(axes, parts.values(), strict=True):
        ends = {label: (each[-1], STYLES[label][0]) for label, each in lines.items()}
        style.name_ends(axis, ends, bold=("NC-finding", "ANCGD"))
    decades = np.log10(DIMENSIONS)
    table = [
        (part, label, starts(part, label), *[int(t) for t in times], slope(decades, times))
        for part, lines in ({H: first, f"{H}, for good": lasting} | parts).items()
        for label, times in lines.items()
    ]
    return study(
        folder, "growth", "Beyond the paper: growth with the dimension",
        "Iterations until 90% of the starts succeed. Left, on h (eps = 1, eta = 0.05), for the "
        "first time: straight lines in log n for NC-finding, NEON, PGD and PAGD. Those of ANCGD "
        "and NEON+ are not straight: with the theory's momentum a search swings, and which swing "
        "is the first to bring 90% through changes with n; the table also counts when they are "
        f"through for good (for {PATIENCE} iterations and on). Middle and right, on quadratics "
        "with l = 1, lambda = -0.01 and a dense band above -0.005 (at most 600 distinct "
        "eigenvalues, repeated): gradients until a direction of curvature lambda/4, or 0.9 lambda, "
        "is found; eta is 1/l for NC-finding, PGD and NEON, whose recursions are the same there, "
        "and 1/(4l), the paper's, for the accelerated ones. Theta and zeta are by theory "
        "throughout. Lanczos, the escape of agd+lanczos, is the limit of all methods of this kind; "
        "one of its gradients measures the error of a difference. h is no benchmark for it: there "
        "are two distinct eigenvalues, and "
        f"it is done at once. The dense spectrum has {STARTS:,} starts for each n, Lanczos "
        f"{LANCZOS:,}, h {SAMPLES:,}.",
        picture, "Gradients until 90% of the starts are through, against n",
        ("problem", "method", "starts", *[f"n = {n:,}" for n in DIMENSIONS], "per decade"),
        table, faster(drawn, seed, tick),
    )  # fmt: skip


def starts(part: str, label: str) -> int:
    """Say how many starts a row of the table is from."""
    return LANCZOS if label == LIMIT else SAMPLES if part.startswith("h") else STARTS
