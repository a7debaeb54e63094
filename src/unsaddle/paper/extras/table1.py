"""Table 1: what each method takes from a saddle to its end, beside its proven rate.

Every method of ``methods/table.py`` is measured, as printed and with the early exits that all can
have (``exits.py``). A search by Lanczos has no window to be left: it ends where its Krylov space is
exhausted, on h after two products. Methods that search so have no row as printed.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import linregress, t

from unsaddle import landscapes, style
from unsaddle.methods.table import METHODS, STOCHASTIC, Method
from unsaddle.paper import draw
from unsaddle.paper.claims import TEXT, Measured, known
from unsaddle.paper.extras import exits, sampled
from unsaddle.paper.extras.exits import EXACT, EXITS, PRINTED
from unsaddle.paper.jobs import Told, study, ticker

SIZES = (10, 100, 1000, 10_000)
CURVATURES = (0.1, 0.05, 0.02, 0.01)  # the first is that of all sizes, the others are of SIZES[0]
SEEDS = 2
FEWER = {"spider+": 1}  # a start of which takes a quarter of a minute at the last curvature
LIMIT = 300_000
UNPROVEN = "none for these parameters"
PRACTICAL = "practical"
LOOPS = {  # the column "Simplicity" of the paper's table
    "pgd": "single", "pagd": "single", "pgd+nc": "single", "ancgd": "single", "neon": "nested",
    "neon+": "nested", "neon2": "nested", "adancg": "nested", "cdhs": "nested",
    "fastcubic": "nested", "psgd": "single", "sgd+nc": "single", "sharp-sgd": "single",
    "neon2-online": "nested", "spider+": "nested",
}  # fmt: skip
THEOREMS = {"ancgd": "Theorems 1, 7 and 23", "pgd+nc": "Theorem 22"}


class Taken(NamedTuple):
    """What one run took."""

    calls: float  # gradients and products, or gradients of single samples
    products: int  # of these
    certified: bool
    second_order: bool  # by the exact Hessian


class Fit(NamedTuple):
    """An exponent, with its 95% interval."""

    power: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it for a table."""
        power, low, high = (f"{round(each, 2) + 0.0:.2f}" for each in self)
        return power if low == high else f"{power} ({low} to {high})"


class Row(NamedTuple):
    """A method in one way: its runs, by place and seed, and what is said of it."""

    method: str
    way: str
    rate: str
    line: Method
    runs: list[list[Taken]]

    @property
    def counts(self) -> np.ndarray:
        """The calls, by place and seed."""
        return np.array([[run.calls for run in place] for place in self.runs], float)

    @property
    def largest(self) -> float:
        """The mean at the largest n."""
        return float(self.counts[len(SIZES) - 1].mean())


def places() -> list[tuple[int, float]]:
    """Give all pairs of n and curvature: every size, then every further curvature."""
    return [(n, CURVATURES[0]) for n in SIZES] + [(SIZES[0], eps) for eps in CURVATURES[1:]]


def product(eps: float, x: Any, d: Any) -> Any:
    """Give H(x) d of h."""
    return np.concatenate([(3 * x[:1] ** 2 / 4 - eps) * d[:1], d[1:]])


def second_order(x: Any, eps: float) -> bool:
    """Say whether |g| <= tol at x and the one eigenvalue of h that may be negative >= -gamma."""
    f, tol = landscapes.h(len(x), eps), sampled.known(len(x), eps)["tol"]
    gamma = np.sqrt(f.hessian_lipschitz * tol)
    return bool(np.linalg.norm(f.gradient(x)) <= tol and 3 * x[0] ** 2 / 4 - eps >= -gamma)


def taken(way: str, method: str, n: int, eps: float, seed: int) -> Taken:
    """Count the gradients and products of one run from the saddle."""
    constants = sampled.known(n, eps)
    words = ("smoothness", "hessian_lipschitz", "tol", "decrease_available")
    given = {name: constants[name] for name in words}
    end = exits.run(
        way, method, landscapes.h(n, eps), given, seed, LIMIT, partial(product, eps)
    )  # fmt: skip
    calls = end.gradients + end.products
    return Taken(calls, end.products, end.certified, second_order(end.x, eps))


def sampled_taken(method: str, n: int, eps: float, seed: int) -> Taken:
    """Count the gradients of single samples of one run."""
    end = sampled.run(method, n, eps, seed)
    return Taken(end.samples, 0, end.certified, second_order(end.x, eps))


def computed(method: str, n: int, eps: float, seed: int) -> Taken:
    """Compute what a stochastic method would take as printed."""
    return Taken(sampled.printed(method, n, eps), 0, False, False)


