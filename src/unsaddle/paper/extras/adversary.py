"""Robustness: every gradient of a search is moved by an adversary, as far as the paper allows.

The paper views the deviation from the quadratic as external noise, bounded by rho |y|^2 at an
offset y, and says that an adversary of that strength does no harm. Half of the bound is the most
that a function of this rho can deviate; an adversary need not be a function.
"""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from unsaddle import style
from unsaddle.methods import theory
from unsaddle.paper import draw
from unsaddle.paper.batch import BATCH, Batch
from unsaddle.paper.claims import SAMPLES, TEXT, Measured, known, wilson
from unsaddle.paper.experiment import RUN, seeds
from unsaddle.paper.extras.quadratics import quadratic, rayleigh
from unsaddle.paper.jobs import Told, study, ticker
from unsaddle.paper.lockstep import trajectory

FEW = 4000  # samples away from the theory's radius, and of SNC-finding
SOME = 20_000  # samples at each place of the other eigenvalues
N, GAMMA, DELTA = 100, 0.1, 0.1  # and l = rho = 1
PLACES = (0.0, -0.1, -0.2, -0.24, -0.249)  # of the other eigenvalues, in units of gamma
STRENGTHS = (0, 1, 2, 10)  # in units of the paper's bound
FACTORS = tuple(10 ** (p / 2) for p in range(7))  # of the theory's radius


class Attacked(NamedTuple):
    """A search with the parameters of its proposition, in as many coordinates as it needs."""

    method: str
    values: dict[str, float]
    window: int
    ops: Batch
    coordinates: int


def searches() -> dict[str, Attacked]:
    """Give the three searches; SNC-finding draws noise in every step, and so needs all n."""
    words: Any = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "tol": GAMMA**2, "n": N}
    nc = theory.nc_finding(**words, failure_probability=DELTA)
    anc = theory.anc_finding(**words, failure_probability=DELTA)
    snc = theory.snc_finding(**words, failure_probability=DELTA / 3, stochastic_smoothness=1.0)
    accelerated = {"eta": anc.step, "theta": anc.friction, "r": anc.radius}
    sampled = {"eta": 1.0, "r": snc.radius, "xi": snc.radius, "start": 0, "m": 1}
    return {
        "NC-finding": Attacked("pgd+nc", {"eta": 1.0, "r": nc.radius}, nc.window, Batch(n=N), 2),
        "ANCGD": Attacked("ancgd", accelerated, anc.window, Batch(n=N), 2),
        "SNC-finding": Attacked("sgd+nc", sampled, snc.window, BATCH, N),
    }


def attacked(eigenvalues: np.ndarray, strength: float, y: Any) -> Any:
    """Give the gradient at y, moved by strength rho |y|^2 so as to turn y away from u_1."""
    # to turn, a push has to be at right angles to y: against y_1, and along all others
    first, rest = y[..., :1], y[..., 1:]
    length = np.linalg.norm(rest, axis=-1, keepdims=True)
    away = np.concatenate([np.sign(first) * length, -np.abs(first) * rest / (length + 1e-300)], -1)
    return eigenvalues * y + strength * np.linalg.norm(y, axis=-1, keepdims=True) * away


def found(
    search: Attacked, place: float, strength: float, factor: float, m: int, seed: int
) -> float:
    """Give the share of searches that end with curvature of at most -gamma/4."""
    eigenvalues = np.append(-GAMMA, np.full(search.coordinates - 1, place * GAMMA))
    f = quadratic(eigenvalues, partial(attacked, eigenvalues, strength))
    scaled = {name: v * factor if name in ("r", "xi") else v for name, v in search.values.items()}
    numbers = seeds("ours", seed, m)
    (points,) = trajectory(search.method, f, scaled, [search.window], numbers, search.ops)
    return float(np.mean(rayleigh(eigenvalues, points) <= -GAMMA / 4))


