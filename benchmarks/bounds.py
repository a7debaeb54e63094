"""Bounds: the bounded CUTEst problems of sif2jax and ten with known saddles, beside L-BFGS-B.

Both stop at a projected gradient of Euclidean norm 1e-5. L-BFGS-B is SciPy's, stopped by the same
test. Every certificate is checked by the exact Hessian on the variables strictly inside their
bounds. Every query is checked to be within the bounds.

    python -m benchmarks.bounds                     # the ten, and all of CUTEst up to 200 variables
    python -m benchmarks.bounds --cutest 0          # the ten alone
"""

import argparse
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from benchmarks.faces import Array, Boxed, faces
from benchmarks.tiers.cutest import bounded
from unsaddle import minimize
from unsaddle.numpy.box import Box

TOL, BUDGET, LARGEST = 1e-5, 20_000, 200


class ReachedError(Exception):
    """The projected gradient is small enough, or the budget is spent."""


class Counted:
    """A function that counts its gradients and refuses points outside the bounds."""

    def __init__(self, problem: Boxed, stops: bool) -> None:
        """Take a problem; ``stops`` where the projected gradient is small."""
        self.problem, self.stops = problem, stops
        self.box = Box(problem.lower, problem.upper)
        self.gradients, self.reached, self.lowest = 0, None, np.inf
        self.last: tuple[Array, Array] | None = None

    def both(self, x: Array) -> tuple[float, Array]:
        """Give value and gradient."""
        assert self.box.holds(x), "a query left the bounds"
        value, gradient = self.problem.value(x), self.problem.gradient(x)
        self.gradients += 1
        self.lowest = min(self.lowest, float(value))
        norm = np.linalg.norm(self.box.projected(x, gradient))
        if norm <= TOL and self.reached is None:
            self.reached = self.gradients
        if self.stops and (norm <= TOL or self.gradients >= BUDGET):
            raise ReachedError
        return value, gradient


def theirs(problem: Boxed) -> dict[str, Any]:
    """Run L-BFGS-B to tol."""
    counted = Counted(problem, stops=True)
    options = {"ftol": 0.0, "gtol": 0.0, "maxiter": BUDGET, "maxfun": BUDGET}
    sides = [*zip(problem.lower, problem.upper, strict=True)]
    given: Any = {"jac": True, "bounds": sides, "options": options, "method": "L-BFGS-B"}
    with contextlib.suppress(ReachedError):
        scipy_minimize(counted.both, problem.start, **given)
    return {"their_tol": counted.reached, "their_value": counted.lowest}


def ours(problem: Boxed, seed: int) -> dict[str, Any]:
    """Run unsaddle to its certificate, and check it."""
    counted = Counted(problem, stops=False)
    sides = [*zip(problem.lower, problem.upper, strict=True)]
    given: Any = {"jac": True, "bounds": sides, "tol": TOL, "max_gradients": BUDGET}
    result = minimize(counted.both, problem.start, seed=seed, **given)
    claimed = result.certificate
    inside = (result.x > problem.lower) & (result.x < problem.upper)
    inside[[*claimed.unclear]] = False
    hessian = problem.hessian(result.x)[np.ix_(inside, inside)]
    lowest = float(np.linalg.eigvalsh(hessian)[0]) if inside.any() else np.inf
    false = bool(claimed.holds) and lowest < -claimed.curvature_tol
    return {
        "outcome": result.outcome.name,
        "our_tol": counted.reached,
        "certified": result.njev if result.success else None,
        "lowest": lowest,
        "gamma": claimed.curvature_tol,
        "false": false,
        "free": int(inside.sum()),
        "unclear": len(claimed.unclear),
        "value": result.fun,
    }


def cutest(most: int) -> Iterator[Boxed]:
    """Give so many of the bounded CUTEst problems, from their standard starts, moved in."""
    for count, (problem, lower, upper) in enumerate(bounded(LARGEST)):
        if count >= most:
            return
        start = np.clip(problem.start(0), lower, upper)
        parts = problem.value, problem.gradient, problem.hessian
        yield Boxed(problem.name, *parts, lower, upper, start)


def mean(ratios: list[float]) -> float:
    """Give the geometric mean."""
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")


def lower_than(value: float) -> float:
    """Give the value below which another is lower for sure."""
    return value - 1e-6 * max(1.0, abs(value))


def main() -> None:
    """Print a line for each problem, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cutest", type=int, default=10_000, help="how many of these at most")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = []
    for problem in [*faces(), *cutest(given.cutest)]:
        sizes = {"name": problem.name, "n": problem.start.size}
        rows.append({**sizes, **theirs(problem), **ours(problem, given.seed)})
        print(json.dumps(rows[-1]), flush=True)
    to_tol = [r["our_tol"] / r["their_tol"] for r in rows if r["our_tol"] and r["their_tol"]]
    proven = [
        r["certified"] / r["their_tol"]
        for r in rows
        if r["certified"] and r["their_tol"] and not r["value"] < lower_than(r["their_value"])
    ]  # without those where L-BFGS-B has stopped at a saddle that we have left
    print(f"{len(rows)} problems, {sum(r['false'] for r in rows)} false certificates")
    print(f"within tol: L-BFGS-B {sum(bool(r['their_tol']) for r in rows)}, ", end="")
    print(f"unsaddle {sum(bool(r['our_tol']) for r in rows)}; ", end="")
    print(f"certified {sum(bool(r['certified']) for r in rows)}, {len(proven)} of them no lower")
    print(
        f"gradients by those of L-BFGS-B: to tol {mean(to_tol):.3f}, certified {mean(proven):.3f}"
    )


if __name__ == "__main__":
    main()
