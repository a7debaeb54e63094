"""Draw saddle.png: where SciPy's L-BFGS-B stops, and where unsaddle goes from the same start."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from scipy.optimize import minimize

import unsaddle
from unsaddle.certificate import rounded_up

START = np.array([1.0, 0.0])
BLUE, VERMILLION, INK = "#0072b2", "#d55e00", "#222222"  # the first two of Okabe and Ito's palette
SHADES, LINES = ("#ebebeb", "#ffffff"), "#bdbdbd"  # of the landscape, from its bottom up


def value(x: np.ndarray) -> float:
    """Give f = x^2/2 - y^2/2 + y^4/4: a saddle at the origin, minima at (0, +-1)."""
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4


def gradient(x: np.ndarray) -> np.ndarray:
    """Give its gradient."""
    return np.array([x[0], x[1] ** 3 - x[1]])


def label(
    axes: Axes, point: np.ndarray, text: str, at: tuple[float, float], marker: str, colour: str
) -> None:
    """Put a marker at a point, and beside it a boxed text that a line joins to it."""
    x, y = point
    axes.plot(x, y, marker, color=colour, markersize=14, markeredgecolor="white", zorder=5)
    box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": colour}
    line = {"arrowstyle": "-", "color": colour, "shrinkB": 7, "relpos": (0, 0.5)}
    axes.annotate(text, (x, y), at, bbox=box, arrowprops=line, va="center", linespacing=1.4)


def main() -> None:
    """Run both and draw."""
    theirs, ours = [START], [START]
    scipy = minimize(value, START, jac=gradient, method="L-BFGS-B", callback=theirs.append)
    result = unsaddle.minimize(value, START, jac=gradient, callback=ours.append)
    side = np.sign(result.x[1])  # of the minimum it found
    plt.rcParams.update({"font.size": 11.5, "text.color": INK, "axes.labelcolor": INK})
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    x, y = np.meshgrid(np.linspace(-1.25, 2.05, 331), np.linspace(-1.4, 1.4, 281))
    height = value(np.array([x, y]))
    levels = -0.25 + 2.4 * np.linspace(0, 1, 19) ** 2
    axes.contourf(x, y, height, levels, cmap=LinearSegmentedColormap.from_list("", SHADES))
    axes.contour(x, y, height, levels, colors=LINES, linewidths=0.8, linestyles="solid")

    axes.plot(*np.array(theirs).T, color=VERMILLION, linewidth=7, alpha=0.4)
    axes.plot(*np.array(ours).T, color=BLUE, linewidth=2.2)
    arrow = {"arrowstyle": "-|>,head_width=0.35", "color": BLUE}
    for tip, tail in (((0.5, 0.0), (0.6, 0.0)), ((0.0, 0.62 * side), (0.0, 0.52 * side))):
        axes.annotate("", tip, tail, arrowprops=arrow)
    axes.plot(*START, "o", color=INK, markersize=8, markeredgecolor="white")
    axes.annotate("start", (1, 0), (0, 9), textcoords="offset points", ha="center")

    text = f"SciPy, L-BFGS-B: stops on the saddle\nsuccess={scipy.success},  $f = {scipy.fun:g}$"
    label(axes, scipy.x, text, (0.42, -0.62 * side), "X", VERMILLION)
    claim = f"$\\lambda_{{\\min}} > -{rounded_up(result.certificate.curvature_tol)}$"
    text = f"unsaddle: goes on to a minimum\ncertified: {claim},  $f = {result.fun:.3g}$"
    label(axes, result.x, text, (0.42, side), "o", BLUE)
    axes.set(xlabel="x", ylabel="y", xticks=[-1, 0, 1, 2], yticks=[-1, 0, 1])
    axes.spines[:].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=200, metadata={"Software": None})


if __name__ == "__main__":
    main()
