"""The paper's open question 2: its own methods on matrix completion and tensor decomposition.

The methods need l and rho, which these problems do not have everywhere: they are measured along the
path of ``auto``, whose run needs neither, and doubled.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unsaddle.landscapes import Landscape
from unsaddle.methods.table import METHODS
from unsaddle.numpy.minimize import minimize
from unsaddle.paper import draw
from unsaddle.paper.extras import exits
from unsaddle.paper.extras.exits import EXACT, EXITS, PRINTED
from unsaddle.paper.jobs import Told, study, ticker

SEEDS = 3
LIMIT = 200_000
SHARE = 0.1  # of the saddle's curvature: gamma
SAFETY = 2.0  # by which measured constants are multiplied
COLOURS = (draw.COLOURS["theirs"], draw.COLOURS["ours"], draw.PALETTE[2])


def _along(gradient: Any, x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Differentiate a polynomial gradient along d, exactly but for rounding, by a complex step."""
    step = 1e-30
    return gradient(x + 1j * step * d).imag / step


def _hessian(gradient: Any, x: np.ndarray) -> np.ndarray:
    """Differentiate a polynomial gradient along every axis."""
    return np.array([_along(gradient, x, e) for e in np.eye(x.size)])


def _problem(name: str, saddle: np.ndarray, value: Any, gradient: Any) -> Landscape:
    """Give a problem as a landscape, with constants measured along the path of ``auto``."""
    seen: list[np.ndarray] = []
    minimize(
        value, saddle, jac=gradient, tol=1e-6, seed=0, callback=lambda x: seen.append(x.copy())
    )
    path = [saddle, *seen[:: max(1, len(seen) // 12)], seen[-1]]
    hessians = [_hessian(gradient, x) for x in path]
    bend = [
        np.linalg.norm(a - b, 2) / np.linalg.norm(x - y)
        for (a, x), (b, y) in zip(
            zip(hessians, path, strict=True), zip(hessians[1:], path[1:], strict=False),
            strict=False,
        )
        if np.linalg.norm(x - y) > 1e-6
    ]  # fmt: skip
    return Landscape(
        name=name, n=saddle.size, value=value, gradient=gradient,
        hessian=lambda x: _hessian(gradient, x), saddles=(saddle,), minima=(), infimum=0.0,
        smoothness=SAFETY * max(float(np.linalg.norm(h, 2)) for h in hessians),
        hessian_lipschitz=SAFETY * float(max(bend)), region="Along the path of auto.",
        radius=np.inf,
    )  # fmt: skip


def matrix_completion(rows: int = 8, rank: int = 2, share: float = 0.7) -> Landscape:
    """Give |P(U V' - M)|^2/2 over the entries seen (Ge, Lee & Ma 2016), from its saddle, 0."""
    rng = np.random.default_rng(1)
    target = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, rows)) / rows**0.5
    seen = rng.random((rows, rows)) < share

    def parts(x: Any) -> Any:
        u, v = x.reshape(2, rows, rank)
        return u, v, seen * (u @ v.T - target)

    def gradient(x: Any) -> Any:
        u, v, error = parts(x)
        return np.concatenate([(error @ v).ravel(), (error.T @ u).ravel()])

    return _problem("matrix completion", np.zeros(2 * rows * rank),
                    lambda x: (parts(x)[2] ** 2).sum() / 2, gradient)  # fmt: skip


def tensor_decomposition(d: int = 4) -> Landscape:
    """Give |sum u_j^3 - sum a_j^3|^2/2, a orthonormal (Ge et al. 2015), from u_j = sum a_k/d."""
    a = np.linalg.qr(np.random.default_rng(2).standard_normal((d, d)))[0]

    def value(x: Any) -> Any:
        u = x.reshape(d, d)
        return (((u @ u.T) ** 3).sum() - 2 * ((u @ a.T) ** 3).sum() + d) / 2

    def gradient(x: Any) -> Any:
        u = x.reshape(d, d)
        return (3 * ((u @ u.T) ** 2 @ u - (u @ a.T) ** 2 @ a)).ravel()

    return _problem("tensor decomposition", np.tile(a.mean(0), d), value, gradient)


def _measured(f: Landscape, name: str, way: str, seed: int) -> tuple[Any, ...]:
    """Run a method in one way: what it takes, and where it ends."""
    gamma = -SHARE * float(np.linalg.eigvalsh(f.hessian(f.saddles[0]))[0])
    given = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz,
             "tol": gamma**2 / f.hessian_lipschitz,
             "decrease_available": float(f.value(f.saddles[0]))}  # fmt: skip
    starts = range(seed, seed + (1 if way == PRINTED else SEEDS))  # the windows are long
    product = partial(_along, f.gradient)
    ends = [exits.run(way, name, f, given, each, LIMIT, product) for each in starts]
    true = [np.linalg.eigvalsh(f.hessian(end.x))[0] >= -gamma for end in ends]
    left = np.mean([f.value(end.x) for end in ends]) / f.value(f.saddles[0])
    counts = [end.gradients + end.products for end in ends]
    words = f"over {LIMIT:,}" if max(counts) >= LIMIT else round(float(np.mean(counts)))
    products = round(float(np.mean([end.products for end in ends])))
    certified = f"{np.mean([end.certified for end in ends]):.0%}"
    return words, products, certified, f"{np.mean(true):.0%}", float(left)


def applications(folder: Path, seed: int, told: Told) -> dict[str, Any]:
    """Run every method from the saddle of both problems."""
    every = [matrix_completion(), tensor_decomposition()]
    ways = [(name, way) for name, line in METHODS.items() for way in exits.ways(line)]
    tick, rows = ticker(told, len(every) * len(ways)), list[tuple[Any, ...]]()
    for f in every:
        for name, way in ways:
            rows.append((f.name, name, way, *_measured(f, name, way, seed)))
            tick()
    picture, axes = draw.sheet(len(every), 0.36 * len(METHODS) + 1.3, 5.0)
    for axis, f in zip(axes, every, strict=True):
        for way, colour in zip((PRINTED, EXITS, EXACT), COLOURS, strict=True):
            mine = [row for row in rows if row[0] == f.name and row[2] == way]
            counts = [row[3] if isinstance(row[3], int) else LIMIT for row in mine]
            axis.plot(counts, [row[1] for row in mine], "o", color=colour, label=way)
        axis.set(xscale="log", xlabel="gradients and products", title=f.name)
    axes[0].legend(fontsize=8.5)
    constants = "; ".join(f"{f.name}: n = {f.n}, l = {f.smoothness:.3g}, rho = "
                          f"{f.hessian_lipschitz:.3g}" for f in every)  # fmt: skip
    return study(
        folder, "applications", "Open question 2: matrix completion and tensor decomposition",
        "From the exact saddle to the end: as printed, one start, and with the early exits of "
        f"Table 1, means of {SEEDS} starts. l and rho are measured along the path of auto and "
        f"doubled, which no theorem covers ({constants}). gamma is a tenth of the saddle's "
        "curvature, tol = gamma^2/rho. Gradients and products with the Hessian are counted "
        "together, the latter apart too. Second-order is by the exact Hessian; the last column is "
        "the part of f that is left.",
        picture, "Gradients from the saddle to the end on both problems",
        ("problem", "method", "way", "gradients", "products", "certified", "second-order",
         "f left"), rows,
    )  # fmt: skip
