"""Run torch optimisers from the same start with the same number of gradients."""

import logging
from collections.abc import Callable
from typing import Any

import torch

import unsaddle.torch
from benchmarks.escapes.peers import PEERS, installed
from benchmarks.escapes.problem import Course, Problem, table

Maker = Callable[[list[torch.nn.Parameter], Problem], Any]
RUNNERS: dict[str, Maker] = {
    "SGD": lambda params, p: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    "Adam": lambda params, p: torch.optim.Adam(params, lr=0.01),
    "LBFGS": lambda params, p: torch.optim.LBFGS(params),
    "Escape(Adam)": lambda params, p: unsaddle.torch.Escape(
        torch.optim.Adam(params, lr=0.01), tol=p.constants["tol"]
    ),
    "ANCGD": lambda params, p: unsaddle.torch.ANCGD(params, **p.constants),
    **PEERS,
}


def run(problem: Problem, runner: str) -> Course:
    """Run one optimiser until its gradients are spent or it ends by itself.

    Args:
        problem: Where, and how many gradients there are.
        runner: A name from RUNNERS.

    Returns:
        Its course, and whether an independent certificate holds where it ended.
    """
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.tensor(u)) for u in problem.start]
    data = [torch.tensor(u) for u in problem.data]
    optimiser = RUNNERS[runner](params, problem)
    losses: list[float] = []
    jumps: list[int] = []

    def closure(backward: bool = True) -> torch.Tensor:
        optimiser.zero_grad()
        loss = problem.loss(params, *data)
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
    spent = losses[:]
    holds = unsaddle.torch.certify(closure, params, curvature_tol=problem.curvature_tol).holds
    with torch.no_grad():
        return Course(spent, jumps, float(problem.loss(params, *data)), holds)


def ended(optimiser: Any) -> bool:
    """Say whether an optimiser takes itself to have arrived, or has stopped by itself."""
    certificate = getattr(optimiser, "certificate", None)
    arrived = certificate is not None and bool(certificate.holds)
    return arrived or getattr(optimiser, "done", False)


def show(problem: Problem) -> dict[str, Course]:
    """Run all optimisers that are installed on one problem, and print the table.

    Args:
        problem: Where.

    Returns:
        The courses.
    """
    courses = {runner: run(problem, runner) for runner in RUNNERS if installed(runner)}
    print(table({problem.name: courses}))
    return courses
