"""The pictures of the page: performance profiles after Dolan & Moré (2002), and gradients by n."""

from pathlib import Path
from typing import Any

import numpy as np

from .contest import MEMORY

LINES: dict[str, tuple[str, Any]] = {  # colour and dashes of each contestant, on all pictures
    "auto": ("#0b3c8c", "-"),
    "auto, to the gradient": ("#0b3c8c", "-"),
    "auto, to the certificate": ("#2a9df4", "-"),
    "agd-auto": ("#111111", "-"),
    "L-BFGS-B": ("#d1495b", "--"),
    MEMORY: ("#e8838f", (0, (2, 1))),
    "BFGS": ("#2e8b57", "-."),
    "CG": ("#8a5a00", ":"),
    "Newton-CG": ("#7a4fa3", (0, (5, 1, 1, 1, 1, 1))),
    "trust-ncg": ("#9a9a00", (0, (8, 2))),
    "trust-krylov": ("#555555", (0, (1, 3))),
    "torch l-bfgs": ("#e07b00", (0, (3, 1))),
    "torch newton-cg": ("#00797a", (0, (6, 2, 1, 2))),
}
LEGEND: dict[str, Any] = {
    "loc": "center left",
    "bbox_to_anchor": (1.01, 0.5),
    "frameon": False,
    "handlelength": 4,
}
TICKS = (1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
DPI = 160


def profile(costs: dict[str, list[float]], file: Path, title: str) -> None:
    """Draw which share of the runs each solves within a factor of the fewest gradients."""
    import matplotlib.pyplot as plt

    all_ = np.array([*costs.values()], float)
    best = all_.min(0)
    ratios = np.where(np.isfinite(all_), all_ / np.where(np.isfinite(best), best, 1.0), np.inf)
    finite = ratios[np.isfinite(ratios)]
    most = max(2.0, float(finite.max()) * 1.1)
    figure, axes = plt.subplots(figsize=(8.5, 4.4), layout="constrained")
    for name, line in zip(costs, ratios, strict=True):
        steps = np.sort(line[np.isfinite(line)])
        heights = np.arange(1, steps.size + 1) / line.size
        x = np.concatenate([[1], steps, [most]])
        y = np.concatenate([[0], heights, [steps.size / line.size]])
        colour, dash = LINES[name]
        axes.step(x, y, where="post", label=name, color=colour, linestyle=dash, linewidth=2)
    axes.set(xscale="log", xlim=(1, most), ylim=(0, 1.02), title=title)
    axes.set(xlabel="gradients, as a multiple of the fewest", ylabel="share of the runs")
    ticks = [tick for tick in TICKS if tick <= most and (tick != 1.25 or most < 10)]
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(**LEGEND)
    figure.savefig(file, dpi=DPI)
    plt.close(figure)


def curves(
    families: dict[str, dict[str, list[tuple[int, float, bool]]]], file: Path, title: str
) -> None:
    """Draw gradients by n, a panel a family; points that are not second-order are crossed."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        2, 2, figsize=(10, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    for axes, (family, lines) in zip(panels.flat, sorted(families.items()), strict=True):
        for name, points in lines.items():
            n, gradients, right = map(np.array, zip(*points, strict=True))
            colour, dash = LINES[name]
            axes.plot(n, gradients, color=colour, linestyle=dash, linewidth=2, label=name)
            for kind, marker, size in ((right, "o", 4), (~right, "x", 8)):
                axes.plot(n[kind], gradients[kind], marker, color=colour, markersize=size)
        axes.set(xscale="log", yscale="log", title=family)
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    figure.supxlabel("n")
    figure.supylabel("gradients")
    names = panels[0, 0].get_legend_handles_labels()
    figure.legend(*names, loc="outside right center", frameon=False, handlelength=4)
    figure.savefig(file, dpi=DPI)
    plt.close(figure)
