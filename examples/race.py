"""Run optimisers from the same start with the same number of gradients, and compare their ends."""

import argparse
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import unsaddle.torch
from examples.peers import runners


class Problem(NamedTuple):
    """A loss at a saddle, and what is known of it."""

    name: str
    params: list[torch.nn.Parameter]
    loss: Callable[[], torch.Tensor]
    constants: dict[str, float]
    gradients: int  # how many each optimiser may take


class Course(NamedTuple):
    """What one optimiser did."""

    losses: list[float]  # at every gradient
    jumps: list[int]  # when an escape jumped
    end: float  # the loss at the end
    holds: bool | None  # whether the end is a minimum, as certified


RUNNERS: dict[str, Callable[[Problem], torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p.params, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p.params, lr=0.01),
    "LBFGS": lambda p: torch.optim.LBFGS(p.params),
    "Escape(Adam)": lambda p: unsaddle.torch.Escape(
        torch.optim.Adam(p.params, lr=0.01), tol=p.constants["tol"]
    ),
    "ANCGD": lambda p: unsaddle.torch.ANCGD(p.params, **p.constants),
}


def run(
    build: Callable[[], Problem], runner: str, maker: Callable[[Problem], Any] | None = None
) -> Course:
    """Run one optimiser until its gradients are spent or it ends by itself.

    Args:
        build: Gives the problem, at its start.
        runner: A name, from RUNNERS unless there is a maker.
        maker: Gives the optimiser.

    Returns:
        Its course, and whether an independent certificate holds where it ended.
    """
    problem = build()
    optimiser = (maker or RUNNERS[runner])(problem)
    losses: list[float] = []
    jumps: list[int] = []

    def closure(backward: bool = True) -> torch.Tensor:
        optimiser.zero_grad()
        loss = problem.loss()
        if backward:
            loss.backward()
        losses.append(float(loss.detach()))
        return loss

    watch = logging.Handler()
    watch.emit = lambda record: (  # type: ignore[method-assign]
        jumps.append(len(losses)) if record.getMessage().startswith("jump") else None
    )
    logger = logging.getLogger("unsaddle")
    level = logger.level
    logger.addHandler(watch)
    logger.setLevel(logging.INFO)
    try:
        while len(losses) < problem.gradients and not ended(optimiser):
            optimiser.step(closure)
    finally:
        logger.removeHandler(watch)
        logger.setLevel(level)
    spent = len(losses)
    gamma = (problem.constants["hessian_lipschitz"] * problem.constants["tol"]) ** 0.5
    holds = unsaddle.torch.certify(closure, problem.params, curvature_tol=gamma).holds
    del losses[spent:]
    with torch.no_grad():
        return Course(losses, jumps, float(problem.loss()), holds)


def ended(optimiser: Any) -> bool:
    """Say whether an optimiser takes itself to have arrived, or has stopped by itself."""
    certificate = getattr(optimiser, "certificate", None)
    arrived = certificate is not None and bool(certificate.holds)
    return arrived or getattr(optimiser, "done", False)


def table(courses: dict[str, dict[str, Course]]) -> str:
    """Give the ends of all courses as a Markdown table."""
    words = {True: "minimum", False: "saddle", None: "not certified"}
    rows = [
        "| problem | optimiser | gradients | loss at the end | there |",
        "|---|---|---|---|---|",
    ]
    for problem, each in courses.items():
        for runner, course in each.items():
            rows.append(
                f"| {problem} | {runner} | {len(course.losses)} | {course.end:.3g} "
                f"| {words[course.holds]} |"
            )
    return "\n".join(rows)


def picture(courses: dict[str, dict[str, Course]], path: str) -> None:
    """Draw the losses over the gradients, with the jumps of Escape marked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    styles: dict[str, Any] = {
        "SGD": {"color": "#999999", "linewidth": 5},
        "Adam": {"color": "#56b4e9", "linewidth": 3},
        "LBFGS": {"color": "black", "linewidth": 1, "linestyle": "--"},
        "Escape(Adam)": {"color": "#d55e00", "linewidth": 1.8},
        "ANCGD": {"color": "#009e73", "linewidth": 1.8},
    }
    figure, axes = plt.subplots(1, len(courses), figsize=(4.2 * len(courses), 3.4))
    for axis, (problem, each) in zip(axes, courses.items(), strict=True):
        for runner, style in styles.items():
            if runner not in each:
                continue
            course = each[runner]
            axis.plot(course.losses, label=runner, **style)
            marks = [(at, course.losses[at - 1]) for at in course.jumps]
            if marks:
                axis.plot(*zip(*marks, strict=True), "kv", markersize=7, label="jump", zorder=9)
        axis.set_title(problem)
        axis.set_xlabel("gradients")
        axis.margins(y=0.1)
    axes[0].set_ylabel("loss")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=len(styles) + 1)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def show(build: Callable[[], Problem]) -> dict[str, Course]:
    """Run all optimisers on one problem and print the table.

    Args:
        build: Gives the problem, at its start.

    Returns:
        The courses.
    """
    courses = {runner: run(build, runner) for runner in RUNNERS}
    courses |= {name: run(build, name, maker) for name, maker in runners().items()}
    print(table({build().name: courses}))
    return courses


def main() -> None:
    """Run all problems, write the table and the picture."""
    from examples import deep_linear_network, matrix_factorisation, mlp_digits

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", default="docs/escapes.md")
    parser.add_argument("--picture", default="docs/pictures/escapes.png")
    arguments = parser.parse_args()
    builders = [module.build for module in (matrix_factorisation, deep_linear_network, mlp_digits)]
    courses = {build().name: show(build) for build in builders}
    with open(arguments.table, "w", encoding="utf-8") as file:
        file.write(
            "# Leaving saddles\n\n"
            "All optimisers start at the same saddle and may take the same number of gradients; a "
            "search or a kick that has begun is finished. Those of unsaddle stop when they have "
            "certified a minimum, those of pytorch-minimize when they take themselves to have "
            "arrived. Where others leave too: psd-optimizer kicks at random, and does not learn "
            "that it has arrived; trust-exact builds the whole Hessian at every step, which the "
            "count of gradients leaves out. The last column is an independent certificate "
            "(`python -m examples.race`).\n\n"
            f"{table(courses)}\n\n![Loss over gradients](pictures/escapes.png)\n"
        )
    picture(courses, arguments.picture)


if __name__ == "__main__":
    main()
