"""Theorem 22, measured: how many iterates of Algorithm 5, as printed, are second-order.

Algorithm 5 is run to the letter, many starts at once: the jump is taken wherever the gradient is
small, at a minimum too, and nothing ends the run. The sign of a slope of zero is taken as +.
"""

from pathlib import Path
from typing import Any

import numpy as np

from unsaddle import landscapes, style
from unsaddle.landscapes import Landscape
from unsaddle.methods import theory
from unsaddle.paper import draw
from unsaddle.paper.claims import TEXT, Measured, known
from unsaddle.paper.jobs import Told, study, ticker

STARTS = 20
STAY = 25  # second-order iterates on end, of every start: then it is taken to stay so up to T
MOST = 2000  # iterates, if that does not happen
DELTA = 0.1
SHARE = 0.99  # of the saddle's curvature: gamma, so that the saddle is not second-order itself


def nc_finding(f: Landscape, x: Any, found: Any, rng: np.random.Generator) -> Any:
    """Give the directions of Algorithm 1 at each row, renormalised as in Remark 4."""
    w = rng.standard_normal(x.shape)  # only the direction of y_0 counts
    y, slope = w / np.linalg.norm(w, axis=-1, keepdims=True), f.gradient(x)
    for _ in range(found.window):
        bend = (f.gradient(x + found.radius * y) - slope) / found.radius
        ahead = y - bend / f.smoothness
        size = np.linalg.norm(ahead, axis=-1, keepdims=True)
        y = np.where(size > 0, ahead / np.where(size > 0, size, 1.0), y)
    return y


def others(f: Landscape, tol: float, starts: int, seed: int) -> tuple[np.ndarray, int]:
    """Count the iterates of each start that are not second-order; give the theorem's T too."""
    words: Any = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz, "tol": tol}
    gap = float(f.value(f.saddles[0])) - f.infimum
    found = theory.pgd_nc(**words, failure_probability=DELTA, n=f.n, decrease_available=gap)
    length = theory.jump(hessian_lipschitz=f.hessian_lipschitz, tol=tol).length
    gamma, rng = np.sqrt(f.hessian_lipschitz * tol), np.random.default_rng(seed)
    x, bad, row = np.tile(f.saddles[0], (starts, 1)), np.zeros(starts), np.zeros(starts)
    for _ in range(MOST):
        gradient = f.gradient(x)
        small = np.flatnonzero(np.linalg.norm(gradient, axis=-1) <= tol)
        lowest = [np.linalg.eigvalsh(f.hessian(row))[0] for row in x[small]]
        good = np.zeros(starts, bool)
        good[small] = np.array(lowest) >= -gamma
        bad, row = bad + ~good, np.where(good, row + 1, 0)
        if row.min() >= STAY:
            return bad, found.iterations
        if len(small):
            e = nc_finding(f, x[small], found, rng)
            slope = (gradient[small] * e).sum(-1, keepdims=True)
            x[small] -= np.where(slope >= 0, length, -length) * e
        x = x - f.gradient(x) / f.smoothness
    return np.where(row >= STAY, bad, found.iterations), found.iterations


def theorems(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Count second-order iterates on the paper's landscapes."""
    every = [landscapes.quartic(), landscapes.cubic(), landscapes.triangle(),
             landscapes.exponential(), landscapes.h(10, 1.0)]  # fmt: skip
    tick, rows = ticker(told, len(every)), list[tuple[Any, ...]]()
    for f in every:
        gamma = -SHARE * float(np.linalg.eigvalsh(f.hessian(f.saddles[0]))[0])
        tol = gamma**2 / f.hessian_lipschitz
        bad, iterates = others(f, tol, STARTS, seed)
        rows.append((f.name, gamma, tol, iterates, int(bad.max()), float(1 - bad.max() / iterates)))
        tick()
    picture, (axis,) = draw.sheet(1, 2.6, 6.2)
    axis.barh([row[0] for row in rows], [row[5] for row in rows], color=draw.COLOURS["ours"])
    axis.axvline(0.25, color=style.INK, linewidth=0.9)
    axis.annotate("Theorem 22", (0.255, -0.45), fontsize=8.5)
    axis.set(xlabel="least share of second-order iterates", xlim=(0, 1))
    least = min(row[5] for row in rows)
    words = f"at least {least:.1%} of the T iterates, on the worst landscape from the worst start"
    return study(
        folder, "theorems", "Theorem 22: a quarter of the iterates",
        f"Algorithm 5 as printed, from the saddle, {STARTS} starts on each landscape: how many "
        "iterates have a gradient above tol or, by the exact Hessian, a lowest eigenvalue below "
        f"-gamma, until {STAY} on end of every start are second-order. The run is taken to stay so "
        f"up to the theorem's T. gamma is {SHARE:g} of the saddle's curvature, tol = gamma^2/rho.",
        picture, "Least share of second-order iterates on each landscape",
        ("landscape", "gamma", "tol", "the theorem's T", "most not second-order", "least share"),
        rows,
        known("Theorem 22: at least 1/4 of PGD+NC's iterates are second-order",
              f"Algorithm 5 as printed, followed until {STAY} iterates on end are second-order",
              Measured(least, least, least, float("nan"), least >= 0.25, words,
                       STARTS * len(every)),
              "The value is the least share of any start; it has no interval.", TEXT),
    )  # fmt: skip
