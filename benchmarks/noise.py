"""Certificates from noisy gradients: ten families with known Hessians, noise of many sizes.

A noise of norm about s is added to the gradient: a function of x (``hash``: the same point, the
same noise) or drawn anew at every call (``random``). Sizes are relative: s = relative * l * length.
For each cell and seed ``certify`` is called

1. at a minimum with lambda_min = 0.01 gamma, asked for the gamma that an oracle could resolve which
   knows s and the bending of the function: what is claimed, and is negative curvature reported?
2. at a saddle with lambda_min = -gamma (1 + 1e-6), where gamma is what was claimed in 1, with a
   seed of its own: to certify gamma is false, to certify a larger one is not, and is no risk;
3. at such a saddle with four times the oracle's gamma;

and ``minimize`` starts at a saddle with lambda_min = -max(16 times the oracle's, 0.01 l), asked for
a quarter of that. Where the oracle itself can resolve nothing, 1, 2 or ``minimize`` are left out.

    python -m benchmarks.noise --seeds 10 --output noise.json --plot noise.png
    python -m benchmarks.noise --families morse quartic --noise 1e-6 1e-4 --kinds random
"""

import argparse
import functools
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.noisy_families import FACTOR, FAMILIES, Oracle, noisy, oracle, oracle_gamma
from unsaddle import certify, minimize, style

NUDGE = 1e-6  # share of gamma by which lambda_min is below -gamma where a certificate is false
SMALL = 0.01  # share of gamma that lambda_min is at a minimum
SIZES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
BUDGET = 5_000  # gradients of a run
FRESH = 1_000_003  # added to a seed: delta is promised for Hessians that do not depend on the seed
PICTURED = {  # four of the families, and what they are like
    "morse": "stiff bonds and a soft well (morse)",
    "rosenbrock": "a bent valley (rosenbrock)",
    "wells": "bends to both sides alike (wells)",
    "dense": "does not bend at all (dense)",
}
TITLE = (
    "What is certified (dots) follows the better difference of noisy gradients\n"
    "(lines, at the best radius), within a factor of four where f does not bend"
)


def told(s: float) -> dict[str, Any]:
    """Say what the library is told of the noise: nothing, it has to find out."""
    return {}


class Cell(NamedTuple):
    """What the trials of one line of the table have in common."""

    family: str
    n: int
    kind: str
    relative: float

    @property
    def s(self) -> float:
        """The norm of the noise."""
        land = FAMILIES[self.family](self.n, 0.0)
        return self.relative * land.smoothness * land.length


def search(cell: Cell, lowest: float, gamma: float, seed: int, role: str) -> dict[str, Any]:
    """Call certify at the point with this lambda_min; say what was claimed, and if it is false."""
    land = FAMILIES[cell.family](cell.n, lowest)
    grad = noisy(land.grad, cell.s, cell.kind, seed)
    shown = certify(grad, land.x, gamma, seed=seed, max_gradients=BUDGET, **told(cell.s))
    along = math.nan
    if shown.holds is False:
        along = float(shown.direction @ land.hessian(land.x) @ shown.direction)
    return {
        "role": role,
        "seed": seed,
        "lowest": lowest,
        "asked": gamma,
        "holds": shown.holds,
        "claimed": shown.curvature_tol,
        "measured": shown.curvature,
        "along": along,  # the true curvature along the direction found
        "gradients": shown.gradients,
        "noise found": shown.gradient_noise,
        "radius": shown.probe_radius,
        "central": shown.central,
        "at risk": shown.curvature_tol < -lowest,  # to certify would be false
        "false certificate": shown.holds is True and lowest < -shown.curvature_tol,
        "false negative curvature": shown.holds is False and not along < 0,
    }


def descend(cell: Cell, lowest: float, gamma: float, seed: int) -> dict[str, Any]:
    """Call minimize at the saddle; say how it ended, and if success is claimed on a saddle."""
    land = FAMILIES[cell.family](cell.n, lowest)
    grad = noisy(land.grad, cell.s, cell.kind, seed)
    words = {"curvature_tol": gamma, "seed": seed, "max_gradients": BUDGET, **told(cell.s)}
    tol = max(1e-6 * land.smoothness * land.length, 4 * cell.s)
    result = minimize(land.fun, land.x, jac=grad, tol=tol, **words)
    true = float(np.linalg.eigvalsh(land.hessian(result.x))[0])
    return {
        "role": "minimize",
        "seed": seed,
        "lowest": lowest,
        "asked": gamma,
        "outcome": result.outcome.name,
        "success": bool(result.success),
        "claimed": result.certificate.curvature_tol if result.certificate is not None else math.nan,
        "end": true,
        "left": bool(land.fun(result.x) < land.fun(land.x)),
        "gradients": int(result.njev),
        "success on a saddle": bool(result.success) and true < -gamma,
    }


