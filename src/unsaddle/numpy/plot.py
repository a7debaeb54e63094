"""``plot``: a run as a picture; value and gradient norm, searches as bands, events labelled."""

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsaddle.certificate import rounded_up
from unsaddle.core.phases import BEGIN, REPORT, PhaseName
from unsaddle.style import CERTIFIED, OURS, SECOND, SOFT, THEIRS

MISSING = "matplotlib is missing: plot needs the extra `plot`; type pip install 'unsaddle[plot]'"


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    labels: int = 6  # 1 and up: more events than these have marks, but no words
    grid: int = 120  # points to a side, 20 and up: contours are smooth, and take a moment
    margin: float = 0.35  # of the path's extent, above 0: what is drawn around it


TUNING = Tuning()


class Curve(NamedTuple):
    """A history, by the number of gradients so far."""

    gradients: NDArray[np.float64]
    value: NDArray[np.float64]  # above the lowest
    norm: NDArray[np.float64]
    searching: NDArray[np.bool_]


def plot(result: Any, fun: Callable[..., Any] | None = None, *, figure: Any = None) -> Any:
    """Draw a run: value and gradient norm over gradients, searches as bands, what was found.

    Args:
        result: What ``minimize`` gave.
        fun: The function, or a landscape: for two variables its contours are drawn below the path.
        figure: A figure of matplotlib to draw on; a new one if not given.

    Returns:
        The figure, ``plot(result).savefig("run.png")``. Colours of text and ground are those that
        matplotlib is set to, light or dark.

    Raises:
        ImportError: If matplotlib is missing.
        TypeError: If it is not a result.
        ValueError: If it has no history.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(MISSING) from error
    if not hasattr(result, "history"):
        raise TypeError(f"plot takes what minimize gave, got {type(result).__name__}: pass result")
    if not len(result.history.phase):
        raise ValueError("result has no history to plot: run it with history=True")
    flat = getattr(result.history, "path", None)
    wide = flat is not None and len(flat) > 0
    size = (10.5, 4.8) if wide else (7.0, 4.8)
    figure = pyplot.figure(figsize=size, layout="constrained") if figure is None else figure
    grid = figure.add_gridspec(2, 2 if wide else 1)
    above = figure.add_subplot(grid[0, 0])
    below = figure.add_subplot(grid[1, 0], sharex=above)
    _curves(above, below, result)
    if wide:
        _path(figure.add_subplot(grid[:, 1]), result, np.asarray(flat), fun)
    return figure


def as_svg(result: Any) -> str:
    """Give the picture of a run as a piece of HTML, and leave nothing open."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "unsaddle", "font.size": 8}):
        wide = result.history.path is not None
        figure = Figure(figsize=(8.0 if wide else 6.0, 3.4), layout="constrained")
        FigureCanvasSVG(figure)
        plot(result, figure=figure).savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]


def curve_of(result: Any) -> Curve:
    """Give the history as curves; a value that was not asked for is as the one before."""
    history = result.history
    known = np.isfinite(history.value)
    last = np.maximum.accumulate(np.where(known, np.arange(known.size), 0))
    value = history.value[last]
    value = np.where(np.isfinite(value), value, np.nan)
    lowest = np.nanmin(value) if known.any() else 0.0
    codes = [_code(name) for name in history.phase.tolist()]
    searching = np.array([BEGIN <= code < REPORT for code in codes], bool)
    gradients = np.cumsum(~np.isnan(history.gradient_norm)).astype(float)
    return Curve(gradients, value - lowest, history.gradient_norm, searching)


def _code(name: str) -> int:
    """Give the number of a phase by its name."""
    return REPORT if name == "report" else PhaseName[name.removeprefix("proof ").upper()].value


def _curves(above: Any, below: Any, result: Any) -> None:
    """Draw value and gradient norm, bands and events."""
    curve = curve_of(result)
    ink = above.xaxis.label.get_color()
    positive = (curve.value > 0) & ~curve.searching
    seen = np.isfinite(curve.norm) & (curve.norm > 0) & ~curve.searching
    dense = curve.gradients.size > 200
    style = {"color": OURS, "linewidth": 1.4, "marker": "" if dense else ".", "markersize": 5}
    above.plot(curve.gradients[positive], curve.value[positive], **style)
    below.plot(curve.gradients[seen], curve.norm[seen], **style)
    for axes, name in ((above, "value above the lowest"), (below, "gradient norm")):
        axes.set_yscale("log")
        axes.set_ylabel(name)
        axes.spines[["top", "right"]].set_visible(False)
        for begin, end in _bands(curve):
            axes.axvspan(begin, end, color=SECOND, alpha=0.25, linewidth=0)
    tol = result.parameters.tolerance
    if tol > 0 and not seen.any():  # every gradient of the descent was zero
        below.set_ylim(tol / 100, tol * 100)
    if tol > 0:
        below.axhline(tol, color=ink, linewidth=0.8, linestyle=":")
        below.annotate("tol", (1, tol), (-2, 3), xycoords=("axes fraction", "data"),
                       textcoords="offset points", ha="right", fontsize="small")  # fmt: skip
    below.set_xlabel("gradients; bands: searching for negative curvature")
    above.tick_params(labelbottom=False)
    _events(above, result, curve)


