"""Scales: does x_scale taken from the run itself, by the diagonal of L-BFGS, save gradients?

Three ways to the same norm of the gradient, 1e-5 in the variables whose scales are known to be
good, or in x where none are known: as it is, with the known scales, and with scales from the run.
These are D^(-1/2) of the diagonal BFGS update, D <- D - (D s)^2 / s'Ds + y^2 / y's (Gilbert &
Lemarechal 1989), over the first queries; the run then goes on from the lowest point in x / x_scale.

    python -m benchmarks.scales                # ill-scaled functions, and PySCF's orbitals if there
    python -m benchmarks.scales --cutest 100   # and so many of CUTEst's
"""

import argparse
import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bounds import mean
from unsaddle import minimize

TOL, BUDGET, FARTHEST = 1e-5, 5_000, 1e3
WATCHED = (10, 20, 40)  # queries from which scales are taken
Array = np.ndarray


class Case(NamedTuple):
    """A function with its gradient, where to start, and the scales that are known to be good."""

    name: str
    both: Callable[[Array], tuple[float, Array]]
    start: Array
    scale: Array


class ReachedError(Exception):
    """The gradient is small enough, or the budget is spent."""


class Counted:
    """A function that ends where its gradient is small, and knows the diagonal of its Hessian."""

    def __init__(self, case: Case) -> None:
        """Take a case."""
        self.case, self.gradients, self.reached = case, 0, False
        self.diagonal = np.ones(case.start.size)
        self.last: tuple[Array, Array] | None = None
        self.lowest: tuple[float, Array] = np.inf, case.start

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Give value and gradient."""
        value, gradient = self.case.both(x)
        self.gradients += 1
        if value < self.lowest[0]:
            self.lowest = value, x.copy()
        self._learn(x, gradient)
        self.reached = bool(np.linalg.norm(gradient * self.case.scale) <= TOL)
        if self.reached or self.gradients >= BUDGET:
            raise ReachedError
        return value, gradient

    def _learn(self, x: Array, gradient: Array) -> None:
        if self.last is not None:
            (s, y), d = (x - self.last[0], gradient - self.last[1]), self.diagonal
            if s @ y > 1e-8 * np.linalg.norm(s) * np.linalg.norm(y):
                if np.ptp(d) == 0:
                    d = np.full_like(d, y @ y / (s @ y))
                self.diagonal = d - (d * s) ** 2 / (s @ (d * s)) + y**2 / (s @ y)
        self.last = x.copy(), gradient.copy()

    @property
    def scales(self) -> Array:
        """D^(-1/2), none of them too far from the middle."""
        scales = np.maximum(self.diagonal, 1e-300) ** -0.5
        middle = np.median(scales)
        return np.clip(scales, middle / FARTHEST, middle * FARTHEST)


def run(case: Case, x_scale: Array | None, watched: int = 0) -> int | None:
    """Give the gradients to tol; from ``watched`` on in scales that the run itself has shown."""
    counted, x = Counted(case), case.start
    given: dict[str, Any] = {"jac": True, "tol": TOL / 100}
    with contextlib.suppress(ReachedError):
        if watched:
            minimize(counted, x, **given, max_gradients=watched)
            x, x_scale = counted.lowest[1], counted.scales
        minimize(counted, x, **given, x_scale=x_scale)
    return counted.gradients if counted.reached else None


def ill_scaled(n: int = 50) -> Iterator[Case]:
    """Give functions of well-scaled variables, in units that spread over four orders."""
    rng = np.random.default_rng(0)
    mix = np.linalg.qr(rng.standard_normal((n, n)))[0] / np.sqrt(n)
    data, labels = rng.standard_normal((200, n)), rng.integers(0, 2, 200) * 2.0 - 1

    def valley(y: Array) -> tuple[float, Array]:
        bend, off = y[1:] - y[:-1] ** 2, 1 - y[:-1]
        gradient = np.zeros_like(y)
        gradient[1:] += 20 * bend
        gradient[:-1] += -40 * bend * y[:-1] - 2 * off
        return float(10 * bend @ bend + off @ off), gradient

    def wells(y: Array) -> tuple[float, Array]:
        turned = mix @ y
        return float(np.sum(y**4 / 4 - y**2 / 2) + turned @ turned / 2), (y**3 - y + mix.T @ turned)

    def logistic(y: Array) -> tuple[float, Array]:
        margin = labels * (data @ y)
        share = np.exp(-np.logaddexp(0, margin)) * labels / len(labels)
        return float(np.logaddexp(0, -margin).mean() + 5e-3 * y @ y), 1e-2 * y - share @ data

    def root(y: Array) -> tuple[float, Array]:
        length = np.sqrt(1 + y**2)
        return float(length.sum()), y / length

    functions = {valley: 0.0, wells: 0.3, logistic: 1.0, root: 2.0}  # and where they start
    for of_y, far in functions.items():
        for spread in (1, 2):
            scale = 10 ** rng.uniform(-spread, spread, n)

            def both(x: Array, of_y: Any = of_y, scale: Array = scale) -> tuple[float, Array]:
                value, gradient = of_y(x / scale)
                return value, gradient / scale

            yield Case(f"{of_y.__name__}, 1e{2 * spread}", both, far * scale * np.ones(n), scale)


def orbitals() -> Iterator[Case]:
    """Give PySCF's orbital rotations as they are, with the scales of docs/pyscf.md."""
    try:
        pyscf = importlib.import_module("pyscf")
    except ImportError:
        print("no pyscf here: type pip install pyscf")
        return
    from examples.orbital_stability import Orbitals

    ring = [("H", np.cos(t), np.sin(t), 0.0) for t in np.arange(8) * np.pi / 4]
    atoms = {
        "O3": ("O 0 0 0.44; O 0 1.08 -0.22; O 0 -1.08 -0.22", "6-31g"),
        "H8, ring": ([[h, (2 * x, 2 * y, z)] for h, x, y, z in ring], "sto-3g"),
        "H8, chain": ([["H", (0, 0, 1.4 * i)] for i in range(8)], "6-31g"),
    }
    for name, (atom, basis) in atoms.items():
        mf = pyscf.scf.RHF(pyscf.M(atom=atom, basis=basis, verbose=0)).run(conv_tol=1e-10)
        over = Orbitals(mf)
        good, over.scale = over.scale, np.ones_like(over.scale)
        away = 0.05 * np.random.default_rng(1).standard_normal(good.size)
        yield Case(name, over, away, 1 / good)


