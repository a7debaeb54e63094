"""Tier 1 beyond 200 variables: CUTEst up to 10,000, with a limit on the time of each run.

    python -m benchmarks.tiers.large [NAME ...] [--seconds 10]

Each run ends at tol, at 20,000 gradients, or after so many seconds of the processor, whichever is
first. Runs are appended to ``benchmarks/results/tier1-large.jsonl``, where the last run of a method
on a problem counts, and from which ``report.py`` makes its part of the page. Without names all
problems are run.
"""

import argparse
import importlib
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

import unsaddle

from .contest import LIMIT, MEMORY, PEERS, TOL, scipy
from .cutest import _compiled, _flat, _objective, _problems
from .oracle import Oracle, Problem, ReachedError, SpentError

Objective = Callable[[Any], Any]
RESULTS = Path(__file__).parents[1] / "results" / "tier1-large.jsonl"
LARGEST = 10**4
SECONDS = 10.0  # of the processor, of one run
HARD = ("CURLY10", "CURLY20", "CURLY30", "SCURLY10", "SCURLY20", "SCURLY30", "NONMSQRT",
        "DIXON3DQ", "SBRYBND")  # fmt: skip
RESTARTS, KEPT = 20, 60  # of ARPACK, and vectors that it keeps
ABOUT = """## Tier 1, larger

The {count} problems with 200 < n <= 10,000, by `python -m benchmarks.tiers.large`: gradients to
tol, or how a run ended and the norm of its gradient there. TIME is the limit on the time of one
run, {seconds:g} s of the processor on two cores that others used too: who is stopped by it might
have arrived. A dense Hessian has no room here: a certificate is checked by ARPACK, whose Ritz
values by exact products come to the lowest curvature from above. Of {certified} certificates
{checked} could be checked so, within {restarts} restarts, and {false} of these had one below
-gamma.

Where both arrive, `auto` takes {to_tol:.2f} times the gradients of L-BFGS-B to tol, by the
geometric mean over {both} problems, and {to_end:.2f} times to its certificate, with {clock:.2f}
times the processor time. Most of that goes to ill-conditioned problems, such as the DIXMAAN
family, where gamma is 1e-4 of the largest curvature:
[`certificate_budget=`](design.md#the-certificate) bounds it. The second table has families where
nobody is known to arrive within 20,000 gradients."""
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
    lowest: float | None = None  # Ritz value of the exact Hessian where a certificate was given


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


def problems(names: tuple[str, ...]) -> Iterator[tuple[Problem, Objective]]:
    """Give the problems with more than 200 and at most 10,000 variables; of these names, if any."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    found = {type(each).__name__: each for each in _problems("unconstrained")}
    for name in names or found:
        x0 = _flat(jax, found[name])
        if x0 is not None and 200 < x0.size <= LARGEST:
            objective = _objective(jax, found[name])
            yield _compiled(name, x0, objective), objective


def lowest(objective: Objective, x: Any) -> float | None:
    """Give the lowest Ritz value that ARPACK finds by exact products; None if it has none."""
    jax = importlib.import_module("jax")
    times = jax.jit(lambda v: jax.jvp(jax.grad(objective), (x,), (v,))[1])
    product: Any = LinearOperator(
        (x.size, x.size), lambda v: np.asarray(times(np.asarray(v, float).ravel()))
    )
    first = np.random.default_rng(0).standard_normal(x.size)
    words: dict[str, Any] = {"v0": first, "ncv": KEPT, "maxiter": RESTARTS, "tol": 1e-3}
    try:
        found = eigsh(product, 1, which="SA", return_eigenvectors=False, **words)
    except ArpackNoConvergence as error:
        found = error.eigenvalues
    return float(found[0]) if len(found) else None


def ours(problem: Problem, objective: Objective, seconds: float) -> Run:
    """Run `auto` to its certificate, and check that."""
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
    seen = None if gamma is None else lowest(objective, result.x)
    own = oracle.gradients, gamma, spent, seen
    return Run(problem.name, problem.n, "auto", outcome, norm, before, *own)


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
    parts = [_summary(last), ""]
    for names in (sorted({r.problem for r in runs} - {*HARD}), HARD):
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


def _summary(last: dict[tuple[str, str], Run]) -> str:
    """Sum up: certificates, and how many gradients of those of L-BFGS-B."""
    own = [run for (_, method), run in last.items() if method == "auto"]
    sure = [run for run in own if run.gamma is not None]
    values = [(run.lowest, run.gamma) for run in sure if run.lowest is not None]
    false = sum(lowest < -(gamma or 0.0) for lowest, gamma in values)
    pairs = [(run, last[run.problem, "L-BFGS-B"]) for run in own if run.before]
    both = [(run, there) for run, there in pairs if there.before]
    to_tol = [(run.before or 0) / (there.before or 1) for run, there in both]
    proved = [(run, there) for run, there in both if run.gamma is not None]
    to_end = [run.gradients / (there.before or 1) for run, there in proved]
    clock = [run.seconds / there.seconds for run, there in proved]
    return ABOUT.format(
        count=len(own),
        seconds=SECONDS,
        certified=len(sure),
        checked=len(values),
        restarts=RESTARTS,
        false=false or "none",
        both=len(to_tol),
        to_tol=np.exp(np.mean(np.log(to_tol))),
        to_end=np.exp(np.mean(np.log(to_end))),
        clock=np.exp(np.mean(np.log(clock))),
    )


def _cell(run: Run | None) -> str:
    return "-" if run is None else str(run.before or f"{run.outcome}, {run.norm:.0e}")


def main() -> None:
    """Run all methods on all problems, and keep each run as it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    for problem, objective in problems(tuple(given.names)):
        problem.gradient(problem.start(0))  # which compiles value and gradient
        for method in ("auto", *RIVALS):
            run = (
                ours(problem, objective, given.seconds)
                if method == "auto"
                else theirs(problem, method, given.seconds)
            )
            with RESULTS.open("a") as file:
                file.write(json.dumps(run) + "\n")
            print(*run, flush=True)


if __name__ == "__main__":
    main()
