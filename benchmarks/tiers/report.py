"""From the runs to the page: tables, and performance profiles after Dolan & Moré (2002)."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np

from .contest import LIMIT, MEMORY, OURS, TOL, Row
from .cutest import SLOW
from .problems import NEAR

COLOURS = ("#0b3c8c", "#2a9df4", "#d1495b", "#2e8b57", "#8a5a00", "#7a4fa3", "#c27ba0", "#555555",
           "#e07b00", "#00797a")  # fmt: skip
DASHES = ("-", "-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)),
          (0, (3, 1)), (0, (6, 2, 1, 2)))  # fmt: skip
PAGE = """# Benchmark

Made by `python -m benchmarks.tiers 1 2 3`. Every contestant asks the same oracle, which counts
values and gradients, each on its own. `auto` is given a function and its gradient and nothing
else; tol is {tol:g} in the Euclidean norm, failure_probability 1e-3, the limit {limit} gradients. A
peer is stopped by the oracle at the first gradient within tol, which is as early as anyone could
stop it; gradients whose differences stand in for its Hessian times a vector are counted. *True*
means: by the eigenvalues of the exact Hessian at the point returned, with its gradient within tol,
lambda_min is not below minus the gamma that `auto` certified for that problem and seed.
"""


def load(file: Path) -> list[Row]:
    """Read the runs of a tier."""
    return [Row(*json.loads(line)) for line in file.read_text().splitlines()]


def write(results: Path, output: Path) -> None:
    """Write the page of all tiers there are."""
    pictures = output.parent / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    page = [PAGE.format(tol=TOL, limit=LIMIT)]
    for tier, tell in {"1": harmless, "2": escaping, "3": scaling}.items():
        file = results / f"tier{tier}.jsonl"
        if file.exists():
            page.append(tell(load(file), pictures))
    output.write_text("\n".join(page))


def harmless(rows: list[Row], pictures: Path) -> str:
    """Tell of tier 1."""
    ours = {r.problem: r for r in rows if r.method == "auto"}
    peers = {m: {r.problem: r for r in rows if r.method == m} for m in ("L-BFGS-B", MEMORY)}
    theirs = peers["L-BFGS-B"]
    names = [name for name in ours if all(name in each for each in peers.values())]
    certified = [name for name in names if ours[name].outcome == "CERTIFIED"]
    false = [name for name in certified if not true(ours[name], ours[name])]
    vague = [n for n in certified if (ours[n].gamma or 0) > (ours[n].largest or math.inf)]
    early = {m: {n: each[n].before or math.inf for n in names} for m, each in peers.items()}
    early["auto"] = {n: ours[n].before or math.inf for n in names}
    late = {n: ours[n].gradients if n in certified else math.inf for n in names}
    body: list[list[object]] = [["problems", *[len(names)] * 3]]
    body.append(["gradient within tol", *(reached(early[m]) for m in ("auto", *peers))])
    body.append(["certified", len(certified), "-", "-"])
    body.append(["of these refuted by the exact Hessian", len(false), "-", "-"])
    left = {m: [n for n in certified if each[n].before and not true(each[n], ours[n])]
            for m, each in peers.items()}  # fmt: skip
    body.append(
        ["stopped at a saddle that `auto` left", "-", *(", ".join(v) for v in left.values())]
    )
    for title, mine in (("to a gradient within tol", early["auto"]), ("to the certificate", late)):
        for kind, out in (("", []), (", saddles apart", left["L-BFGS-B"])):
            means = [mean({n: v for n, v in mine.items() if n not in out}, early[m]) for m in peers]
            body.append([f"gradients of `auto` {title}, as a multiple{kind}", "-", *means])
    costs = {"auto, to the gradient": early["auto"], "auto, to the certificate": late}
    costs |= {m: early[m] for m in peers}
    title = "Tier 1: CUTEst, n <= 200, standard starts"
    lists = {m: [*each.values()] for m, each in costs.items()}
    profile(lists, pictures / "benchmark-1.png", title)
    others = [[n, ours[n].n, ours[n].outcome, f"{ours[n].norm:.1e}", ours[n].gradients,
               theirs[n].outcome, f"{theirs[n].norm:.1e}"]
              for n in names if n not in certified]  # fmt: skip
    both = [n for n in names if early["auto"][n] < math.inf and theirs[n].before]
    slow = sorted(both, key=lambda n: early["L-BFGS-B"][n] / early["auto"][n])[:8]
    worst = [[n, ours[n].n, early["auto"][n], late[n], early["L-BFGS-B"][n], f"{ours[n].fun:.6g}",
              f"{theirs[n].fun:.6g}"] for n in slow]  # fmt: skip
    return f"""## Tier 1: do no harm

