"""From the runs to the page: what each tier has shown, as tables and pictures."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import geometric_mean, median

from . import large
from .contest import LIMIT, OURS, PEERS, SHORT, TOL, Row
from .cutest import SLOW
from .draw import curves, profile
from .problems import NEAR

PAGE = """# Benchmark

Made by `make bench`. Every contestant asks the same oracle, which counts values and gradients, each
on its own. `auto` and `agd-auto` are given a function and its gradient and nothing else; tol is
{tol:g} in the Euclidean norm, failure_probability 1e-3, the limit {limit} gradients for everybody.
A peer is stopped by the oracle at the first gradient within tol, which is as early as anyone could
stop it; gradients whose differences stand in for its Hessian times a vector are counted. *torch* is
pytorch-minimize 0.1.0, everything else that is not ours is SciPy's. A point is *second-order* if
its gradient is within tol and, by the exact Hessian there, lambda_min is not below minus the gamma
that `auto` certified for that problem and seed, or minus 1e-6 of the largest curvature if none.
"""
FEW = 4  # where the optimum is less, one gradient more is beyond 1.25


def load(file: Path) -> list[Row]:
    """Read the runs of a tier."""
    return [Row(*json.loads(line)) for line in file.read_text().splitlines()]


def write(results: Path, output: Path) -> None:
    """Write the page of all tiers there are."""
    pictures = output.parent / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    page, tiers = [PAGE.format(tol=TOL, limit=LIMIT)], {}
    for tier, tell in {"1": harmless, "2": escaping, "3": scaling}.items():
        file = results / f"tier{tier}.jsonl"
        if file.exists():
            tiers[tier] = load(file)
            page.append(tell(tiers[tier], pictures))
    if (larger := results / "tier1-large.jsonl").exists():
        page.append(large.tell(larger))
    output.write_text("\n".join([*page, certificates(tiers)]))


def harmless(rows: list[Row], pictures: Path) -> str:
    """Tell of tier 1."""
    runs = {m: {r.problem: r for r in rows if r.method == m} for m in methods(rows)}
    ours, theirs = runs.pop("auto"), runs["L-BFGS-B"]
    names = list(ours)
    certified = [name for name in names if ours[name].outcome == "CERTIFIED"]
    false = [name for name in certified if not true(ours[name], ours[name])]
    vague = [n for n in certified if (ours[n].gamma or 0) > (ours[n].largest or math.inf)]
    early = {m: {n: each[n].before or math.inf for n in names} for m, each in runs.items()}
    mine = {n: ours[n].before or math.inf for n in names}
    late = {n: ours[n].gradients if n in certified else math.inf for n in names}
    values = {n: ours[n].values if n in certified else math.inf for n in names}
    second = sum(true(r, r) for r in ours.values())
    body: list[list[object]] = [
        ["auto", sum(v < math.inf for v in mine.values()), second, *["-"] * 6]
    ]
    for m, each in runs.items():
        left = [n for n in certified if each[n].before and not true(each[n], ours[n])]
        got = {n: each[n].values if each[n].before else math.inf for n in names}
        body.append(
            [m, sum(v < math.inf for v in early[m].values()),
             sum(true(r, ours[n]) for n, r in each.items()), ", ".join(left) or "none",
             mean(mine, early[m]), mean(mine, early[m], left), mean(late, early[m]),
             mean(late, early[m], left), mean(values, got)]
        )  # fmt: skip
    head = ["method", "within tol", "second-order", "stops at a saddle that `auto` leaves",
            "to tol", "saddles apart", "to the certificate", "saddles apart", "values"]  # fmt: skip
    costs = {"auto, to the gradient": mine, "auto, to the certificate": late} | early
    lists = {m: [*each.values()] for m, each in costs.items()}
    solved = {name: sum(map(math.isfinite, each)) for name, each in lists.items()}
    title = (
        f"auto ends within tol on {solved['auto, to the gradient']} of {len(mine)} problems of "
        f"CUTEst, L-BFGS-B on {solved['L-BFGS-B']}"
    )
    profile(lists, pictures / "benchmark-1.png", title)
    others = [[n, ours[n].n, ours[n].outcome, f"{ours[n].norm:.1e}", ours[n].gradients,
               theirs[n].outcome, f"{theirs[n].norm:.1e}"]
              for n in names if n not in certified]  # fmt: skip
    both = [n for n in names if mine[n] < math.inf and theirs[n].before]
    slow = sorted(both, key=lambda n: early["L-BFGS-B"][n] / mine[n])[:8]
    worst = [[n, ours[n].n, mine[n], late[n], early["L-BFGS-B"][n], f"{ours[n].fun:.6g}",
              f"{theirs[n].fun:.6g}"] for n in slow]  # fmt: skip
    return f"""## Tier 1: do no harm

