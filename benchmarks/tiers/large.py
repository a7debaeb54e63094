"""Tier 1 beyond 200 variables: a sample of CUTEst, with a limit on the time of each run.

    python -m benchmarks.tiers.large [NAME ...] [--seconds 5]

Each run ends at tol, at 20,000 gradients, or after so many seconds of the processor, whichever is
first. Runs are appended to ``benchmarks/results/tier1-large.jsonl``, from which ``report.py`` makes
its part of the page. Without names the sample is run: one of each family, and the five where nobody
is known to arrive.
"""

import argparse
import importlib
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import unsaddle

from .contest import LIMIT, MEMORY, PEERS, TOL, scipy
from .cutest import _compiled, _flat, _objective, _problems
from .oracle import Oracle, Problem, ReachedError, SpentError

RESULTS = Path(__file__).parents[1] / "results" / "tier1-large.jsonl"
LARGEST = 10**4
SECONDS = 5.0  # of the processor, of one run
HARD = ("CURLY10", "SCURLY10", "NONMSQRT", "DIXON3DQ", "SBRYBND")
SAMPLE = ("ARWHEAD", "BROYDN7D", "COSINE", "CRAGGLVY", "DIXMAANA1", "DIXMAANI1", "DIXMAANJ",
          "DQRTIC", "ENGVAL1", "FLETCHCR", "FREUROTH", "NONDIA", "TRIDIA", "WOODS")  # fmt: skip
ABOUT = """## Tier 1, larger

A sample of the problems with 200 < n <= 10,000, by `python -m benchmarks.tiers.large`: gradients to
tol, or how a run ended and the norm of its gradient there. TIME is the limit on the time of one
run, 1 to 1.5 s of the processor, on a machine that others kept busy: who is stopped by it might
have arrived. The second table has problems where nobody is known to arrive within 20,000 gradients.
No exact Hessian has room here: certificates are not checked. The whole of tier 1 up to 10,000
variables was not run."""
RIVALS = ("L-BFGS-B", MEMORY, "CG", "Newton-CG")


class Run(NamedTuple):
    """One run, without the Hessian, which has no room."""

    problem: str
    n: int
    method: str
    outcome: str
    norm: float
    before: int | None  # gradients to tol
    gradients: int  # to the end: of auto, to the certificate
    gamma: float | None  # that is certified
    seconds: float  # of the processor


class Timed(Oracle):
    """An oracle that stops whoever asks when the time is over."""

    def __init__(self, problem: Problem, tol: float, seconds: float) -> None:
        """Take a problem, and the time from now on."""
        super().__init__(problem, tol, LIMIT)
        self.began, self.seconds = time.process_time(), seconds

    def probe(self, x: Any) -> Any:
        """Give g(x).

        Raises:
            SpentError: If the time is over, or the gradients are spent.
        """
        if time.process_time() - self.began > self.seconds:
            raise SpentError
        return super().probe(x)


def problems(names: tuple[str, ...]) -> Iterator[Problem]:
    """Give the problems of these names that have more than 200 and at most 10,000 variables."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    found = {type(each).__name__: each for each in _problems("unconstrained")}
    for name in names:
        x0 = _flat(jax, found[name]) if name in found else None
        if x0 is not None and 200 < x0.size <= LARGEST:
            yield _compiled(name, x0, _objective(jax, found[name]))


def ours(problem: Problem, seconds: float) -> Run:
    """Run `auto` to its certificate."""
    oracle = Timed(problem, 0.0, seconds)
    try:
        words = {"jac": oracle.probe, "tol": TOL}
        result = unsaddle.minimize(oracle.value, problem.start(0), **words)
    except SpentError as error:
        result = error.unsaddle  # type: ignore[attr-defined]
    norms = result.history.gradient_norm
    small = np.flatnonzero(norms <= TOL)
    before = int(np.sum(~np.isnan(norms[: small[0] + 1]))) if small.size else None
    spent = time.process_time() - oracle.began
    norm = float(np.linalg.norm(problem.gradient(result.x)))
    gamma = result.certificate.curvature_tol if result.success else None
    outcome = "TIME" if result.outcome.name == "INTERRUPTED" else result.outcome.name
    return Run(
        problem.name, problem.n, "auto", outcome, norm, before, oracle.gradients, gamma, spent
    )


def theirs(problem: Problem, method: str, seconds: float) -> Run:
    """Run a method of SciPy until its gradient is within tol."""
    _, name, options, curved, _ = PEERS[method]
    oracle, outcome, x = Timed(problem, TOL, seconds), "STOPPED", problem.start(0)
    try:
        x = scipy(oracle, x, name, options, curved)
    except ReachedError:
        x, outcome = oracle.x, "REACHED"
    except SpentError:
        x, outcome = oracle.x, "TIME" if oracle.gradients < LIMIT else "BUDGET"
    spent = time.process_time() - oracle.began
    norm = float(np.linalg.norm(problem.gradient(x))) if x.size else math.nan
    first = oracle.first
    return Run(problem.name, problem.n, method, outcome, norm, first, oracle.gradients, None, spent)


def tell(file: Path) -> str:
    """Tell of the runs there are: gradients to tol, or how a run ended that did not get there."""
    runs = [Run(*json.loads(line)) for line in file.read_text().splitlines()]
    last = {(run.problem, run.method): run for run in runs}
    head = ["problem", "n", "auto", "to its certificate", *RIVALS]
    parts = [ABOUT, ""]
    for names in ([n for n in dict.fromkeys(r.problem for r in runs) if n not in HARD], HARD):
        body = []
        for name in names:
            own = last.get((name, "auto"))
            if own is not None:
                others = [_cell(last.get((name, m))) for m in RIVALS]
                proved = own.gradients if own.outcome == "CERTIFIED" else own.outcome
                body.append([name, own.n, _cell(own), proved, *others])
        lines = [head, ["---"] * len(head), *body]
        parts += ["\n".join(f"| {' | '.join(map(str, line))} |" for line in lines), ""]
    return "\n".join(parts)


def _cell(run: Run | None) -> str:
    return "-" if run is None else str(run.before or f"{run.outcome}, {run.norm:.0e}")


def main() -> None:
    """Run all methods on all problems, and keep each run as it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    for problem in problems(tuple(given.names) or (*SAMPLE, *HARD)):
        problem.value(problem.start(0)), problem.gradient(problem.start(0))  # compiled by now
        for method in ("auto", *RIVALS):
            run = (
                ours(problem, given.seconds)
                if method == "auto"
                else theirs(problem, method, given.seconds)
            )
            with RESULTS.open("a") as file:
                file.write(json.dumps(run) + "\n")
            print(*run, flush=True)


if __name__ == "__main__":
    main()