def fit(x: Any, counts: np.ndarray) -> Fit:
    """Fit log(counts) against x, all runs in one: slope and Student's interval."""
    spread = np.repeat(np.asarray(x, float), counts.shape[1])
    line: Any = linregress(spread, np.log(counts).ravel())
    wide = float(t.ppf(0.975, len(spread) - 2) * line.stderr)
    return Fit(
        *(round(float(v), 6) + 0.0 for v in (line.slope, line.slope - wide, line.slope + wide))
    )


def fits(row: Row) -> tuple[Fit, Fit, Fit]:
    """Give the powers of log n, of 1/eps and of 1/gamma."""
    known = [sampled.known(SIZES[0], eps) for eps in CURVATURES]
    eps = [-np.log(each["tol"]) for each in known]
    gamma = [-np.log(each["hessian_lipschitz"] * each["tol"]) / 2 for each in known]
    sizes, steps = row.counts[: len(SIZES)], np.delete(row.counts, range(1, len(SIZES)), 0)
    return fit(np.log(np.log(SIZES)), sizes), fit(eps, steps), fit(gamma, steps)


def of_one_saddle(rate: str) -> float | None:
    """Give the power of 1/gamma that a proven rate leaves for one of its eps^-1.5 saddles."""
    found = re.match(r"log\S* / eps\^([\d.]+)", rate)
    return None if found is None else 2 * (float(found[1]) - 1.5)


def shown(row: Row) -> tuple[Any, ...]:
    """Put a line of the table together."""
    means = [float(each) if each > 1e9 else round(each) for each in row.counts.mean(1)]
    runs = [run for place in row.runs for run in place]
    by_size, by_eps, by_gamma = fits(row)
    ran = not (row.way == PRINTED and row.method in STOCHASTIC)
    ends = ["not run"] * 2
    if row.method == "psgd" and ran:
        ends = ["has no end"] * 2
    elif ran:
        ends = [f"{np.mean([getattr(run, end) for run in runs]):.0%}"
                for end in ("certified", "second_order")]  # fmt: skip
    saddle = of_one_saddle(row.rate) if row.method in METHODS else None
    return (
        row.method, row.way, row.rate, LOOPS.get(row.method, "not in the paper's table"),
        len(row.line.options), *means[: len(SIZES)], by_size, *means[len(SIZES) :], by_eps,
        by_gamma, "-" if saddle is None else f"{saddle:g}",
        round(np.mean([run.products for run in row.runs[len(SIZES) - 1]])), *ends,
    )  # fmt: skip


