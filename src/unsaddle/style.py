"""One style for all pictures: what a colour means, one size of type, and a dark twin of each.

The hues are those of Okabe and Ito, which all readers can tell apart. A picture is drawn
once, in the light colours of ``DARK``; ``save`` writes it, and again with each colour's dark twin.
matplotlib is imported when something is drawn, and not before.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

OURS, SECOND = "#0072b2", "#56b4e9"  # unsaddle, or the paper's method; another line of the same
THEIRS = "#d55e00"  # what it is compared with, and the saddle where that stays
CERTIFIED = "#009e73"  # a certified end
INK, SOFT, FAINT, GROUND = "#222222", "#777777", "#c8c8c8", "#ffffff"  # text, the others, contours
PALETTE = (OURS, THEIRS, CERTIFIED, "#cc79a7", "#b58900", SECOND, INK, SOFT, "#6a3d9a")
DARK = {  # the twin of each colour on a dark page
    OURS: "#4db2ec", SECOND: "#a6d9f7", THEIRS: "#f5945a", CERTIFIED: "#35c79c",
    INK: "#e6eaed", SOFT: "#9aa4ac", FAINT: "#46505a", GROUND: "#15191e",
    "#cc79a7": "#dd9bc1", "#b58900": "#d9b13b", "#6a3d9a": "#b195dd",
}  # fmt: skip
SIZE = 10.5  # of type, in points; small type is 8.5
PIXELS = 96  # of a page to an inch: type has one size on a page that shows every picture so
STYLE: dict[Any, Any] = {
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
}
COLOURED = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


def begin() -> Any:
    """Set the style, for pictures that go to files, and give pyplot."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(STYLE)
    return pyplot


def halo(ground: str = GROUND) -> list[Any]:
    """Give the path effect that keeps a label legible on top of lines."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.5, foreground=ground)]


def headline(figure: Any, words: str) -> None:
    """Write what a picture shows above it, at its left."""
    figure.suptitle(words, x=0.01, ha="left", fontsize=SIZE + 1.5, fontweight="bold")


def name_ends(
    axes: Any, ends: Mapping[str, tuple[float, str]], x: float | None = None, gap: float = 0.06,
    bold: Iterable[str] = (),
) -> None:  # fmt: skip
    """Write names to the right of lines, each as high as its line ends, none over another.

    Args:
        axes: The axes, with their limits and scales set.
        ends: The value at which each line ends, and its colour.
        x: Where the lines end; at the right of the axes if not given.
        gap: The least distance of two names, as a share of the axes' height.
        bold: The names to set in bold.
    """
    left, right = axes.get_xlim()
    place = (axes.transData + axes.transAxes.inverted()).transform
    order = sorted(ends, key=lambda name: ends[name][0])
    heights = apart([float(place((left, ends[name][0]))[1]) for name in order], gap)
    end = float(place((right if x is None else x, axes.get_ylim()[0]))[0])
    for name, height in zip(order, heights, strict=True):
        axes.annotate(
            name, (end, height), (6, 0), xycoords="axes fraction", textcoords="offset points",
            va="center", fontsize=8.5, color=ends[name][1], annotation_clip=False,
            fontweight="bold" if name in bold else "normal",
        )  # fmt: skip


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Move ascending heights as little as keeps them this far apart, each cluster about its mean.

    What is left of each after ``gap`` times its place is made ascending by pooling (isotonic
    regression).

    Returns:
        The heights, ascending.
    """
    pools: list[list[float]] = []
    for place, height in enumerate(heights):
        pools.append([height - place * gap])
        while len(pools) > 1 and mean(pools[-2]) > mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = [mean(pool) for pool in pools for _ in pool]
    return [each + place * gap for place, each in enumerate(level)]


def save(figure: Any, path: Path, dpi: int = 2 * PIXELS) -> None:
    """Write a picture as PNG, light and dark, with nothing in it that differs from run to run."""
    about: dict[str, Any] = {"dpi": dpi, "metadata": {"Software": None}}
    figure.savefig(path, **about)
    darken(figure)
    figure.savefig(path.with_stem(f"{path.stem}-dark"), **about)
    begin().close(figure)


def darken(figure: Any) -> None:
    """Change each colour of a picture, drawn before, to its dark twin."""
    found = figure.findobj()
    arrows = [it.arrow_patch for it in found if getattr(it, "arrow_patch", None) is not None]
    for artist in (*found, *arrows):
        for name in COLOURED:
            get, assign = (getattr(artist, f"{verb}_{name}", None) for verb in ("get", "set"))
            if get and assign and (changed := twin(get())) is not None:
                assign(changed)
        if artist.get_path_effects():
            artist.set_path_effects(halo(DARK[GROUND]))


def twin(colour: Any) -> Any:
    """Give the dark twin of a colour, or of each in an array; None of what has none."""
    from matplotlib.colors import to_hex, to_rgba, to_rgba_array

    if isinstance(colour, str) and colour in ("auto", "none", "inherit"):
        return None
    rows = to_rgba_array(colour)
    changed = [(*to_rgba(DARK.get(to_hex(row), to_hex(row)))[:3], row[3]) for row in rows]
    return (changed[0] if len(changed) == 1 else changed) if changed else None
