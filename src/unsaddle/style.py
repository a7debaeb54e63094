"""One style for all pictures: what a colour means, one size of type, and a dark twin of each.

The hues are those of Okabe and Ito, which colour-blind readers can tell apart. A picture is drawn
once, in the light colours of ``DARK``; ``save`` writes it, and again with each colour's dark twin.
matplotlib is imported when something is drawn, and not before.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
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
    axes: Any, ends: Mapping[str, tuple[float, str]], gap: float = 0.06, bold: Iterable[str] = ()
) -> None:
    """Write names to the right of the axes, each as high as its line ends, none over another.

    Args:
        axes: The axes, with their limits and scales set.
        ends: The value at which each line ends, and its colour.
        gap: The least distance of two names, as a share of the axes' height.
        bold: The names to set in bold.
    """
    place = (axes.transData + axes.transAxes.inverted()).transform
    left = axes.get_xlim()[0]
    heights = {name: float(place((left, end))[1]) for name, (end, _) in ends.items()}
    order = sorted(ends, key=lambda name: heights[name])
    spread: list[float] = []
    for name in order:
        spread.append(max(heights[name], spread[-1] + gap if spread else 0.0))
    over = max(0.0, spread[-1] - 1.0)
    for place_, name in zip(reversed(range(len(order))), reversed(order), strict=True):
        above = spread[place_ + 1] - gap if place_ + 1 < len(order) else 1.0
        spread[place_] = min(spread[place_], above) if over else spread[place_]
        axes.annotate(
            name, (1.0, spread[place_]), (6, 0), xycoords="axes fraction",
            textcoords="offset points", va="center", fontsize=8.5, color=ends[name][1],
            fontweight="bold" if name in bold else "normal", annotation_clip=False,
        )  # fmt: skip


def save(figure: Any, path: Path, dpi: int = 2 * PIXELS) -> None:
    """Write a picture as PNG, light and dark, with nothing in it that differs from run to run."""
    about: dict[str, Any] = {"dpi": dpi, "metadata": {"Software": None}}
    figure.savefig(path, **about)
    darken(figure)
    figure.savefig(path.with_stem(f"{path.stem}-dark"), **about)
    begin().close(figure)


def darken(figure: Any) -> None:
    """Change each colour of a picture, drawn before, to its dark twin."""
    for artist in figure.findobj():
        for name in COLOURED:
            get, put = (getattr(artist, f"{verb}_{name}", None) for verb in ("get", "set"))
            if get and put and (changed := twin(get())) is not None:
                put(changed)
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