The unconstrained CUTEst problems of sif2jax 0.0.8 with at most 200 variables, {len(names)} of them,
from their standard starts. `auto` certifies {len(certified)}; the exact Hessian contradicts
{len(false) or "none"} of these certificates{": " * bool(false) + ", ".join(false)}.

L-BFGS-B is SciPy's as it comes, with ten pairs, and once with twenty, which is what `auto` keeps.
The columns from *to tol* on are the gradients of `auto` as a multiple of the method's own to a
gradient within tol: geometric means over the problems (their number in brackets) where both get
there, with and without those where the method stops at a saddle; the last column is the same of
values. The targets, against L-BFGS-B as it comes, were 1.0 to tol and 1.25 to the certificate. The
number of pairs and the treatment of noise in the line search were chosen on these problems. Left
out, as they take minutes to compile: {", ".join(SLOW[:4])},
{", ".join(SLOW[4:])}.

{table(head, body)}

Gamma is above the largest curvature at the point, which is to say little, in
{len(vague) or "none"} of them{": " * bool(vague) + ", ".join(vague)}. A run that ended `COARSER`
claims a gamma that errors have raised above a tenth of that curvature, and is not counted.

![Performance profile of tier 1](pictures/benchmark-1.png)

What was not certified (of L-BFGS-B: REACHED is a gradient within tol, STOPPED is one above it):

{table(["problem", "n", "auto", "norm of g", "gradients", "L-BFGS-B", "its norm"], others)}

Where `auto` is slowest against L-BFGS-B on the way to tol:

{table(["problem", "n", "to tol", "to the certificate", "L-BFGS-B", "f", "f of L-BFGS-B"], worst)}
"""


def mean(ours: dict[str, float], theirs: dict[str, float], out: Sequence[str] = ()) -> str:
    """Give the geometric mean of the ratios where both are finite."""
    ratios = [ours[n] / theirs[n] for n in ours if ours[n] + theirs[n] < math.inf and n not in out]
    return f"{geometric_mean(ratios):.3f} ({len(ratios)})"


def escaping(rows: list[Row], pictures: Path) -> str:
    """Tell of tier 2."""
    ours = {(r.problem, r.seed): r for r in rows if r.method == "auto"}
    all_ = methods(rows)
    runs = {m: {(r.problem, r.seed): r for r in rows if r.method == m} for m in all_}
    right = {m: {k: r for k, r in runs[m].items() if true(r, ours[k])} for m in all_}
    costs = {m: [right[m][k].gradients if k in right[m] else math.inf for k in ours] for m in all_}
    ends = {name: sum(map(math.isfinite, each)) for name, each in costs.items()}
    title = (
        f"auto leaves {ends['auto']} of {len(ours)} saddles for a second-order point, L-BFGS-B "
        f"{ends['L-BFGS-B']}"
    )
    profile(costs, pictures / "benchmark-2.png", title)
    body = []
    for name in dict.fromkeys(r.problem for r in rows):
        mine = [r for r in rows if r.problem == name and r.method in OURS]
        certified = sum(r.outcome == "CERTIFIED" for r in mine)
        false = sum(r.outcome == "CERTIFIED" and not true(r, r) for r in mine)
        shares = [cell(name, runs[m], right[m]) for m in all_]
        body.append([name, mine[0].n, f"{certified}/{len(mine)}", false, *shares])
    both = [r for r in rows if r.method in OURS]
    certified = sum(r.outcome == "CERTIFIED" for r in both)
    total = ["all", "", f"{certified}/{len(both)}", sum(int(line[3]) for line in body)]
    total += [f"{len(right[m])}/{len(ours)}" for m in all_]
    return f"""## Tier 2: escape

