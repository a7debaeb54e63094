"""Pictures: the figures in the paper's form, and the panels beside them."""

from collections.abc import Mapping
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import PercentFormatter

from unsaddle.landscapes import Landscape
from unsaddle.paper.experiment import Arm, Panel

COLOURS = {"ours": "#0072b2", "theirs": "#d55e00"}  # of Okabe and Ito's palette, as all below
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#222222",
           "#999999", "#6a3d9a")  # fmt: skip
STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
}
plt.rcParams.update(STYLE)
GREY = "#8a8a8a"
WINDOWS = {  # landscape -> the sides of its contour plot; h has none
    "quartic": (-3.2, 3.2, -1.6, 1.6),
    "cubic": (-1.8, 1.8, -1.8, 1.8),
    "triangle": (-1.6, 1.6, -0.8, 1.6),
    "exponential": (-4.0, 4.0, -1.2, 1.6),
}
CORNER = (0.66, 0.48)  # left and top of the inset, with a margin


def contour(axes: Axes, f: Landscape) -> None:
    """Draw the landscape's level lines, labelled with their values where there is room."""
    left, right, bottom, top = WINDOWS[f.name]
    x, y = np.meshgrid(np.linspace(left, right, 241), np.linspace(bottom, top, 181))
    height = f.value(np.stack([x, y], -1))
    levels = np.quantile(height, [0.02, 0.08, 0.18, 0.3, 0.45, 0.6, 0.75, 0.9])
    levels = np.unique(np.round(levels, 2))
    axes.contour(x, y, height, levels, colors=GREY, linewidths=0.8)
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="$x_1$", ylabel="$x_2$")
    inside = np.s_[9:-9, 20:-20]  # where a label is not cut off
    lines = axes.contour(x[inside], y[inside], height[inside], levels, alpha=0)
    for label in axes.clabel(lines, fontsize=7, fmt="%g", inline=False, colors=GREY):
        u, v = axes.transLimits.transform(label.get_position())
        label.set(alpha=1, path_effects=[withStroke(linewidth=2.5, foreground="white")])
        label.set_visible(not (u > CORNER[0] - 0.1 and v < CORNER[1]))


def samples(axes: Axes, panel: Panel, moment: int, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Draw the samples of both methods on the contour plot; an inset shows those at the saddle."""
    contour(axes, panel.landscape)
    for arm, x in (("theirs", theirs), ("ours", ours)):
        one: Arm = getattr(panel, arm)
        label = named(one, one.times[moment])
        axes.plot(*x.T, ".", color=COLOURS[arm], markersize=4, alpha=0.6, label=label)
    box = axes.inset_axes((CORNER[0], 0.03, 0.98 - CORNER[0], CORNER[1] - 0.08))
    box.plot(*ours.T, ".", color=COLOURS["ours"], markersize=3, alpha=0.5)
    reach = 1.35 * panel.ours.values["r"]
    box.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], aspect="equal")
    box.spines[:].set_visible(True)
    box.text(0.5, 0.5, "at the\nsaddle", fontsize=6.5, ha="center", va="center", color="#555555",
             transform=box.transAxes)  # fmt: skip
    columns = 1 if "theta" in panel.ours.values else 2
    key(axes, columns, markerscale=2, handletextpad=0.1, columnspacing=1.0)


def named(arm: Arm, time: int) -> str:
    """Name a method, its momentum and the time, for a legend."""
    momentum = [
        rf"$\{each} = {arm.values[each]:.2g}$" for each in ("theta", "zeta") if each in arm.values
    ]
    return ", ".join([arm.label, *momentum, f"t = {time}"])


def key(axes: Axes, columns: int, **more: Any) -> None:
    """Put the legend above the axes, where nothing else is."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), fontsize=8.5, ncols=columns, **more)


def histogram(axes: Axes, panel: Panel, values: Mapping[str, np.ndarray], run: int) -> None:
    """Draw the descent values: bars for one run of the paper's size, lines for all samples."""
    low = min(float(np.quantile(each, 0.001)) for each in values.values())
    top = max(float(each.max()) for each in values.values())
    bins = np.linspace(min(low, top - 0.05), top + 1e-9, 26).tolist()
    for arm, each in values.items():
        one: Arm = getattr(panel, arm)
        label = named(one, one.times[-1])
        axes.hist(each[:run], bins, weights=np.full(run, 1 / run), color=COLOURS[arm], alpha=0.35,
                  label=label)  # fmt: skip
        axes.hist(each, bins, weights=np.full(len(each), 1 / len(each)), color=COLOURS[arm],
                  histtype="step", linewidth=1.4)  # fmt: skip
    most = max(len(each) for each in values.values())
    shapes = [
        Patch(facecolor="#cccccc", label=f"filled: {run} samples"),
        Patch(facecolor="none", edgecolor="#555555", label=f"outline: {most:,}"),
    ]
    axes.set(xlabel="descent value", ylabel="share of samples")
    axes.set_title(panel.title, pad=36)
    percent(axes, 0, None)
    key(axes, 2, handles=[*axes.get_legend_handles_labels()[0], *shapes], columnspacing=1.0)


def curves(axes: Axes, x: Any, lines: Mapping[str, Any]) -> None:
    """Draw one line for each name, in the palette's order; when it is used up, dashed."""
    styles = ((colour, dash) for dash in ("o-", "s--") for colour in PALETTE)
    for (name, y), (colour, dash) in zip(lines.items(), styles, strict=False):
        axes.plot(x, y, dash, markersize=4, color=colour, label=name)


def percent(axes: Axes, low: float = -0.03, high: float | None = 1.03) -> None:
    """Let the vertical axis show shares, as percentages."""
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))


def sheet(columns: int, height: float = 3.4, width: float = 3.9) -> tuple[Picture, Any]:
    """Give a figure with so many panels side by side."""
    picture, axes = plt.subplots(
        1, columns, figsize=(width * columns, height), layout="constrained", squeeze=False
    )
    picture.get_layout_engine().set(wspace=0.06)  # type: ignore[union-attr]
    return picture, axes[0]


def save(picture: Picture, stem: Any) -> None:
    """Write a picture as PDF and PNG, with nothing in them that differs from run to run."""
    picture.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    picture.savefig(f"{stem}.png", dpi=130, metadata={"Software": None})
    plt.close(picture)
