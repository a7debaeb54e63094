"""What the paper does not show: equal radius and stability, measured."""

from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from unsaddle import landscapes
from unsaddle.paper import draw
from unsaddle.paper.batch import Batch
from unsaddle.paper.claims import SAMPLES, TEXT, Measured, known, wilson
from unsaddle.paper.declare import jump
from unsaddle.paper.experiment import RUN, seeds
from unsaddle.paper.extras.quadratics import quadratic, rayleigh
from unsaddle.paper.jobs import Told, study, ticker
from unsaddle.paper.lockstep import trajectory

RADII = 10.0 ** np.arange(-16, 1)  # of the region a search is confined to


def radius(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Compare figure 1's methods at an equal radius and an equal number of gradients, 90."""
    f, eta, m = landscapes.quartic(), 0.05, SAMPLES
    radii = (jump(f), 0.1, 0.15, 0.25, 0.35, 0.5)
    given = {"eta": eta, "r": 0.1}
    (points,) = trajectory("pgd+nc", f, given, [30], seeds("ours", seed, m))
    e = points / np.linalg.norm(points, axis=-1, keepdims=True)
    rows, tick = [], ticker(told, len(radii))
    for r in radii:
        x = np.where((f.value(r * e) <= f.value(-r * e))[:, None], r * e, -r * e)
        for _ in range(60):
            x = x - eta * f.gradient(x)
        (y,) = trajectory("pgd", f, given | {"r": r}, [90], seeds("theirs", seed, m))
        rows.append((r, *(float(np.mean(-f.value(each) <= 0.9)) for each in (x, y))))
        tick()
    names = "NC + step + GD", "PGD"
    picture, (axis,) = draw.sheet(1, 3.2, 6.2)
    draw.curves(axis, radii, dict(zip(names, [*zip(*rows, strict=True)][1:], strict=True)))
    draw.percent(axis)
    axis.set(xlabel="length of the step, radius of the ball", ylabel="decrease <= 0.9")
    axis.legend()
    return study(
        folder, "radius", "Beyond the paper: equal radius, figure 1",
        f"90 gradients for each of {m:,} samples: 30 of NC-finding, a step of length s along its "
        "direction and 60 of descent, against 90 of PGD from a ball of the same radius. The larger "
        "step along the direction is essential: at s = 0.1 NC-finding is far behind PGD, which has "
        "60 steps more to grow; from s = 0.25 it is far ahead. The theory's length, |lambda|/(4 "
        f"rho) with rho = {f.hessian_lipschitz:g}, is {jump(f):.3f}.",
        picture, "Share of samples with a decrease of at most 0.9, against the common radius",
        ("s = r", *(f"{name}: decrease <= 0.9" for name in names)), rows,
    )  # fmt: skip


def _shifted(eigenvalues: np.ndarray, centre: Any, y: Any) -> Any:
    """Give the gradient at centre + y, which is rounded to the precision of both."""
    return eigenvalues * ((centre + y) - centre)


def smallest(radii: np.ndarray, shares: np.ndarray) -> float:
    """Give the smallest radius at which 90% succeed."""
    return float(radii[shares >= 0.9].min(initial=inf))


def steadier(radii: np.ndarray, shares: np.ndarray) -> Measured:
    """Give the least quotient of the smallest radii at which 90% succeed, by cases and ways."""
    bounds = np.array([wilson(p, RUN) for p in shares.flat]).reshape(*shares.shape, 2)
    value, low, high = (
        min(smallest(radii, slow) / smallest(radii, fast) for fast, slow in zip(*ways, strict=True))
        for ways in (
            (shares[:, 0], shares[:, 1]),
            (bounds[:, 0, :, 0], bounds[:, 1, :, 1]),
            (bounds[:, 0, :, 1], bounds[:, 1, :, 0]),
        )
    )
    through = binom.sf(0.9 * RUN - 1, RUN, shares)  # chance that 90% of a run succeed
    none = np.insert(np.cumprod(1 - through, -1), 0, 1.0, -1)  # ... and at no smaller radius
    later = np.append(none[:, 1, 2:], none[:, 1, -1:], -1)  # without: nor at the next larger one
    run = float((none[:, 0, :-1] * through[:, 0] * later).sum(-1).prod())
    words = f"works down to a region at least {value:.0e} times smaller"
    return Measured(value, low, high, run, value > 10, words, RUN)


def stability(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Measure down to which radius a search works, renormalised or not, in two precisions."""
    n, steps = 100, 150
    eigenvalues, factor = np.append(-0.1, np.linspace(0.0, 1.0, n - 1)), 1.1**steps
    cases = {
        f"{np.dtype(dtype).name}, |x_i| = {size:g}": (dtype, size)
        for dtype in (np.float64, np.float32)
        for size in (1.0, 100.0)
    }
    ways = {"renormalised": ("pgd+nc", 1.0), "not": ("neon", factor)}  # method, and how y grows
    tick = ticker(told, len(cases) * len(ways) * len(RADII))

    def found(dtype: Any, size: float, method: str, growth: float, r: float) -> float:
        f = quadratic(eigenvalues, partial(_shifted, eigenvalues.astype(dtype), dtype(size)))
        given = {"eta": 1.0, "r": float(r / growth), "dtype": dtype}
        (points,) = trajectory(
            method, f, given, [steps], seeds("ours", seed, RUN), Batch(floor=False)
        )
        tick()
        with np.errstate(invalid="ignore"):
            return float(np.mean(rayleigh(eigenvalues, points.astype(float) / r) <= -0.05))

    shares = {
        case: [[found(*it, *way, r) for r in RADII] for way in ways.values()]
        for case, it in cases.items()
    }
    picture, axes = draw.sheet(2, 3.4, 5.2)
    for axis, kind in zip(axes, ("float64", "float32"), strict=True):
        lines = {f"{case}, {way}".removeprefix(f"{kind}, "): line
                 for case, pair in shares.items() if case.startswith(kind)
                 for way, line in zip(ways, pair, strict=True)}  # fmt: skip
        draw.curves(axis, RADII, lines)
        draw.percent(axis)
        axis.set(xscale="log", xlabel="largest |y| of the search", title=kind)
    axes[0].set_ylabel(r"found curvature $\leq \lambda/2$")
    axes[1].legend(loc="upper left")
    rows = [(case, *(smallest(RADII, np.array(line)) for line in pair))
            for case, pair in shares.items()]  # fmt: skip
    return study(
        folder, "stability", "Beyond the paper: what renormalisation buys",
        "A search has to stay where f is nearly quadratic. Renormalised, it probes at the radius "
        f"of that region throughout; left to grow by the factor 1.1^{steps} = {factor:.1e}, it "
        f"has to start that much smaller, and there the sum x + y loses y's digits. Share of {RUN} "
        "starts that find half of the negative curvature (n = 100, lambda = -0.1, 150 steps), "
        "against the largest |y|.",
        picture, "Share of searches that succeed, against the radius of the region",
        ("precision and size of x", "smallest radius, renormalised", "not renormalised"),
        [(case, a, b if b < inf else "none up to 1") for case, a, b in rows],
        known("Renormalisation makes the search more stable against floating point errors",
              "same largest |y|, 150 steps", steadier(RADII, np.array([*shares.values()])),
              "The value is the quotient of the smallest radii at which 90% succeed, without and "
              "with renormalisation, in the worst of four cases, by decades; it holds if more "
              "than 10. One run: 300 starts in each case at each radius.", TEXT),
    )  # fmt: skip
