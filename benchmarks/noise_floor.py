"""Gradients that a descent spends against the noise of its gradient, where tol is far below it.

Each of the ten families is minimised from 0.3 lengths beside its saddle, with noise of several
sizes and a tol of a hundredth of that. Against the floor are gradients of a descent after the first
whose true norm is at most the noise, until the descent gives up and a search begins.

    python -m benchmarks.noise_floor --seeds 5
    python -m benchmarks.noise_floor --seeds 5 --method agd-auto
"""

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.noisy_families import FAMILIES, noisy
from unsaddle import minimize
from unsaddle.core.phases import BEGIN, PhaseName

SIZES = (1e-10, 1e-8, 1e-6, 1e-4)  # of the noise, by l
DEPTH = 0.02  # of the saddle, by l
AWAY = 0.3  # lengths, from the saddle
VARIABLES, BUDGET = 40, 5_000


class Spent(NamedTuple):
    """Where the gradients of runs went, and how the runs ended."""

    against: int
    descent: int
    gradients: int
    outcomes: Counter[str]

    @property
    def share(self) -> float:
        """Gradients against the floor by all."""
        return self.against / self.gradients


def run(family: str, kind: str, relative: float, seed: int, method: str = "auto") -> Spent:
    """Minimise one function with a tol of a hundredth of its noise."""
    land = FAMILIES[family](VARIABLES, -DEPTH * FAMILIES[family](VARIABLES, 0.0).smoothness)
    s = relative * land.smoothness * land.length
    noise, true = noisy(land.grad, s, kind, seed), []

    def grad(x: np.ndarray) -> np.ndarray:
        true.append(float(np.linalg.norm(land.grad(x))))
        return noise(x)

    w = np.random.default_rng(seed).standard_normal(land.x.size)
    start = land.x + AWAY * land.length * w / np.linalg.norm(w)
    words = {"method": method, "seed": seed, "max_gradients": BUDGET}
    result = minimize(land.fun, start, jac=grad, tol=s / 100, **words)
    asked = zip(result.history.phase, result.history.gradient_norm, strict=True)
    phases = [PhaseName[name.upper()] for name, norm in asked if not math.isnan(norm)]
    against = descent = low = 0
    for phase, norm in zip(phases, true, strict=True):
        descends = phase < BEGIN
        descent, against = descent + descends, against + (descends and low)
        low = descends and (low or norm <= s)
    return Spent(against, descent, len(true), Counter([result.outcome.name]))


def measured(
    family: str, kind: str, relative: float, seeds: Sequence[int], method: str = "auto"
) -> Spent:
    """Add the runs of some seeds up."""
    runs = [run(family, kind, relative, seed, method) for seed in seeds]
    return Spent(
        against=sum(r.against for r in runs),
        descent=sum(r.descent for r in runs),
        gradients=sum(r.gradients for r in runs),
        outcomes=sum((r.outcomes for r in runs), Counter()),
    )


def table(families: Sequence[str], seeds: Sequence[int], method: str = "auto") -> Iterator[str]:
    """Give the lines of a table as they are measured, and what they come to."""
    yield "| family | noise | size | against the floor | descent | all | share | outcomes |"
    yield "|---|---|---|---|---|---|---|---|"
    shares = []
    for family, kind, size in itertools.product(families, ("hash", "random"), SIZES):
        spent = measured(family, kind, size, seeds, method)
        each = (f"{n / len(seeds):.1f}" for n in spent[:3])
        ends = ", ".join(f"{name} {n}" for name, n in spent.outcomes.items())
        shares.append(spent.share)
        yield f"| {family} | {kind} | {size:g} | {' | '.join(each)} | {spent.share:.2f} | {ends} |"
    tenth = sum(share <= 0.1 for share in shares)
    yield (
        f"\nat most a tenth in {tenth} of {len(shares)} lines; median {np.median(shares):.4f}, "
        f"most {max(shares):.3f}"
    )


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--seeds", type=int, default=5, help="how many, default 5")
    parser.add_argument("--method", choices=("auto", "agd-auto"), default="auto")
    given = parser.parse_args()
    for line in table(given.families, range(given.seeds), given.method):
        print(line, flush=True)


if __name__ == "__main__":
    main()
