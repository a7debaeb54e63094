"""Table 1: gradients that each method takes, against n and 1/eps, beside its proven rate."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unsaddle import landscapes
from unsaddle.methods.table import METHODS, STOCHASTIC
from unsaddle.numpy.minimize import minimize
from unsaddle.paper import draw
from unsaddle.paper.extras.sampled import known, printed, samples
from unsaddle.paper.jobs import Told, slope, study, ticker

SIZES = (10, 100, 1000, 10_000)
CURVATURES = (0.1, 0.05, 0.02, 0.01)  # the first is that of all sizes, the others are of SIZES[0]
SEEDS = 2
LIMIT = 300_000
UNPROVEN = "none for these parameters"


def gradients(method: str, n: int, eps: float, seed: int) -> tuple[float, bool]:
    """Count the gradients from the saddle of h to the end, and say whether that is certified."""
    f, given = landscapes.h(n, eps), known(n, eps)
    constants = {name: given[name] for name in ("smoothness", "hessian_lipschitz", "tol")}
    run = minimize(
        f.value, np.zeros(n), jac=f.gradient, method=method, **constants, seed=seed,
        decrease_available=given["decrease_available"], max_gradients=LIMIT,
    )  # fmt: skip
    return run.njev, run.success


def mean(count: Callable[..., tuple[float, bool]], *given: Any, seed: int) -> tuple[float, float]:
    """Give the mean count of ``SEEDS`` runs, and the share of those that ended certified."""
    runs = [count(*given, each) for each in range(seed, seed + SEEDS)]
    counts, certified = zip(*runs, strict=True)
    return float(np.mean(counts)), float(np.mean(certified))


def line(label: str, rate: str, counts: Sequence[float], end: str) -> tuple[Any, ...]:
    """Put a row together: counts against n and against the curvature, each with its exponent."""
    sizes, steps = apart(counts)
    tolerances = [known(SIZES[0], eps)["tol"] for eps in CURVATURES]
    powers = slope(np.log(np.log(SIZES)), np.log(sizes)), -slope(np.log(tolerances), np.log(steps))
    sized, stepped = ([c if c > 1e9 else round(c) for c in each] for each in (sizes, steps))
    first, second = (round(power, 2) + 0.0 for power in powers)
    return (label, rate, *sized, first, *stepped[1:], second, end)


def apart(counts: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Give the counts of all sizes, and those of all curvatures; the first is among both."""
    return counts[: len(SIZES)], (counts[0], *counts[len(SIZES) :])


def table1(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Measure every method."""
    counted = dict.fromkeys(METHODS, gradients) | dict.fromkeys(STOCHASTIC, samples)
    places = [(n, CURVATURES[0]) for n in SIZES] + [(SIZES[0], eps) for eps in CURVATURES[1:]]
    tick = ticker(told, len(counted) * len(places))
    drawn, rows = {}, []
    for name, count in counted.items():
        pairs = []
        for place in places:
            pairs.append(mean(count, name, *place, seed=seed))
            tick()
        counts, certified = zip(*pairs, strict=True)
        end = "has none" if name == "psgd" else f"{np.mean(certified):.0%}"
        if name in METHODS:
            drawn[name] = counts
            rows.append(line(name, METHODS[name].rate, counts, end))
        else:
            drawn[f"{name}, samples"] = counts
            theirs = [printed(name, *place) for place in places]
            rows.append(line(f"{name}, practical", UNPROVEN, counts, end))
            rows.append(line(f"{name}, as printed", STOCHASTIC[name].rate, theirs, "not run"))
    picture, axes = draw.sheet(2, 3.6, 5.0)
    wheres = SIZES, [1 / known(SIZES[0], eps)["tol"] for eps in CURVATURES]
    for i, (axis, where) in enumerate(zip(axes, wheres, strict=True)):
        draw.curves(axis, where, {name: apart(counts)[i] for name, counts in drawn.items()})
    axes[0].set(xscale="log", yscale="log", xlabel="n", ylabel="gradients")
    axes[1].set(xscale="log", yscale="log", xlabel="1/tolerance")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return study(
        folder, "table1", "Table 1: measured gradients",
        "From the exact saddle of h to a certified minimum, with the papers' own parameters (auto "
        "and agd-auto have none), all gradients counted, also those of the certificate; means of "
        f"{SEEDS} starts. The tolerance is such that gamma is half of the saddle's curvature. Left "
        "of the exponents: counts for n = 10 to 10,000 (saddle curvature 0.1), whose logarithm is "
        "fitted against log log n; and for saddle curvatures 0.1 to 0.01 (n = 10), fitted against "
        "log(1/tolerance). The proven rates bound the worst of all functions with many saddles; "
        "one saddle costs less. sgd+nc and psgd see samples with additive noise of root mean "
        "square length tol, and gradients of single samples are counted. As printed they cannot be "
        "run: what is given is computed, one search (2 m T_s) of sgd+nc and the time (script T) in "
        "which psgd is to leave a saddle. Measured are the practical parameters, for which nothing "
        "is proven: sgd+nc to its certificate, psgd with iota = 1, which has no end and is stopped "
        "when 90% of the decrease is there.",
        picture, "Gradients to the end, against n and against 1/tolerance",
        ("method", "proven rate", *[f"n = {n}" for n in SIZES], "power of log n",
         *[f"curvature {e:g}" for e in CURVATURES[1:]], "power of 1/eps", "certified"),
        rows,
    )  # fmt: skip
