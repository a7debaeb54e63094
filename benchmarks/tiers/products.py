"""Exact products against differences, on the problems of tiers 1 and 2: who certifies more?

    python -m benchmarks.tiers.products [numpy] [jax]     and prints the table of docs/products.md

Every problem is run twice, with ``hessp`` and without. The front end of NumPy runs all of tier 1
and tier 2; its products are JAX's, forward over reverse. The front end of JAX compiles anew for
each problem, which takes seconds: of tier 1 it runs every eighth problem by size. Certificates are
checked by the exact Hessian. The runs are kept in ``benchmarks/results/products.jsonl``.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from unsaddle import minimize

from .__main__ import RESULTS, SEEDS
from .contest import LIMIT, TOL
from .cutest import objectives
from .oracle import Array
from .problems import escape

KEPT = RESULTS / "products.jsonl"
EVERY = 8  # of tier 1 by size, on JAX
COLUMNS = ("tier", "front end", "runs", "certified by differences", "by products", "false",
           "by products alone", "by differences alone")  # fmt: skip


class Function(NamedTuple):
    """A problem as JAX sees it."""

    tier: int
    name: str
    starts: list[Array]  # by seed
    value: Callable[[Any], Any]


class Row(NamedTuple):
    """One run."""

    tier: int
    problem: str
    n: int
    seed: int
    front: str
    products: bool  # whether it had exact ones
    outcome: str
    gamma: float | None  # that is certified
    lowest: float | None  # eigenvalue of the exact Hessian at the end
    gradients: int
    taken: int  # products


def functions() -> Iterator[Function]:
    """Give tier 1, by size, and tier 2."""
    first = [Function(1, name, [x0], f) for name, x0, f in objectives()]
    yield from sorted(first, key=lambda f: (f.starts[0].size, f.name))
    for problem in escape():
        starts = [problem.start(seed) for seed in range(SEEDS)]
        yield Function(2, problem.name, starts, problem.value)


def on_numpy(f: Function, has: bool) -> Callable[[Array, int], tuple[Any, ...]]:
    """Give a run by the front end of NumPy."""
    import jax

    slope = jax.grad(f.value)
    both, along = jax.jit(jax.value_and_grad(f.value)), jax.jit(
        lambda x, p: jax.jvp(slope, (x,), (p,))[1]
    )  # fmt: skip
    hessp = (lambda x, p: np.asarray(along(x, p))) if has else None

    def run(x: Array, seed: int) -> tuple[Any, ...]:
        end = minimize(
            lambda x: tuple(map(np.asarray, both(x))), x, jac=True, tol=TOL, seed=seed,
            max_gradients=LIMIT, hessp=hessp,
        )  # fmt: skip
        gamma = end.certificate.curvature_tol if end.success else None
        return end.outcome.name, gamma, end.x, end.njev, end.nhvp

    return run


def on_jax(f: Function, has: bool) -> Callable[[Array, int], tuple[Any, ...]]:
    """Give a run by the front end of JAX; all seeds share what is compiled."""
    import jax.numpy as jnp

    import unsaddle.jax as front

    def run(x: Array, seed: int) -> tuple[Any, ...]:
        end = front.minimize(
            f.value, jnp.asarray(x), tol=TOL, seed=seed, max_gradients=LIMIT, hessp=has
        )
        gamma = float(end.verdict.curvature_tol) if end.success else None
        return (end.outcome.name, gamma, np.asarray(end.x), int(end.gradients), int(end.products))

    return run


FRONTS = {"numpy": (on_numpy, 1), "jax": (on_jax, EVERY)}


def runs(front: str) -> Iterator[Row]:
    """Run everything on one front end."""
    import jax

    make, every = FRONTS[front]
    for number, f in enumerate(functions()):
        if f.tier == 1 and number % every:
            continue
        hessian, n = jax.jit(jax.hessian(f.value)), f.starts[0].size
        for has in (False, True):
            run = make(f, has)
            for seed, start in enumerate(f.starts):
                outcome, gamma, x, gradients, taken = run(start, seed)
                h = np.asarray(hessian(x))
                lowest = float(np.linalg.eigvalsh(h)[0]) if np.isfinite(h).all() else None
                yield Row(f.tier, f.name, n, seed, front, has, outcome, gamma, lowest,
                          gradients, taken)  # fmt: skip
        jax.clear_caches()


def table(rows: Iterable[Row]) -> list[list[str]]:
    """Give the cells of the table, by tier and front end."""
    every, cells = list(rows), []
    for tier, front in sorted({(row.tier, row.front) for row in every}):
        own = [row for row in every if (row.tier, row.front) == (tier, front)]
        sure = {
            has: {(row.problem, row.seed) for row in own if row.products == has and row.gamma}
            for has in (False, True)
        }
        false = sum(row.gamma is not None and not (row.lowest or 0) > -row.gamma for row in own)
        names = [
            ", ".join(sorted({name for name, _ in ahead})) or "-"
            for ahead in (sure[True] - sure[False], sure[False] - sure[True])
        ]
        cells.append([str(tier), front, str(len(own) // 2), str(len(sure[False])),
                      str(len(sure[True])), str(false), *names])  # fmt: skip
    return cells


def kept() -> list[Row]:
    """Read the runs that there are."""
    return [Row(*json.loads(line)) for line in KEPT.read_text().splitlines()]


def main(fronts: list[str]) -> None:
    """Run what is asked for, keep the rest, and print the table."""
    old = [row for row in (kept() if KEPT.exists() else []) if row.front not in fronts]
    draft = KEPT.with_suffix(".part")
    with draft.open("w") as file:
        for row in chain(old, *map(runs, fronts)):
            file.write(json.dumps(row) + "\n")
            file.flush()
    draft.replace(KEPT)
    for cells in (COLUMNS, ["---"] * len(COLUMNS), *table(kept())):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
