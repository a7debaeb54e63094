"""Draw saddle.png: where SciPy's L-BFGS-B stops, and where unsaddle goes from the same start."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import unsaddle
from unsaddle import style
from unsaddle.certificate import rounded_up

START = np.array([1.0, 0.0])


def value(x: np.ndarray) -> float:
    """Give f = x^2/2 - y^2/2 + y^4/4: a saddle at the origin, minima at (0, +-1)."""
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4


def gradient(x: np.ndarray) -> np.ndarray:
    """Give its gradient."""
    return np.array([x[0], x[1] ** 3 - x[1]])


def label(
    axes: Any, point: np.ndarray, text: str, at: tuple[float, float], marker: str, colour: str
) -> None:
    """Put a marker at a point, and a text that a line joins to it."""
    x, y = point
    axes.plot(x, y, marker, color=colour, markersize=14, markeredgecolor=style.GROUND, zorder=5)
    line = {"arrowstyle": "-", "color": colour, "shrinkB": 7, "relpos": (0, 0.5)}
    axes.annotate(text, (x, y), at, arrowprops=line, va="center", color=colour, linespacing=1.4,
                  path_effects=style.halo())  # fmt: skip


def main() -> None:
    """Run both and draw."""
    theirs, ours = [START], [START]
    scipy = minimize(value, START, jac=gradient, method="L-BFGS-B", callback=theirs.append)
    result = unsaddle.minimize(value, START, jac=gradient, callback=ours.append)
    side = np.sign(result.x[1])  # of the minimum it found
    figure, axes = style.begin().subplots(figsize=(7.2, 4.4), layout="constrained")
    x, y = np.meshgrid(np.linspace(-1.25, 2.05, 331), np.linspace(-1.4, 1.4, 281))
    levels = -0.25 + 2.4 * np.linspace(0, 1, 19) ** 2
    height = value(np.array([x, y]))
    axes.contour(x, y, height, levels, colors=style.FAINT, linewidths=0.8, linestyles="solid")
    axes.plot(*np.array(theirs).T, color=style.THEIRS, linewidth=7, alpha=0.4)
    axes.plot(*np.array(ours).T, color=style.OURS, linewidth=2.2)
    arrow = {"arrowstyle": "-|>,head_width=0.35", "color": style.OURS}
    for tip, tail in (((0.5, 0.0), (0.6, 0.0)), ((0.0, 0.62 * side), (0.0, 0.52 * side))):
        axes.annotate("", tip, tail, arrowprops=arrow)
    axes.plot(*START, "o", color=style.INK, markersize=8, markeredgecolor=style.GROUND)
    axes.annotate("start", (1, 0), (0, 9), textcoords="offset points", ha="center")
    text = f"SciPy's L-BFGS-B stops on the saddle:\nsuccess={scipy.success}, f = {scipy.fun:g}"
    label(axes, scipy.x, text, (0.42, -0.62 * side), "X", style.THEIRS)
    gamma = rounded_up(result.certificate.curvature_tol)
    text = f"unsaddle goes on to a minimum:\nno curvature below -{gamma}, f = {result.fun:.3g}"
    label(axes, result.x, text, (0.42, side), "o", style.OURS)
    axes.set(xlabel="x", ylabel="y", xticks=[-1, 0, 1, 2], yticks=[-1, 0, 1])
    axes.spines[:].set_visible(False)
    style.headline(figure, "From the same start: one stops where the gradient is zero, one goes on")
    style.save(figure, Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
