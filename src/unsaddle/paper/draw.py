"""Pictures: the figures in the paper's form, and the panels beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from unsaddle import style
from unsaddle.landscapes import Landscape
from unsaddle.paper.experiment import Arm, Panel

plt = style.begin()
COLOURS = {"ours": style.OURS, "theirs": style.THEIRS}
PALETTE = style.PALETTE
DPI = 144  # of the report's pictures, which are many
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
    axes.contour(x, y, height, levels, colors=style.SOFT, linewidths=0.8)
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="$x_1$", ylabel="$x_2$")
    inside = np.s_[9:-9, 20:-20]  # where a label is not cut off
    lines = axes.contour(x[inside], y[inside], height[inside], levels, alpha=0)
    for label in axes.clabel(lines, fontsize=8.5, fmt="%g", inline=False, colors=style.SOFT):
        u, v = axes.transLimits.transform(label.get_position())
        label.set(alpha=1, path_effects=style.halo())
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
    box.text(0.5, 0.5, "at the\nsaddle", fontsize=8.5, ha="center", va="center", color=style.SOFT,
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
        Patch(facecolor=style.FAINT, label=f"filled: {run} samples"),
        Patch(facecolor="none", edgecolor=style.SOFT, label=f"outline: {most:,}"),
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


def races(claims: Sequence[Mapping[str, Any]], stem: Path) -> dict[str, str]:
    """Draw what share of the other's iterations the paper's methods take, by both readings.

    Returns:
        The picture's stem, and what it shows in words.
    """
    rows = [*reversed(claims)]
    literal = [claim["readings"][claim["literal"]]["value"] for claim in rows]
    picture, (axes,) = sheet(1, 0.34 * len(rows) + 1.2, 6.2)
    for height, (claim, read) in enumerate(zip(rows, literal, strict=True)):
        most = 1 / 3 if "1/3" in claim["paper"] else 1 / 2
        axes.barh(height, most, color=style.FAINT, alpha=0.5, height=0.7)
        axes.plot(read, height, "o", color=style.OURS, markersize=7, markerfacecolor=style.GROUND)
        axes.plot(claim["value"], height, "o", color=style.OURS, markersize=7)
        end = max(read, claim["value"], most)
        axes.annotate(claim["measured"].split("after ")[-1], (end, height), (9, 0),
                      textcoords="offset points", va="center", fontsize=8.5)  # fmt: skip
    axes.set_yticks(range(len(rows)), [claim["id"] for claim in rows])
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1.5), xticks=(0, 1 / 3, 1 / 2, 1), xticklabels=("0", "1/3", "1/2", "1"))
    axes.set_xlabel("iterations of the paper's method, as a share of the other's")
    holds = sum(claim["verdict"] == "holds" for claim in rows)
    title = f"{holds} of {len(rows)} races end within the paper's bound, grey, however counted"
    style.headline(picture, title)
    save(picture, stem)
    return {"stem": stem.name, "alt": title}


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
    """Write a picture as PDF, and as PNG, light and dark."""
    picture.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    style.save(picture, Path(f"{stem}.png"), DPI)