def table1(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Measure every method."""
    ways: list[tuple[str, str, str, Method, Callable[..., Taken]]] = []
    for name, line in METHODS.items():
        ways += [(name, way, line.rate, line, partial(taken, way)) for way in exits.ways(line)]
    for name, line in STOCHASTIC.items():
        ways.append((name, PRINTED, line.rate, line, computed))
        ways.append((name, PRACTICAL, UNPROVEN, line, sampled_taken))
    tick, rows = ticker(told, len(ways) * len(places())), list[Row]()
    for name, way, rate, line, count in ways:
        runs = []
        for place in places():
            starts = range(seed, seed + FEWER.get(name, SEEDS))
            runs.append([count(name, *place, each) for each in starts])
            tick()
        rows.append(Row(name, way, rate, line, runs))
    return study(
        folder, "table1", "Table 1: measured",
        "From the exact saddle of h to the end, all gradients and products with the Hessian "
        f"counted, means of {SEEDS} starts, of spider+ {FEWER['spider+']}. As printed: the papers' "
        "own parameters, windows in full, the end by the method's own test; PGD and PAGD with "
        "c = 1, for which nothing is proven. With exits: a window ends by the growth certificate "
        "or a measured Rayleigh quotient, the same two rules for every method, and the run with a "
        "certificate, whose gradients count. A search by Lanczos, as that of cdhs, adancg and "
        "fastcubic, has no window to be left: on h its Krylov space is exhausted after two "
        "products. Such methods have the second way only, and those that no paper prints too; "
        "where products are the method's oracle it is run with exact ones and with differences. "
        "The tolerance is such that gamma is half of the saddle's curvature. Counts are for n = 10 "
        "to 10,000 (saddle curvature 0.1) and for saddle curvatures 0.1 to 0.01 (n = 10); the "
        "column of products says how many of those at n = 10,000 they are. Exponents are fitted to "
        "all runs, with 95% intervals. A proven rate is for a function with eps^-1.5 saddles: what "
        "it leaves for one is a power of 1/gamma, 1/2 for the accelerated methods and 1 for the "
        "others, beside which the measured one stands. Loops are the paper's column Simplicity; "
        "hyperparameters are those of the code. The last five see samples with additive noise of "
        "root mean square length tol, and gradients of single samples are counted. As printed they "
        "are not run: what is given is computed, one search of sgd+nc (2 m T_s) and of "
        "neon2-online (2 T), one epoch of spider+ with its search (2 K S_2 + 2 T), the steps in "
        "the last ball (K_0) of sharp-sgd, and the time (script T) in which psgd is to leave a "
        "saddle. Measured are the practical parameters, to a certificate; psgd, with iota = 1, has "
        "no end and is stopped when 90% of the decrease is there. Second-order is by the exact "
        "gradient and Hessian.",
        _picture(rows), "Gradients from a saddle to the end, and how they grow with 1/gamma",
        ("method", "way", "proven rate", "loops", "hyperparameters", *[f"n = {n}" for n in SIZES],
         "power of log n", *[f"curvature {e:g}" for e in CURVATURES[1:]], "power of 1/eps",
         "power of 1/gamma", "one saddle, by the rate", "products", "certified", "second-order"),
        [shown(row) for row in rows], *_theorems(rows),
    )  # fmt: skip


def _theorems(rows: list[Row]) -> list[dict[str, Any]]:
    """Judge whether the paper's own methods grow as their theorems have it for one saddle."""
    judged = []
    for row in rows:
        if row.way != PRINTED or row.method not in THEOREMS:
            continue
        by_size, _, by_gamma = fits(row)
        bound, runs = of_one_saddle(row.rate) or 0.0, len(row.runs) * SEEDS
        words = f"gamma^-{by_gamma.power:.2f} and log(n)^{by_size.power:.2f}"
        satisfied = by_gamma.low <= bound + ROOM and by_size.low <= 1
        judged.append(known(
            f"{THEOREMS[row.method]}: {row.method} takes {row.rate}",
            f"one saddle of h, as printed: at most gamma^-{bound:g} and log(n), but for logarithms",
            Measured(by_gamma.power, by_gamma.low, by_gamma.high, float("nan"), satisfied, words,
                     runs),
            "The rate is the number of saddles, eps^-1.5, times the gradients that one takes. "
            f"Logarithms of 1/gamma may add {ROOM:g} to the power over this range.", TEXT,
        ))  # fmt: skip
    return judged


ROOM = 0.1  # what logarithms add to a power of 1/gamma over one decade


def _picture(rows: list[Row]) -> Any:
    """Draw what each way takes at the largest n, and the powers of 1/gamma beside the rates."""
    own = [row for row in rows if row.method in METHODS]
    most = {row.method: row.largest for row in sorted(own, key=lambda row: row.largest)}
    names = sorted(most, key=lambda name: -most[name])
    styles = {
        PRINTED: (draw.COLOURS["theirs"], "o", style.GROUND),
        EXITS: (draw.COLOURS["ours"], "o", None),
        EXACT: (draw.PALETTE[2], "D", None),
    }
    picture, axes = draw.sheet(2, 0.36 * len(names) + 1.3, 5.4)
    for way, (colour, marker, face) in styles.items():
        mine = [row for row in own if row.way == way]
        heights = [names.index(row.method) for row in mine]
        own_style = {"color": colour, "markerfacecolor": face or colour, "linestyle": "none"}
        size = 7 if marker == "o" else 5
        axes[0].plot(
            [row.largest for row in mine], heights, marker, label=way, markersize=size, **own_style
        )
        powers = [fits(row)[2] for row in mine]
        bars = [[p.power - p.low for p in powers], [p.high - p.power for p in powers]]
        axes[1].errorbar([p.power for p in powers], heights, xerr=bars, marker=marker, capsize=2,
                         markersize=size - 1, **own_style)  # fmt: skip
    for height, name in enumerate(names):
        pair = [row.largest for row in own if row.method == name]
        axes[0].plot([min(pair), max(pair)], [height, height], color=style.FAINT, zorder=0)
        bound = of_one_saddle(METHODS[name].rate)
        if bound is not None:
            axes[1].plot([bound], [height], "|", color=style.INK, markersize=15,
                         label="what the proven rate leaves for one saddle")  # fmt: skip
    axes[0].set(xscale="log", xlabel=f"gradients and products, n = {SIZES[-1]:,}")
    axes[1].set(xlabel=r"growth: power of $1/\gamma$", xlim=(-0.1, 1.25))
    axes[0].set_yticks(range(len(names)), names)
    axes[1].set_yticks(range(len(names)), [_short(METHODS[name].rate) for name in names])
    axes[1].tick_params(left=False, labelleft=False, labelright=True)
    draw.key(axes[0], 3, columnspacing=1.0, handletextpad=0.1)
    handles, labels = axes[1].get_legend_handles_labels()
    axes[1].legend(handles[:1], labels[:1], fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))
    return picture


def _short(rate: str) -> str:
    """Write a proven rate as a formula; one by the same argument is in brackets."""
    found = re.match(r"log(?:\^(\d+))?\(n\) / eps\^([\d.]+)", rate)
    if found is None:
        return "-"
    formula = rf"$\log^{{{found[1] or ''}}} n \,/\, \epsilon^{{{found[2]}}}$"
    return f"({formula})" if "argument" in rate else formula
