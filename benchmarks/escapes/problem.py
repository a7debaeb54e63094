"""What the examples share: a loss at a saddle, and where the optimisers that start there end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unsaddle import style

Array = np.ndarray
WORDS = {True: "minimum", False: "saddle", None: "not certified"}
PLAIN, OTHERS = {"color": style.THEIRS, "linewidth": 1.6}, {"color": style.SOFT, "linewidth": 1.0}
STYLES: dict[str, dict[str, Any]] = {  # unsaddle is blue, what everybody has orange, others grey
    "SGD": {**PLAIN, "linewidth": 5, "alpha": 0.4},
    "Adam": PLAIN,
    "LBFGS": {**PLAIN, "linestyle": "--"},
    "Escape(Adam)": {"color": style.OURS, "linewidth": 2.6},
    "ANCGD": {"color": style.SECOND, "linewidth": 2},
    "psd-optimizer PSD": OTHERS,
    "psd-optimizer PerturbedAdam": {**OTHERS, "linestyle": ":"},
    "pytorch-minimize bfgs": {**OTHERS, "marker": "x", "markersize": 7},
    "pytorch-minimize newton-cg": {**OTHERS, "marker": "+", "markersize": 9},
    "pytorch-minimize newton-exact": {**OTHERS, "marker": "1", "markersize": 10},
    "pytorch-minimize trust-exact": {**OTHERS, "marker": "s", "markersize": 5},
}  # a marker is where its own test says that it is done
OWN = (style.OURS, style.SECOND)
NAMED = (*OWN, style.THEIRS)  # at the line; the others in the legend
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
    """Draw the lowest losses over the gradients, with the jumps and certified ends marked."""
    size = (7.2, 4.2 if len(next(iter(courses.values()))) > len(LIKE) else 3.6)
    figure, axes = style.begin().subplots(1, len(courses), figsize=size, layout="constrained")
    for axis, (problem, each) in zip(axes, courses.items(), strict=True):
        for runner, course in each.items():
            look = {"markevery": [-1], **look_of(runner)}
            lowest = np.minimum.accumulate(course.losses)  # without probes and trials of a jump
            named = {} if look["color"] in NAMED else {"label": runner}
            axis.plot(range(1, len(lowest) + 1), lowest, **named, **look)
            heights = [lowest[at - 1] for at in course.jumps]
            mark = {"color": look["color"], "edgecolor": style.INK, "marker": "v", "zorder": 9}
            axis.scatter(course.jumps, heights, s=50, **mark)
            if look["color"] in OWN and course.holds:
                axis.scatter([len(lowest)], lowest[-1:], s=40, color=style.CERTIFIED, zorder=9)
        axis.scatter([], [], color=style.GROUND, edgecolor=style.INK, marker="v", label="jump")
        axis.scatter([], [], s=40, color=style.CERTIFIED, label="certified: it stops")
        axis.set(title=problem, xlabel="gradients", xscale="log")
        axis.margins(y=0.24)
        name_lines(axis, each)
    axes[0].set_ylabel("lowest loss so far")
    ends = [course.holds is True for each in courses.values() for runner, course in each.items()
            if LIKE.get(runner, runner) == "Escape(Adam)"]  # fmt: skip
    style.headline(
        figure, f"Escape around Adam leaves {sum(ends)} of {len(ends)} saddles; Adam stays"
    )
    names = axes[0].get_legend_handles_labels()
    figure.legend(*names, loc="outside lower center", ncols=3)
    style.save(figure, Path(path))


def name_lines(axis: Any, each: dict[str, Course]) -> None:
    """Name unsaddle's lines below their ends, and above the saddle those that stay there."""
    ours = {runner: course for runner, course in each.items() if look_of(runner)["color"] in OWN}
    stay = [runner for runner in each if look_of(runner)["color"] == style.THEIRS]
    beside = {"textcoords": "offset points", "fontsize": 8.5, "annotation_clip": False}
    for row, (runner, course) in enumerate(ours.items()):
        end, below = (len(course.losses), min(course.losses)), (4, -14 - 11 * row)
        bold = {"color": look_of(runner)["color"], "fontweight": "normal" if row else "bold"}
        axis.annotate(runner, end, below, ha="right", **bold, **beside)
    top = each[stay[0]]
    axis.annotate(
        ", ".join(name.removeprefix("optax ") for name in stay), (len(top.losses), top.losses[0]),
        (0, 7), ha="right", color=style.THEIRS, **beside,
    )  # fmt: skip


def look_of(runner: str) -> dict[str, Any]:
    """Give how an optimiser's line looks."""
    return STYLES[LIKE.get(runner, runner)]