def cutest(most: int) -> Iterator[Case]:
    """Give so many of CUTEst's problems, whose good scales nobody knows."""
    from benchmarks.tiers.cutest import cutest as problems

    for count, problem in enumerate(problems()):
        if count >= most:
            return

        def both(x: Array, problem: Any = problem) -> tuple[float, Array]:
            return problem.value(x), problem.gradient(x)

        yield Case(problem.name, both, problem.start(0), np.ones(problem.n))


def main() -> None:
    """Print a line for each case, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cutest", type=int, default=0, help="how many of these at most")
    most = parser.parse_args().cutest
    kinds = {"ill-scaled": ill_scaled(), "orbitals": orbitals(), "CUTEst": cutest(most)}
    for kind, cases in kinds.items():
        rows: list[list[int | None]] = []
        for case in cases:
            known = None if (case.scale == 1).all() else run(case, case.scale)
            rows.append([run(case, None), known, *(run(case, None, each) for each in WATCHED)])
            numbers = (f"{each or '-':>6}" for each in rows[-1])
            print(f"{case.name:20} n {case.start.size:4}", *numbers, flush=True)
        for place, name in enumerate(("known", *(f"from {each}" for each in WATCHED)), 1):
            both = [(row[place], row[0]) for row in rows if row[place] and row[0]]
            ratio = mean([a / b for a, b in both if a and b])
            print(f"{kind}: {name}, {len(both)} cases: {ratio:.3f} times the gradients as it is")


if __name__ == "__main__":
    main()