def robustness(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Set an adversary on every gradient, and find the hardest place for the other eigenvalues."""
    all_searches = searches()
    nc, strongest = all_searches["NC-finding"], STRENGTHS[-1]
    total = 2 * len(PLACES) + len(STRENGTHS) * len(FACTORS) + 2 * len(all_searches)
    tick = ticker(told, total)

    def share(search: Attacked, place: float, strength: float, factor: float, m: int) -> float:
        measured = found(search, place, strength, factor, m, seed)
        tick()
        return measured

    rows: list[tuple[Any, ...]] = []
    for place in PLACES:
        pair = [share(nc, place, strength, 1.0, SOME) for strength in (1, strongest)]
        rows.append(("NC-finding", place, 1.0, SOME, "-", pair[0], "-", pair[1]))
    hardest = min(rows, key=lambda row: row[-1])[1]
    lines = {
        f"{strength} x the bound" if strength else "no adversary": [
            share(nc, hardest, strength, factor, FEW) for factor in FACTORS
        ]
        for strength in STRENGTHS
    }
    rows += [
        ("NC-finding", hardest, factor, FEW, *shares)
        for factor, *shares in zip(FACTORS, *lines.values(), strict=True)
    ]
    judged = []
    for label, search in all_searches.items():
        m = SAMPLES if search.coordinates == 2 else FEW
        one, ten = (share(search, hardest, strength, 1.0, m) for strength in (1, strongest))
        rows.append((label, hardest, 1.0, m, "-", one, "-", ten))
        judged.append(_judged(label, search, hardest, one, ten, m))
    picture, (axis,) = draw.sheet(1, 3.2, 6.2)
    draw.curves(axis, FACTORS, lines)
    axis.axhline(1 - DELTA, color=style.SOFT, linewidth=0.8)
    axis.annotate("promised", (1, 1 - DELTA), xycoords=("axes fraction", "data"), ha="right",
                  va="top", fontsize=8.5, color=style.SOFT)  # fmt: skip
    draw.percent(axis)
    axis.set(xscale="log", xlabel="r, in units of the theory's")
    axis.set_ylabel(r"found curvature $\leq -\gamma/4$")
    axis.legend()
    return study(
        folder, "robustness", "Beyond the paper: robustness against an adversary",
        "Each gradient of a search is moved by up to c rho |y|^2, c times the paper's bound on the "
        "deviation from the quadratic, at right angles to y, so as to turn it away from the "
        f"negative direction. n = {N}, l = rho = 1, gamma = {GAMMA:g}; r and T are the theory's "
        f"for a failure probability of {DELTA:g} (NC-finding: r = {nc.values['r']:.2g}, T = "
        f"{nc.window}). The other eigenvalues are all at one place, in units of gamma; of those "
        f"tried {hardest:g} is the hardest, and the picture is for it. SNC-finding has samples "
        "whose noise is additive and cancels. r is far from tight: how much larger it may be is "
        "the margin.",
        picture, "Share of searches that succeed under attack, against the radius",
        ("search", "other eigenvalues, in gamma", "r over the theory's", "samples", *lines),
        rows, *judged,
    )  # fmt: skip


def _judged(
    label: str, search: Attacked, place: float, one: float, ten: float, m: int
) -> dict[str, Any]:
    """Judge whether at least 1 - delta of the searches succeed against the paper's adversary."""
    low, high = wilson(one, m)
    run = float(binom.sf((1 - DELTA) * RUN - 1, RUN, one))  # at least 1 - delta of a run succeed
    words = f"{one:.1%} of searches succeed, {ten:.1%} at 10x"
    return known(
        f"{label} is unaffected by an adversary bounded by the deviation from the quadratic",
        f"rho |y|^2, the theory's r and T = {search.window}, other eigenvalues at {place:g} gamma",
        Measured(one, low, high, run, low >= 1 - DELTA, words, m),
        f"Shown by a run in which at least {1 - DELTA:.0%} of the searches succeed.",
        TEXT,
    )