def trial(cell: Cell, seed: int) -> list[dict[str, Any]]:
    """Do all runs of one cell with one seed."""
    land = FAMILIES[cell.family](cell.n, 0.0)
    best = oracle_gamma(cell.family, cell.n, cell.s)
    runs = []
    if best < land.smoothness:
        runs.append(search(cell, SMALL * best, best, seed, "minimum"))
        if runs[0]["holds"]:
            gamma = runs[0]["claimed"]
            fresh = seed + FRESH
            runs.append(search(cell, -gamma * (1 + NUDGE), gamma, fresh, "at the claim"))
    gamma = min(FACTOR * best, land.smoothness / FACTOR)
    runs.append(search(cell, -gamma * (1 + NUDGE), gamma, seed, "four times"))
    lowest = -max(16 * best, 0.01 * land.smoothness)
    if -lowest < land.smoothness:
        runs.append(descend(cell, lowest, -lowest / 4, seed))
    return runs


class Line(NamedTuple):
    """What came of a cell."""

    cell: Cell
    trials: int
    false_certificates: int
    at_risk: int  # runs whose gamma was not raised above -lambda_min
    at_saddles: int
    false_curvature: int
    at_minima: int
    undecided: int  # of those at minima
    gamma: float  # median claimed at minima
    central: float  # share of these that rest on central differences
    oracle: Oracle
    along: float  # the oracle's gamma if s is the noise along one direction, s/sqrt(n)
    gradients: float
    on_saddle: int
    left: int
    successes: int
    minimized: int


def measured(cell: Cell, seeds: Sequence[int]) -> tuple[Line, list[dict[str, Any]]]:
    """Do all trials of a cell."""
    runs = [run for seed in seeds for run in trial(cell, seed)]
    minima = [run for run in runs if run["role"] == "minimum"]
    saddles = [run for run in runs if run["role"] in {"at the claim", "four times"}]
    descents = [run for run in runs if run["role"] == "minimize"]
    certified = [run["claimed"] for run in minima if run["holds"]]
    central = [run["central"] for run in minima if run["holds"]]
    line = Line(
        cell=cell,
        trials=len(runs),
        false_certificates=sum(run["false certificate"] for run in saddles + minima),
        at_risk=sum(run["at risk"] for run in saddles),
        at_saddles=len(saddles),
        false_curvature=sum(run["false negative curvature"] for run in saddles + minima),
        at_minima=len(minima),
        undecided=sum(run["holds"] is None for run in minima),
        gamma=float(np.median(certified)) if certified else math.nan,
        central=float(np.mean(central)) if central else math.nan,
        oracle=oracle(cell.family, cell.n, cell.s),
        along=oracle_gamma(cell.family, cell.n, cell.s / math.sqrt(cell.n)),
        gradients=float(np.median([run["gradients"] for run in minima])) if minima else math.nan,
        on_saddle=sum(run["success on a saddle"] for run in descents),
        left=sum(run["left"] for run in descents),
        successes=sum(run["success"] for run in descents),
        minimized=len(descents),
    )
    return line, runs


HEAD = (
    "| family | noise | relative | false certificates | false negative curvature | undecided "
    "| gamma | over the oracle's | over that along one direction | gradients "
    "| minimize: success on a saddle | left | success |"
)


def written(line: Line) -> str:
    """Write a line of the table."""
    c, best = line.cell, line.oracle.gamma
    searched = line.at_saddles + line.at_minima
    return (
        f"| {c.family} | {c.kind} | {c.relative:.0e} | {line.false_certificates}/{line.at_risk} "
        f"| {line.false_curvature}/{searched} | {line.undecided}/{line.at_minima} "
        f"| {line.gamma:.2g} | {line.gamma / best:.2g} | {line.gamma / line.along:.2g} "
        f"| {line.gradients:.0f} | {line.on_saddle}/{line.minimized} "
        f"| {line.left}/{line.minimized} | {line.successes}/{line.minimized} |"
    )