Ten seeds each. Phase retrieval (even seeds) and the atoms start where a symmetry keeps an exact
descent on a subspace whose lowest point is a saddle of the whole; everything else starts at a
strict saddle (even seeds) or {NEAR:g} off one (odd seeds). *Certified* counts the runs of `auto`
and `agd-auto`, *false* those of their certificates that the exact Hessian contradicts. Under each
method: how often its point is second-order, and the median of its gradients where it is, with that
of its values in brackets; the gradients of the first two include the certificate.

{table(["problem", "n", "certified", "false", *all_], [*body, total])}

![Performance profile of tier 2](pictures/benchmark-2.png)
"""


def cell(name: str, runs: dict[tuple[str, int], Row], right: dict[tuple[str, int], Row]) -> str:
    """Give the share of second-order points, and the medians of their gradients and values."""
    all_, good = ([r for k, r in each.items() if k[0] == name] for each in (runs, right))
    share = f"{len(good)}/{len(all_)}"
    if not good:
        return share
    return f"{share} in {median(r.gradients for r in good):g} ({median(r.values for r in good):g})"


def scaling(rows: list[Row], pictures: Path) -> str:
    """Tell of tier 3."""
    rows = sorted(rows, key=lambda r: (r.problem, r.n))
    ours = {(r.problem, r.n, r.seed): r for r in rows if r.method == "auto"}
    body = [
        [r.problem, power(r.n), r.outcome, "no" if true(r, r) else "yes", r.values, r.gradients,
         r.certificate, f"{100 * r.certificate / r.gradients:.0f} %", f"{r.gamma or 0:.2g}",
         f"{r.seconds:.1f}"]
        for r in ours.values() if not r.seed
    ]  # fmt: skip
    head = ["family", "n", "outcome", "false", "values", "gradients", "of these the certificate",
            "share", "gamma", "seconds"]  # fmt: skip
    all_ = methods(rows)
    stuck = [r for r in rows if r.method not in OURS and not r.seed]
    passed = sum(true(r, ours[r.problem, r.n, r.seed]) for r in stuck)
    near = {(r.problem, r.n, r.method): r for r in rows if r.seed}
    lines: dict[str, dict[str, list[tuple[int, float, bool]]]] = {}
    for r in near.values():
        right, mine = true(r, ours[r.problem, r.n, r.seed]), r.method == "auto"
        counts = {"auto, to the gradient": r.before or math.nan} if mine else {}
        counts[r.method + ", to the certificate" * mine] = r.gradients
        for name, count in counts.items():
            lines.setdefault(r.problem, {}).setdefault(name, []).append((r.n, count, right))
    title = f"Gradients from {NEAR:g} off a saddle, by the number of variables"
    curves(lines, pictures / "benchmark-3.png", title)
    sides = [
        [family, power(n), r.before, *(outcome(near.get((family, n, m)), r) for m in all_)]
        for (family, n, seed), r in ours.items() if seed
    ]  # fmt: skip
    free = sum(true(r, ours[r.problem, r.n, 1]) for r in near.values())
    return f"""## Tier 3: scale

