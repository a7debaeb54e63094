"""Table 1, first part: gradients that each method takes, against n and 1/eps, beside its rate."""

from pathlib import Path
from typing import Any

import numpy as np

from unsaddle import landscapes
from unsaddle.methods import METHODS
from unsaddle.minimize import minimize
from unsaddle.paper import draw
from unsaddle.paper.beyond import result
from unsaddle.paper.jobs import Told, slope, ticker

SIZES = (10, 100, 1000, 10_000)
CURVATURES = (0.1, 0.05, 0.02, 0.01)
SEEDS = 2
LIMIT = 300_000


def calls(method: str, n: int, eps: float, seed: int) -> tuple[float, float]:
    """Count the gradients from the saddle of h to a certified minimum.

    The tolerance makes gamma half of the saddle's curvature: sqrt(rho tol) = eps/2.

    Args:
        method: Its name.
        n: The dimension.
        eps: The curvature of the saddle.
        seed: The first of ``SEEDS``.

    Returns:
        The mean number of gradients, and the share of runs that ended certified.
    """
    f = landscapes.h(n, eps)
    runs = [
        minimize(
            f.value, np.zeros(n), jac=f.gradient, method=method, tol=eps**1.5 / 18,
            smoothness=f.smoothness, hessian_lipschitz=f.hessian_lipschitz,
            decrease_available=eps**2, seed=each, max_gradients=LIMIT,
        )
        for each in range(seed, seed + SEEDS)
    ]  # fmt: skip
    return float(np.mean([run.njev for run in runs])), float(np.mean([run.success for run in runs]))


def table1(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Measure every method.

    Args:
        folder: Where to write.
        seed: Of the runs.
        told: Called with the share that is done.

    Returns:
        The result.
    """
    names = list(METHODS)
    tick = ticker(told, 2 * len(names))
    by_size, by_eps = {}, {}
    for name in names:
        by_size[name] = [calls(name, n, 0.1, seed) for n in SIZES]
        tick()
        by_eps[name] = [calls(name, 10, eps, seed) for eps in CURVATURES]
        tick()
    tolerances = [eps**1.5 / 18 for eps in CURVATURES]
    rows = []
    for name in names:
        sizes, steps = ([count for count, _ in each[name]] for each in (by_size, by_eps))
        certified = np.mean([share for _, share in by_size[name] + by_eps[name]])
        rows.append((
            name, METHODS[name].rate, *[round(c) for c in sizes], slope(np.log(np.log(SIZES)),
            np.log(sizes)), *[round(c) for c in steps], -slope(np.log(tolerances), np.log(steps)),
            f"{certified:.0%}",
        ))  # fmt: skip
    picture, axes = draw.sheet(2, 3.6, 5.0)
    draw.curves(axes[0], SIZES, {name: [c for c, _ in by_size[name]] for name in names})
    draw.curves(axes[1], [1 / t for t in tolerances],
                {name: [c for c, _ in by_eps[name]] for name in names})  # fmt: skip
    axes[0].set(xscale="log", yscale="log", xlabel="n", ylabel="gradients")
    axes[1].set(xscale="log", yscale="log", xlabel="1/tolerance")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    draw.save(picture, folder / "table1")
    return result(
        "table1",
        "Table 1, first part: measured gradients",
        "From the exact saddle of h to a certified minimum, with the papers' own parameters (auto "
        "has none), all gradients counted, also those of the certificate; means of "
        f"{SEEDS} starts. The tolerance is such that gamma is half of the saddle's curvature. Left "
        "of the exponents: counts for n = 10 to 10,000 (saddle curvature 0.1), whose logarithm is "
        "fitted against log log n; and for saddle curvatures 0.1 to 0.01 (n = 10), fitted against "
        "log(1/tolerance). The proven rates bound the worst of all functions with many saddles; "
        "one saddle costs less.",
        ("method", "proven rate", *[f"n = {n}" for n in SIZES], "power of log n",
         *[f"curvature {e:g}" for e in CURVATURES], "power of 1/eps", "certified"),
        rows, folder, "Gradients to a certified minimum, against n and against 1/tolerance",
    )  # fmt: skip