The unconstrained CUTEst problems of sif2jax 0.0.8 with at most 200 variables, from their standard
starts, against SciPy's L-BFGS-B as it comes, with ten pairs, and with twenty, which is what `auto`
keeps. Means are geometric, over the problems (their number in brackets) where both get there; the
targets against L-BFGS-B as it comes were 1.0 to a gradient within tol and 1.25 to the certificate.
The number of pairs and the treatment of noise in the line search were chosen on these problems.
Left out, as they take minutes to compile: {", ".join(SLOW[:4])},
{", ".join(SLOW[4:])}.

{table(["", "auto", *peers], body)}

In {len(vague)} of the certificates gamma is above the largest curvature at the point, which is to
say little: {", ".join(vague) or "none"}.

![Performance profile of tier 1](pictures/benchmark-1.png)

What was not certified:

{table(["problem", "n", "auto", "norm of g", "gradients", "L-BFGS-B", "its norm"], others)}

Where `auto` is slowest against L-BFGS-B on the way to tol:

{table(["problem", "n", "to tol", "to the certificate", "L-BFGS-B", "f", "f of L-BFGS-B"], worst)}
"""


def reached(costs: dict[str, float]) -> int:
    """Count the finite ones."""
    return sum(cost < math.inf for cost in costs.values())


def mean(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """Give the geometric mean of the ratios where both are finite."""
    ratios = [ours[n] / theirs[n] for n in ours if ours[n] + theirs[n] < math.inf]
    return f"{geometric_mean(ratios):.3f} ({len(ratios)})"


def escaping(rows: list[Row], pictures: Path) -> str:
    """Tell of tier 2."""
    ours = {(r.problem, r.seed): r for r in rows if r.method == "auto"}
    methods = [*dict.fromkeys(r.method for r in rows)]
    runs = {m: {(r.problem, r.seed): r for r in rows if r.method == m} for m in methods}
    right = {m: {k: r for k, r in runs[m].items() if true(r, ours[k])} for m in methods}
    names = list(dict.fromkeys(r.problem for r in rows))
    costs = {
        m: [right[m][k].gradients if k in right[m] else math.inf for k in ours] for m in methods
    }
    title = "Tier 2: second-order points, from strict saddles"
    profile(costs, pictures / "benchmark-2.png", title)
    body = []
    for name in names:
        mine = [r for r in rows if r.problem == name and r.method in OURS]
        certified = sum(r.outcome == "CERTIFIED" for r in mine)
        false = sum(r.outcome == "CERTIFIED" and not true(r, r) for r in mine)
        shares = [cell(name, runs[m], right[m]) for m in methods]
        body.append([name, mine[0].n, f"{certified}/{len(mine)}", false, *shares])
    both = [r for r in rows if r.method in OURS]
    certified = sum(r.outcome == "CERTIFIED" for r in both)
    total = ["all", "", f"{certified}/{len(both)}", sum(int(line[3]) for line in body)]
    total += [f"{len(right[m])}/{len(ours)}" for m in methods]
    return f"""## Tier 2: escape

