"""Run optax optimisers from the same start with the same number of gradients, in a plain loop.

And ``minimize_many``: the same start with many seeds, in one compiled call.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import optax

import unsaddle.jax
import unsaddle.optax
from benchmarks.escapes.problem import Course, Problem, table
from unsaddle import Outcome
from unsaddle.core.phases import START
from unsaddle.escapes.jump import JUMP
from unsaddle.jax.transform import stepped

RUNNERS: dict[str, Callable[[Problem], Any]] = {
    "optax sgd": lambda p: optax.sgd(0.1, momentum=0.9),
    "optax adam": lambda p: optax.adam(0.01),
    "escape(adam)": lambda p: unsaddle.optax.escape(optax.adam(0.01), **p.constants),
    "ancgd": lambda p: unsaddle.optax.ancgd(**p.constants),
}
gradient = cache(jax.grad)  # the same function for the same loss, which is compiled once
HOLDS = {1: True, 0: False, -1: None}


def run(problem: Problem, runner: str) -> Course:
    """Run one optimiser until its gradients are spent or it has certified a minimum.

    Args:
        problem: Where, and how many gradients there are.
        runner: A name from RUNNERS.

    Returns:
        Its course, and whether an independent certificate holds where it ended.
    """
    with jax.enable_x64(True):
        tx = optax.with_extra_args_support(RUNNERS[runner](problem))
        data = tuple(jnp.asarray(u) for u in problem.data)
        params = [jnp.asarray(u) for u in problem.start]
        state = tx.init(params)

        @jax.jit
        def step(params: Any, state: Any) -> Any:
            value, slope = jax.value_and_grad(problem.loss)(params, *data)
            updates, state = tx.update(slope, state, params, value=value)
            return optax.apply_updates(params, updates), state, value

        losses: list[float] = []
        jumps: list[int] = []
        certified = False
        while len(losses) < problem.gradients and not certified:
            before = phase(state)
            params, state, value = step(params, state)
            losses.append(float(value))
            if (before, phase(state)) == (JUMP, START):
                jumps.append(len(losses))
            certified = unsaddle.optax.outcome(state) is Outcome.CERTIFIED
        end = unsaddle.optax.iterate(state, params)
        tol = problem.curvature_tol
        verdict = unsaddle.jax.certify(gradient(problem.loss), end, data, curvature_tol=tol)
        return Course(losses, jumps, float(problem.loss(end, *data)), HOLDS[int(verdict.holds)])


def phase(state: Any) -> int | None:
    """Give the phase that waits for an answer, if the optimiser has any."""
    found = stepped(state)
    return int(found[0].kernel.phase) if found else None


def many(problem: Problem, seeds: int) -> unsaddle.jax.Many:
    """Run ``ancgd`` with many seeds, and fetch all ends."""
    with jax.enable_x64(True):
        found = unsaddle.jax.minimize_many(
            problem.loss,
            [jnp.asarray(u)[None] for u in problem.start],
            tuple(jnp.asarray(u) for u in problem.data),
            "ancgd",
            jnp.arange(seeds),
            problem.gradients,
            **problem.constants,
        )
        return jax.device_get(found)


def show(problem: Problem) -> dict[str, Course]:
    """Run all optimisers on one problem, and print the table.

    Args:
        problem: Where.

    Returns:
        The courses.
    """
    courses = {runner: run(problem, runner) for runner in RUNNERS}
    print(table({problem.name: courses}))
    return courses
