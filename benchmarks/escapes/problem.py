"""What the examples share: a loss at a saddle, and where the optimisers that start there end."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray
WORDS = {True: "minimum", False: "saddle", None: "not certified"}
STYLES: dict[str, dict[str, Any]] = {
    "SGD": {"color": "#bbbbbb", "linewidth": 6},
    "Adam": {"color": "#56b4e9", "linewidth": 3.5},
    "LBFGS": {"color": "black", "linewidth": 1, "linestyle": "--"},
    "Escape(Adam)": {"color": "#d55e00", "linewidth": 2},
    "ANCGD": {"color": "#009e73", "linewidth": 2},
    "psd-optimizer PSD": {"color": "#cc79a7", "linewidth": 1.5},
    "psd-optimizer PerturbedAdam": {"color": "#7b4fa0", "linewidth": 1.5, "linestyle": ":"},
    "pytorch-minimize bfgs": {"color": "#e6ab02", "marker": "x", "markersize": 9},
    "pytorch-minimize newton-cg": {"color": "#a6761d", "marker": "+", "markersize": 11},
    "pytorch-minimize newton-exact": {"color": "#666666", "marker": "1", "markersize": 12},
    "pytorch-minimize trust-exact": {"color": "#0072b2", "marker": "s", "markersize": 5},
}  # a marker is where it takes itself to have arrived
LIKE = {"optax sgd": "SGD", "optax adam": "Adam", "escape(adam)": "Escape(Adam)", "ancgd": "ANCGD"}


class Problem(NamedTuple):
    """A loss at a saddle, for any backend, and what is known of it."""

    name: str
    start: list[Array]  # the saddle
    data: tuple[Array, ...]
    loss: Callable[..., Any]  # of a list like start and the data, as arrays of the backend
    constants: dict[str, Any]
    gradients: int  # how many each optimiser may take

    @property
    def curvature_tol(self) -> float:
        """What the independent certificate is asked for, sqrt(rho eps)."""
        return (self.constants["hessian_lipschitz"] * self.constants["tol"]) ** 0.5


class Course(NamedTuple):
    """What one optimiser did."""

    losses: list[float]  # at every gradient
    jumps: list[int]  # when an escape jumped
    end: float  # the loss at the end
    holds: bool | None  # whether the end is a minimum, as certified


Courses = dict[str, dict[str, Course]]  # of a problem, of an optimiser


def table(courses: Courses) -> str:
    """Give the ends of all courses as a Markdown table."""
    rows = [
        "| problem | optimiser | gradients | loss at the end | there |",
        "|---|---|---|---|---|",
    ]
    for problem, each in courses.items():
        for runner, course in each.items():
            rows.append(
                f"| {problem} | {runner} | {len(course.losses)} | {course.end:.3g} "
                f"| {WORDS[course.holds]} |"
            )
    return "\n".join(rows)


def picture(courses: Courses, path: str) -> None:
    """Draw the lowest losses over the gradients, with the jumps of Escape marked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(courses), figsize=(4.4 * len(courses), 4.3))
    for axis, (problem, each) in zip(axes, courses.items(), strict=True):
        for runner, course in each.items():
            style = {"linewidth": 1.2, "markevery": [-1], **STYLES[LIKE.get(runner, runner)]}
            lowest = np.minimum.accumulate(course.losses)  # without probes and trials of a jump
            axis.plot(range(1, len(lowest) + 1), lowest, label=runner, **style)
            heights = [lowest[at - 1] for at in course.jumps]
            mark = {"color": style["color"], "edgecolor": "black", "marker": "v", "zorder": 9}
            axis.scatter(course.jumps, heights, s=70, **mark)
        axis.scatter([], [], color="white", edgecolor="black", marker="v", s=70, label="jump")
        axis.set(title=problem, xlabel="gradients", xscale="log")
        axis.margins(y=0.1)
    axes[0].set_ylabel("lowest loss so far")
    names = axes[0].get_legend_handles_labels()
    figure.legend(*names, loc="lower center", ncols=4, fontsize=9)
    figure.tight_layout(rect=(0, 0.07 * -(-len(names[0]) // 4), 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