Ten seeds each. Phase retrieval (even seeds) and the atoms start where a symmetry keeps an exact
descent on a subspace whose lowest point is a saddle of the whole; everything else starts at a
strict saddle (even seeds) or {NEAR:g} off one (odd seeds). *Certified* counts the runs of `auto`
and `agd-auto`, *false* those of their certificates that the exact Hessian refutes. Under each
method: how often its point is a true second-order point, and the median of its gradients where it
is; those of the first two include the certificate. *torch* is pytorch-minimize 0.1.0.

{table(["problem", "n", "certified", "false", *methods], [*body, total])}

![Performance profile of tier 2](pictures/benchmark-2.png)
"""


def cell(name: str, runs: dict[tuple[str, int], Row], right: dict[tuple[str, int], Row]) -> str:
    """Give the share of second-order points, and the median of their gradients."""
    all_, good = ([r.gradients for k, r in each.items() if k[0] == name] for each in (runs, right))
    return f"{len(good)}/{len(all_)}" + (f" in {median(good):g}" if good else "")


def scaling(rows: list[Row], pictures: Path) -> str:
    """Tell of tier 3."""
    body = [
        [r.problem, f"10^{round(math.log10(r.n))}", r.outcome, r.values, r.gradients,
         r.certificate, f"{100 * r.certificate / r.gradients:.0f} %", f"{r.gamma or 0:.2g}",
         "growth" if "Growth" in r.note else "Lanczos", f"{r.seconds:.1f}"]
        for r in sorted(rows, key=lambda r: (r.problem, r.n))
    ]  # fmt: skip
    head = ["family", "n", "outcome", "values", "gradients", "of these the certificate", "share",
            "gamma", "by", "seconds"]  # fmt: skip
    return f"""## Tier 3: scale

From the saddle at the origin: a ring of double wells (x_i^2 - 1)^2/4, neighbours coupled by
c (x_i - x_j)^2/2 with c = 0.1 or 1; and sum d_i x_i^2/2 + x_i^4/16 with the d_i evenly from 0 to 1
but for one of -0.1, or evenly from -0.01 to 1, a hundredth of them below zero. The condition of the
strongly coupled wells and the number of ways out of the last family grow with n: these are shown
up to 10^4 only. At 10^6 Lanczos has room for 134 vectors; *growth* says that the accelerated search
took over from there. Seconds are those of one thread of a busy machine.

{table(head, body)}
"""


def true(row: Row, judge: Row) -> bool:
    """Say whether a point is second-order by the exact Hessian, at the judge's gamma."""
    share = 1e-6 * (row.largest or 0.0)  # where no gamma was certified
    return row.norm <= TOL and row.lowest is not None and row.lowest >= -(judge.gamma or share)


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Give a table in Markdown."""
    lines = [[*map(str, head)], *([*map(str, row)] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def profile(costs: dict[str, list[float]], file: Path, title: str) -> None:
    """Draw which share of the runs each solves within a factor of the fewest gradients."""
    import matplotlib.pyplot as plt

    all_ = np.array([*costs.values()], float)
    best = all_.min(0)
    ratios = np.where(np.isfinite(all_), all_ / np.where(np.isfinite(best), best, 1.0), np.inf)
    finite = ratios[np.isfinite(ratios)]
    most = max(2.0, float(np.quantile(finite, 0.99)) * 1.2)
    figure, axes = plt.subplots(figsize=(8.5, 4), layout="constrained")
    for name, line, colour, dash in zip(costs, ratios, COLOURS, DASHES, strict=False):
        steps = np.sort(line[np.isfinite(line)])
        heights = np.arange(1, steps.size + 1) / line.size
        x, y = (
            np.concatenate([[1], steps, [most]]),
            np.concatenate([[0], heights, [steps.size / line.size]]),
        )
        axes.step(x, y, where="post", label=name, color=colour, linestyle=dash, linewidth=2)
    axes.set(xscale="log", xlim=(1, most), ylim=(0, 1.02), title=title)
    axes.set(xlabel="gradients, as a multiple of the fewest", ylabel="share of the runs")
    ticks = [tick for tick in (1, 1.25, 1.5, 2, 3, 5, 10, 20, 50) if tick <= most]
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(file, dpi=110)
    plt.close(figure)