def _bands(curve: Curve) -> list[tuple[float, float]]:
    """Give from which gradient to which a search lasted."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], curve.searching, [0]]).astype(int)))
    last = curve.gradients.size - 1
    return [
        (float(curve.gradients[max(begin - 1, 0)]), float(curve.gradients[min(end - 1, last)]))
        for begin, end in edges.reshape(-1, 2)
    ]


def _events(axes: Any, result: Any, curve: Curve) -> None:
    """Mark what happened, and say it in words where there is room."""
    events = [event for event in result.history.events if event.kind in ("jump", "end")]
    labelled = {id(event) for event in events[-TUNING.labels :]}
    last = curve.gradients.size - 1
    for place, event in enumerate(events):
        at = curve.gradients[min(event.query, last)] if last >= 0 else 0.0
        ends = event.kind == "end"
        colour = (CERTIFIED if result.success else THEIRS) if ends else THEIRS
        axes.axvline(at, color=colour, linewidth=1.0, linestyle="-" if ends else "--")
        if id(event) in labelled:
            words = _end(result) if ends else f"saddle left:\ncurvature {event.curvature:.2g}"
            side = "right" if ends or at > 0.6 * curve.gradients[last] else "left"
            room = -4 if side == "right" else 4
            axes.annotate(
                words, (at, 1.0 - 0.17 * (place % 3)), (room, -3),
                xycoords=("data", "axes fraction"), textcoords="offset points",
                ha=side, va="top", fontsize="small", color=colour,
            )  # fmt: skip


def _end(result: Any) -> str:
    """Say how it ended."""
    shown = result.certificate
    if shown.holds and shown.free == 0:
        return f"{result.outcome.name.lower()}:\nno variable is free"
    if shown.holds:
        return (
            f"{result.outcome.name.lower()}: no curvature\nbelow -{rounded_up(shown.curvature_tol)}"
        )
    if shown.holds is False:
        return f"{result.outcome.name.lower()}:\ncurvature {shown.curvature:.2g}"
    return result.outcome.name.lower().replace("_", " ")


def _path(axes: Any, result: Any, path: NDArray[np.float64], fun: Any) -> None:
    """Draw the path of two variables, on contours if the function is given."""
    if hasattr(result, "x_scale"):
        path = path * result.x_scale
    low, high = path.min(axis=0), path.max(axis=0)
    room = TUNING.margin * max(float((high - low).max()), 1e-12 + 1e-3 * float(abs(path).max()))
    low, high = low - room, high + room
    value = getattr(fun, "value", fun)
    if callable(value):
        sides = [np.linspace(low[i], high[i], TUNING.grid) for i in (0, 1)]
        with np.errstate(all="ignore"):
            height = np.array([[_height(value, u, v) for u in sides[0]] for v in sides[1]])
        finite = height[np.isfinite(height)]
        if finite.size and finite.max() > finite.min():
            shares = np.linspace(0, 1, 18) ** 2
            levels = np.unique(finite.min() + shares * (np.quantile(finite, 0.95) - finite.min()))
            axes.contour(*sides, height, levels, colors=SOFT, linewidths=0.7, alpha=0.8)
    axes.plot(*path.T, color=OURS, linewidth=1.8)
    axes.plot(*path[0], "o", color=axes.xaxis.label.get_color(), markersize=7, label="start")
    left = [event for event in result.history.events if event.kind == "curvature"]
    for place, event in enumerate(left):
        words = None if place else f"saddle: curvature {event.curvature:.2g}"
        axes.plot(*path[event.query - 1], "X", color=THEIRS, markersize=10, label=words)
    colour = CERTIFIED if result.success else THEIRS
    axes.plot(*result.x, "o", color=colour, markersize=9, label=_end(result).replace("\n", " "))
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x[0]", ylabel="x[1]")
    axes.legend(frameon=False, fontsize="small", loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)


def _height(value: Any, u: float, v: float) -> float:
    """Give the value at a point of the grid; NaN where the function fails."""
    try:
        answer = value(np.array([u, v]))
        return float(answer[0] if isinstance(answer, tuple) else answer)
    except Exception:
        return float("nan")
