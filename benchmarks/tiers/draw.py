"""The pictures of the page: performance profiles after Dolan & Moré (2002), and gradients by n."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unsaddle import style


class Look(NamedTuple):
    """How a contestant is drawn, on all pictures: unsaddle in blue, one rival in colour."""

    colour: str = style.SOFT
    dash: Any = "-"
    width: float = 1.0


LOOKS = {
    "auto": Look(style.OURS, width=2.8),
    "auto, to the gradient": Look(style.OURS, width=2.8),
    "auto, to the certificate": Look(style.OURS, (0, (2, 1)), 2.0),
    "agd-auto": Look(style.SECOND, width=2.0),
    "L-BFGS-B": Look(style.THEIRS, width=2.0),
}
TICKS = (1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
PANELS: dict[str, float] = {"wspace": 0.12, "hspace": 0.06}


def profile(costs: dict[str, list[float]], file: Path, title: str) -> None:
    """Draw which share of the runs each solves within a factor of the fewest gradients."""
    all_ = np.array([*costs.values()], float)
    best = all_.min(0)
    ratios = np.where(np.isfinite(all_), all_ / np.where(np.isfinite(best), best, 1.0), np.inf)
    finite = ratios[np.isfinite(ratios)]
    most = 1.1 * float(finite.max())
    figure, axes = style.begin().subplots(figsize=(8.5, 4.4), layout="constrained")
    ends: dict[str, tuple[float, str]] = {}
    for name, line in zip(costs, ratios, strict=True):
        steps = np.sort(line[np.isfinite(line)])
        heights = np.arange(1, steps.size + 1) / line.size
        x = np.concatenate([[1], steps, [most]])
        y = np.concatenate([[0], heights, [steps.size / line.size]])
        look = LOOKS.get(name, Look())
        axes.step(x, y, where="post", color=look.colour, linestyle=look.dash, linewidth=look.width,
                  zorder=1 + look.width)  # fmt: skip
        ends[name] = steps.size / line.size, look.colour
    axes.set(xscale="log", xlim=(1, most), ylim=(0, 1.02))
    axes.set(xlabel="gradients, as a multiple of the fewest", ylabel="share of the runs")
    ticks = [tick for tick in TICKS if tick <= most and (tick != 1.25 or most < 10)]
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    style.headline(figure, title)
    style.name_ends(axes, ends, gap=0.05, bold=[name for name in costs if name in LOOKS])
    style.save(figure, file)


def curves(
    families: dict[str, dict[str, list[tuple[int, float, bool]]]], file: Path, title: str
) -> None:
    """Draw gradients by n, a panel a family; points that are not second-order are crossed."""
    figure, panels = style.begin().subplots(
        2, 2, figsize=(9, 6.6), sharex=True, sharey=True, layout="constrained"
    )
    figure.get_layout_engine().set(**PANELS)
    named: list[tuple[Any, dict[str, tuple[float, str]], float]] = []
    for axes, (family, lines) in zip(panels.flat, sorted(families.items()), strict=True):
        ends: dict[str, tuple[float, str]] = {}
        last = 0.0  # where the lines end
        for name, points in lines.items():
            n, gradients, right = map(np.array, zip(*points, strict=True))
            look = LOOKS.get(name, Look())
            axes.plot(n, gradients, color=look.colour, linestyle=look.dash, linewidth=look.width,
                      zorder=1 + look.width)  # fmt: skip
            for kind, marker, size in ((right, "o", 3), (~right, "x", 7)):
                axes.plot(n[kind], gradients[kind], marker, color=look.colour, markersize=size)
            if name in LOOKS:
                ends[name] = float(gradients[-1]), look.colour
                last = float(n[-1])
        axes.set(xscale="log", yscale="log", title=family)
        named.append((axes, ends, last))
    for axes, ends, last in named:  # when all have their limits
        style.name_ends(axes, ends, last, gap=0.07)
    style.headline(figure, title)
    figure.supxlabel("n; grey: the other methods", fontsize=style.SIZE)
    figure.supylabel("gradients", fontsize=style.SIZE)
    style.save(figure, file)
