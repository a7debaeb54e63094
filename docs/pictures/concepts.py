"""Draw the pictures of docs/concepts.md: ``python docs/pictures/concepts.py``."""

from pathlib import Path
from typing import Any

import numpy as np

import unsaddle
from unsaddle import style

HERE = Path(__file__).parent
SADDLE = np.zeros(2)


def value(x: Any) -> Any:
    """Give f = x^2/2 - y^2/2 + y^4/4: a saddle at the origin, minima at (0, +-1)."""
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4


def gradient(x: np.ndarray) -> np.ndarray:
    """Give its gradient."""
    return np.array([x[0], x[1] ** 3 - x[1]])


def sheet(columns: int = 1) -> tuple[Any, Any]:
    """Give a figure with axes that have no frame but their bottom."""
    figure, axes = style.begin().subplots(
        1, columns, figsize=(7.2, 3.3), layout="constrained", squeeze=False
    )
    for each in axes[0]:
        each.spines["left"].set_visible(False)
        each.set_yticks([])
    return figure, axes[0]


def curvature() -> None:
    """Draw f along three directions through the saddle."""
    figure, (axes,) = sheet()
    t = np.linspace(-1.15, 1.15, 201)
    found = unsaddle.certify(gradient, SADDLE)
    across = np.array([found.direction[1], -found.direction[0]])
    for direction, colour, width, words in (
        (
            found.direction,
            style.OURS,
            2.8,
            f"along the direction found: curvature {found.curvature:.2g}",
        ),
        ((found.direction + across) / np.sqrt(2), style.SOFT, 1.2, "half way between: curvature 0"),
        (across, style.SOFT, 1.2, "across it: curvature 1"),
    ):
        line = [value(s * direction) for s in t]
        axes.plot(t, line, color=colour, linewidth=width)
        axes.annotate(words, (t[-1], line[-1]), (6, 0), textcoords="offset points", color=colour,
                      va="center", fontweight="bold" if width > 2 else "normal")  # fmt: skip
    axes.plot(0, 0, "X", color=style.THEIRS, markersize=11)
    line = {"arrowstyle": "-", "color": style.THEIRS, "shrinkB": 8}
    axes.annotate("the saddle:\nthe gradient is 0", (0, 0), (0, 0.42), color=style.THEIRS,
                  ha="center", arrowprops=line)  # fmt: skip
    axes.set(xlim=(-1.2, 2.6), xticks=(-1, 0, 1), xlabel="distance from the saddle", ylabel="f")
    style.headline(
        figure, "Along one direction f falls on both sides, and the gradient says nothing"
    )
    style.save(figure, HERE / "curvature.png")


def certificate() -> None:
    """Draw what a certificate says of the eigenvalues of the Hessian."""
    figure, (axes,) = sheet()
    result = unsaddle.minimize(value, [1.0, 0.0], jac=gradient, curvature_tol=0.25)
    gamma, risk = result.certificate.curvature_tol, result.certificate.failure_probability
    true = np.array([1.0, 3 * result.x[1] ** 2 - 1])
    axes.axvspan(-2.0, -gamma, color=style.OURS, alpha=0.25, linewidth=0)
    axes.axvspan(-gamma, 0, color=style.SOFT, alpha=0.2, linewidth=0)
    for x, y, words, colour in (
        (
            -0.87,
            0.72,
            f"ruled out:\nno eigenvalue here, but\nfor a chance of {risk:.1%}",
            style.OURS,
        ),
        (0.8, 0.4, "grey: not ruled out; f may still\ncurve down by less than gamma", style.SOFT),
        (1.2, 0.78, "nothing is said of these:\nthey curve upwards", style.SOFT),
    ):
        axes.text(x, y, words, color=colour, ha="center", va="center",
                  fontweight="bold" if colour == style.OURS else "normal")  # fmt: skip
    axes.plot(true, [0.05, 0.05], "o", color=style.INK, markersize=8, clip_on=False)
    axes.annotate("the eigenvalues that are there", (1.5, 0.08), (0, 10), ha="center",
                  textcoords="offset points")  # fmt: skip
    axes.set(xlim=(-2.0, 2.4), ylim=(0, 1), xlabel="eigenvalues of the Hessian at x")
    axes.set_xticks([-1, -gamma, 0, 1, 2], ["-1", "-gamma", "0", "1", "2"])
    style.headline(
        figure,
        f"A certificate for gamma = {gamma:g}, from {result.certificate.gradients} gradients",
    )
    style.save(figure, HERE / "certificate.png")


def wells(t: Any) -> Any:
    """Give a function with two minima, one lower than the other."""
    return (t**2 - 1) ** 2 + 0.35 * t


def limits() -> None:
    """Draw two things that a certificate does not say."""
    figure, (left, right) = sheet(2)
    t = np.linspace(-1.45, 1.5, 301)
    result = unsaddle.minimize(
        lambda x: float(wells(x[0])), [1.4], jac=lambda x: 4 * x * (x**2 - 1) + 0.35
    )
    left.plot(t, wells(t), color=style.SOFT)
    left.plot(result.x, wells(result.x), "o", color=style.CERTIFIED, markersize=9)
    left.annotate("certified", (result.x[0], wells(result.x[0])), (0, -12), ha="center", va="top",
                  textcoords="offset points", color=style.CERTIFIED)  # fmt: skip
    lowest = t[np.argmin(wells(t))]
    left.annotate("lower, and elsewhere", (lowest, wells(lowest)), (0, -8), ha="center", va="top",
                  textcoords="offset points")  # fmt: skip
    flat = unsaddle.certify(lambda x: np.array([2 * x[0], -4 * x[1] ** 3]), SADDLE, 0.01)
    assert flat.holds
    assert result.success
    s = np.linspace(-0.85, 0.85, 201)
    right.plot(s, -(s**4), color=style.SOFT)
    right.plot(0, 0, "o", color=style.CERTIFIED, markersize=9)
    right.annotate("certified: the curvature is 0", (0, 0), (0, 10), ha="center",
                   textcoords="offset points", color=style.CERTIFIED)  # fmt: skip
    left.set(xlabel="x", ylim=(-1.1, 1.7), title="there may be a lower minimum", xticks=(-1, 0, 1))
    right.set(xlabel="y, of x² - y⁴", ylim=(-0.5, 0.15), title="f may fall without curvature",
              xticks=(-0.5, 0, 0.5))  # fmt: skip
    style.headline(figure, "Two things that a certificate does not say")
    style.save(figure, HERE / "limits.png")


if __name__ == "__main__":
    curvature()
    certificate()
    limits()