def summary(lines: Sequence[Line]) -> Iterator[str]:
    """Say what all cells come to."""
    ratios = [line.gamma / line.oracle.gamma for line in lines if line.at_minima]
    within = sum(ratio <= FACTOR for ratio in ratios)
    yield (
        f"\nfalse certificates {sum(x.false_certificates for x in lines)} of "
        f"{sum(x.at_risk for x in lines)} at risk, {sum(x.at_saddles for x in lines)} at saddles; "
        f"false negative curvature "
        f"{sum(x.false_curvature for x in lines)} of "
        f"{sum(x.at_saddles + x.at_minima for x in lines)}; gamma within {FACTOR:.0f}x of the "
        f"oracle's in {within} of {len(ratios)} cells; minimize: success on a saddle "
        f"{sum(x.on_saddle for x in lines)}, left {sum(x.left for x in lines)}, success "
        f"{sum(x.successes for x in lines)} of {sum(x.minimized for x in lines)}"
    )


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw gamma against noise for PICTURED, beside the best of forward and central differences."""
    shown = [name for name in PICTURED if any(x.cell.family == name for x in lines)]
    form = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = style.begin().subplots(2, 2, figsize=(7.2, 6), layout="constrained", **form)
    for axis, family in zip(axes.flat, shown, strict=False):
        _panel(axis, [line for line in lines if line.cell.family == family])
        axis.set_title(PICTURED[family])
    for axis in axes[-1]:
        axis.set_xlabel("noise of the gradient / largest curvature")
    for axis in axes[:, 0]:
        axis.set_ylabel("gamma / largest curvature")
    style.headline(figure, TITLE)
    style.save(figure, path)


def _panel(axis: Any, lines: Sequence[Line]) -> None:
    """Draw one family, with labels beside the lines."""
    cell = lines[0].cell
    l = FAMILIES[cell.family](cell.n, 0.0).smoothness  # noqa: E741
    noise = np.geomspace(min(SIZES), max(SIZES), 49)
    bounds = [oracle(cell.family, cell.n, s * l) for s in noise]
    for which, colour, dash in (("forward", style.THEIRS, "--"), ("central", style.OURS, "-")):
        height = np.array([getattr(bound, which) for bound in bounds]) / l
        axis.loglog(noise, height, dash, color=colour, linewidth=1.8)
        place = {"forward": (8, (-4, 5), "right"), "central": (24, (6, -9), "left")}[which]
        k, away, side = place
        axis.annotate(which, (noise[k], height[k]), away, textcoords="offset points", ha=side,
                      color=colour)  # fmt: skip
    for line in lines:
        face = style.INK if line.central > 0.5 else style.GROUND
        axis.loglog(line.cell.relative, line.gamma / l, "o", color=style.INK,
                    markerfacecolor=face, markersize=6, zorder=3)  # fmt: skip
    axis.axhline(1.0, color=style.SOFT, linewidth=1)
    axis.annotate("nothing is claimed above this", (min(SIZES), 1.0), (0, 3),
                  textcoords="offset points", color=style.SOFT, fontsize=8.5)  # fmt: skip
    chosen = {line.central > 0.5 for line in lines}
    words = "dots: central differences" if True in chosen else "dots: forward differences"
    words += ", open ones: forward" if len(chosen) == 2 else ""
    axis.annotate(words, (min(SIZES), 0.4), va="top", color=style.INK, fontsize=8.5)
    axis.set(ylim=(3e-9, 8))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Certificates from noisy gradients.")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--noise", nargs="+", type=float, default=SIZES, help="relative sizes")
    parser.add_argument(
        "--kinds", nargs="+", choices=("hash", "random"), default=("hash", "random")
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many, default 5")
    parser.add_argument("--n", type=int, default=40, help="variables, a multiple of four")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a file of JSON for all runs")
    parser.add_argument("--plot", type=Path, help="a picture of gamma against noise")
    return parser.parse_args()


def main() -> None:
    """Measure and print the table."""
    given = arguments()
    cells = [
        Cell(family, given.n, kind, relative)
        for family, kind, relative in itertools.product(given.families, given.kinds, given.noise)
    ]
    lines, kept = [], []
    print(HEAD, "|" + "---|" * (HEAD.count("|") - 1), sep="\n")
    with ProcessPoolExecutor(given.workers) as pool:
        for line, runs in pool.map(functools.partial(measured, seeds=range(given.seeds)), cells):
            print(written(line), flush=True)
            lines.append(line)
            kept += [{**line.cell._asdict(), "oracle": line.oracle.gamma, **run} for run in runs]
    print(*summary(lines), sep="\n")
    if given.output:
        given.output.write_text(json.dumps(kept, default=float))
    if given.plot:
        draw(lines, given.plot)


if __name__ == "__main__":
    main()