A ring of double wells (x_i^2 - 1)^2/4, neighbours coupled by c (x_i - x_j)^2/2 with c = 0.1 or 1;
and sum d_i x_i^2/2 + x_i^4/16 with the d_i evenly from 0 to 1 but for one of -0.1, or evenly from
-0.01 to 1, a hundredth of them below zero. The condition of the strongly coupled wells and the
number of ways out of the last family grow with n: these are shown up to 10^4 only. Their Hessians
are banded, so the exact one judges at every n. From 10^6 on Lanczos keeps a part of its basis only
([how](design.md#the-certificate)). Seconds are those of one thread of a busy machine. `auto` from
the saddle at the origin, where the gradient is zero:

{table(head, body)}

There every peer stops at its first gradient: {passed} of {len(stuck)} runs end at a second-order
point. From {NEAR:g} off the saddle, with {SHORT} gradients at most for a peer, {free} of
{len(near)} runs do, those of `auto` among them. Below are gradients, with values in brackets;
*to tol* are those of `auto` up to its first gradient within tol, the next column has those of its
escapes and its certificate too. BFGS keeps a matrix, and takes part up to 10^3.

{table(["family", "n", "to tol", *all_], sides)}

![Gradients by n in tier 3](pictures/benchmark-3.png)
"""


def outcome(row: Row | None, judge: Row) -> str:
    """Say where a run of tier 3 has come."""
    if row is None:
        return "-"
    if row.norm > TOL:
        return f"none in {row.gradients} ({row.values})"
    return f"{'' if true(row, judge) else 'saddle, '}{row.gradients} ({row.values})"


def certificates(tiers: dict[str, list[Row]]) -> str:
    """Tell what the certificates cost beside the optimum."""
    body = []
    for tier, rows in tiers.items():
        for method in [m for m in methods(rows) if m in OURS]:
            runs = [r for r in rows if r.method == method and r.fewest]
            for kind, some in (
                ("all", runs),
                (f"{FEW} or more", [r for r in runs if (r.fewest or 0) >= FEW]),
            ):
                body.append([tier, method, kind, *price(some)])
    head = ["tier", "method", "optimum", "certificates", "gradients", "optimum in all",
            "ratio of the sums", "geometric mean", "median", "worst", "within 1.25",
            "one more at most"]  # fmt: skip
    return f"""## What a certificate costs

The optimum is what Lanczos needs with exact Hessian-vector products and full reorthogonalisation to
make the same claim, the same gamma with the same failure probability, at the same point from the
same random start: no search that sees products along a Krylov space can do with fewer. Each counts
as one gradient, and the gradient at the point itself, which the descent has paid for, as none. The
gradients of a certificate are all of its search, those that find how far to probe among them; in
tier 3 up to 10^5. The target was 1.25. One gradient more than the optimum, the half-radius one, is
beyond it where the optimum is less than {FEW}, as it is for most of tier 1. More than one are
spent where the Hessian is so ill-conditioned that probes have to be shortened, at two gradients
each time, or a search has to begin again. `agd-auto` keeps no basis: its search is adaptive ANC.

{table(head, body)}
"""


def price(runs: list[Row]) -> list[object]:
    """Sum up what these certificates took and what would have sufficed."""
    pairs = [(r.certificate, r.fewest or 1) for r in runs]
    ratios = [taken / best for taken, best in pairs]
    taken, best = map(sum, zip(*pairs, strict=True))
    within = sum(ratio <= 1.25 for ratio in ratios)
    near = sum(a <= b + 1 for a, b in pairs)
    return [len(pairs), taken, best, *(f"{v:.3f}" for v in (taken / best, geometric_mean(ratios))),
            f"{median(ratios):.3g}", f"{max(ratios):.3g}", within, near]  # fmt: skip


def methods(rows: list[Row]) -> list[str]:
    """Name the contestants, in order."""
    return [m for m in (*OURS, *PEERS) if any(r.method == m for r in rows)]


def power(n: int) -> str:
    """Write a power of ten."""
    return f"10^{round(math.log10(n))}"


def true(row: Row, judge: Row) -> bool:
    """Say whether a point is second-order by the exact Hessian, at the judge's gamma."""
    share = 1e-6 * (row.largest or 0.0)  # where no gamma was certified
    return row.norm <= TOL and row.lowest is not None and row.lowest >= -(judge.gamma or share)


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Give a table in Markdown."""
    lines = [[*map(str, head)], *([*map(str, row)] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
