"""What a run costs besides the user's function: beside L-BFGS-B, and beside loops by hand.

    python benchmarks/cost.py [--output docs/cost.md]

Times are compared within one process: the contestants run in turns, in short rounds, and a ratio
is the median of the rounds' ratios, so that a machine which is busy or changes its clock slows
both sides of it.
"""

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import argparse
import platform
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import beside_scipy
import numpy as np
import scipy
from by_hand import BY_HAND
from clock import Clock, Solve, in_turns, overhead, period, ratio

import unsaddle
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import GRADIENT, VALUE
from unsaddle.core.session import Session
from unsaddle.landscapes import Landscape, h, rosenbrock
from unsaddle.methods.table import find
from unsaddle.numpy.ops import ops

SMALL, MANY, SHORT_ROUNDS = 10, 2000, 40  # variables, gradients and rounds of the first table
LARGE, FEW, LONG_ROUNDS = 10**6, 40, 8  # and of the second
MOST = 300  # gradients of a run whose memory is measured
KEPT = 31 * 2**17  # 31 MB: having freed that much, glibc keeps what is freed later
OVERHEAD, PERIOD, VECTORS = 0.5, 1.3, {"pgd+nc": 7, "ancgd": 9}  # at most
STAY: dict[str, dict[str, Any]] = {  # what keeps a run in a phase
    "descent": {"tol": 1e-12},
    "search": {"tol": 1e-3, "failure_probability": 1e-100, "window": 1e9},
}
REPORT = """# What a run costs

Measured by `python benchmarks/cost.py`: Python {python}, NumPy {numpy}, SciPy {scipy}, one thread.

## `auto` beside L-BFGS-B

The time of the processor that `auto` takes to its certificate, and SciPy's L-BFGS-B until the
gradient is as small, on Rosenbrock's function of every two variables, on a quadratic with
curvatures from 1 to 1000 and on a ring of double wells. Both sides take turns, and a ratio is the
median over the rounds.
First per gradient and without what the function itself takes, then to the end and with it.

{beside}

![Both ratios by the number of variables](pictures/cost.png)

Where there are few variables a step is made of calls in Python, some 130 to 180 a gradient. At
n = 10 a step of L-BFGS takes 27 microseconds where nothing else disturbs it, of which the calls of
NumPy and BLAS take 12.5 by themselves. Kernels, operations and loop compiled by Cython 3.3 as they
stand took 1.01 to 1.22 times as long as in Python 3.11. A core with types of its own was not tried:
it needs wheels for every platform.

## Several starts at once

64 starts on a function that takes about a millisecond, by the clock on the wall.

{starts}

## Overhead at n = 10

Time per gradient that is not spent in the user's function, on Rosenbrock's function, against that
of L-BFGS-B through `scipy.optimize.minimize`. Each function is wrapped in the same clock. A search
works on a copy of the gradient, as the user may have kept the array, and the accelerated one makes
ten calls of BLAS a step, on ten numbers each: where it is above its limit, that is why. Holding a
Ctrl-C back until an update is whole takes about one hundredth of a step.

{overhead}

## Time at n = 10^6

Time from one gradient to the next, the user's function included, on the double well `h`, against
a loop written by hand for that phase alone: in place, through BLAS, without checks. *Kernel* is
the library's kernel in a bare `Session`; `minimize` adds the guards: the copies that keep the
user's arrays and the library's apart, the best point, the history. What it adds to gradient descent
is one copy of x per step: the last point that was good, should the next query fail. An array of
31 MB is made and freed first, after which glibc's malloc keeps freed vectors: without that, page
faults come and go with the order of allocations, on either side.

{period}

## Memory at n = 10^6

Peak of a whole run (descent, search, jump, descent, search, certificate) by `tracemalloc`, in
vectors of n numbers. x0 and the buffer from which the user's function answers were there before,
so that all that is traced is the library's.

{memory}

Likewise every method, from the saddle, with `history=False`, until it is certified or has taken
{most} gradients, whichever is first. `auto` sets its room for pairs and for the basis of its
certificate aside at the start, as others do for their proof: `max_memory=` makes it smaller. A
history takes 18 bytes a query, and 16 more for the path where there are two variables;
`history=False` keeps the first 32 queries and the last hundred events.

{every}
"""


def start(f: Landscape, phase: str) -> Any:
    """Give a point at which a run is in the phase."""
    return f.minima[0].copy() if phase == "search" else np.full(f.n, 0.1)


def minimize(f: Landscape, method: str, x0: Any, value: Any, gradient: Any, **options: Any) -> Any:
    """Run a method with the constants of a landscape."""
    constants = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    return unsaddle.minimize(value, x0, method=method, jac=gradient, **constants, **options)


def by_minimize(f: Landscape, method: str, phase: str, gradients: int) -> Solve:
    """Run a method that stays in one phase, for so many gradients."""
    options = {"max_gradients": gradients, **STAY[phase]}

    def solve(value: Clock, gradient: Clock) -> Any:
        result = minimize(f, method, start(f, phase), value, gradient, **options)
        if result.outcome is not Outcome.BUDGET:
            raise RuntimeError(f"{method} was to stay in its {phase}, but: {result.message}")
        return result

    return solve


def by_kernel(f: Landscape, method: str, phase: str, p: Any) -> Solve:
    """Run its kernel in a bare session."""
    solver = find(method).solver

    def solve(value: Clock, gradient: Clock) -> None:
        session = Session(ops, solver, p, solver.start(ops, p, start(f, phase), 0))
        while len(gradient.calls) < FEW and (query := session.ask()) is not None:
            v = value(query.point) if query.needs & VALUE else None
            session.tell(v, gradient(query.point) if query.needs & GRADIENT else None)

    return solve


def by_hand(f: Landscape, method: str, phase: str, p: Any) -> Solve:
    """Run the loop that was written by hand."""
    return lambda *function: BY_HAND[method, phase](*function, start(f, phase), p, FEW)


def by_lbfgsb(f: Landscape) -> Solve:
    """Run SciPy's L-BFGS-B, from a start that makes it take hundreds of gradients."""
    x0, options = np.linspace(-1e3, 1e3, f.n), {"ftol": 0.0, "gtol": 0.0, "maxiter": MANY}

    def solve(value: Clock, gradient: Clock) -> None:
        while len(gradient.calls) < MANY:
            scipy.optimize.minimize(value, x0, jac=gradient, method="L-BFGS-B", options=options)

    return solve


def overhead_table() -> str:
    """Measure the overhead at n = 10."""
    f, solvers = rosenbrock(SMALL), dict[Any, Solve]()
    solvers["scipy"] = by_lbfgsb(f)
    solvers |= {case: by_minimize(f, *case, MANY) for case in BY_HAND}
    jobs = {name: partial(overhead, f, solve) for name, solve in solvers.items()}
    seen = in_turns(jobs, SHORT_ROUNDS)
    theirs = seen["scipy"]
    return table(
        ["method", "phase", "us", "us of L-BFGS-B", "ratio", "at most"],
        [[*c, min(seen[c]), min(theirs), ratio(seen[c], theirs), OVERHEAD] for c in BY_HAND],
    )


def period_table() -> str:
    """Measure the time at n = 10^6."""
    f, jobs = h(LARGE), dict[Any, Callable[[], float]]()
    np.ones(KEPT)  # freed at once
    for case in BY_HAND:
        p = by_minimize(f, *case, 0)(Clock(f.value), Clock(f.gradient)).parameters
        jobs["hand", *case] = partial(period, f, by_hand(f, *case, p))
        jobs["kernel", *case] = partial(period, f, by_kernel(f, *case, p))
        jobs["minimize", *case] = partial(period, f, by_minimize(f, *case, FEW))
    seen = in_turns(jobs, LONG_ROUNDS)
    rows = []
    for case in BY_HAND:
        ours, theirs = seen["minimize", *case], seen["hand", *case]
        kernel = ratio(seen["kernel", *case], theirs)
        rows.append([*case, min(ours), min(theirs), kernel, ratio(ours, theirs), PERIOD])
    return table(["method", "phase", "ms", "ms by hand", "ratio, kernel", "ratio", "at most"], rows)


def memory_table() -> str:
    """Measure the memory at n = 10^6."""
    f, answer, x0 = h(LARGE), np.empty(LARGE), np.full(LARGE, 1e-3)
    x0[0] = 0.0  # else it would walk past the saddle

    def value(x: Any) -> float:
        return float(x[0] ** 4 / 16 - x[0] ** 2 + x.dot(x) / 2)

    def gradient(x: Any) -> Any:
        np.copyto(answer, x)
        answer[0] = x[0] ** 3 / 4 - x[0]
        return answer

    rows = []
    for method, limit in VECTORS.items():
        run = partial(minimize, f, method, x0, value, gradient, tol=1e-2)
        result, peak = traced(run, x0.nbytes)
        if not (result.success and "jump" in result.history.phase):
            raise RuntimeError(f"{method} was to jump and to be certified, but: {result.message}")
        rows.append([method, peak, limit])
    return table(["method", "vectors", "at most"], rows)


def traced(run: Callable[[], Any], unit: int) -> tuple[Any, float]:
    """Run, and give the peak of the memory that was allocated meanwhile, in a unit."""
    tracemalloc.start()
    result = run()
    peak = round(tracemalloc.get_traced_memory()[1] / unit, 1)
    tracemalloc.stop()
    return result, peak


def every_method_table() -> str:
    """Measure the memory of every method at n = 10^6."""
    f, answer, x0 = h(LARGE), np.empty(LARGE), np.full(LARGE, 1e-3)

    def gradient(x: Any) -> Any:
        np.copyto(answer, x)
        answer[0] = x[0] ** 3 / 4 - x[0]
        return answer

    def value(x: Any) -> float:
        return float(x[0] ** 4 / 16 - x[0] ** 2 + x.dot(x) / 2)

    lines = ["| method | vectors | gradients | outcome |", "| --- | --- | --- | --- |"]
    x0[0] = 0.0
    for method, line in unsaddle.METHODS.items():
        known = {"decrease_available": 10.0} if "decrease_available" in line.constants else {}
        options = {"tol": 1e-2, "max_gradients": MOST, "history": False, **known}
        result, peak = traced(
            partial(minimize, f, method, x0, value, gradient, **options), x0.nbytes
        )
        lines.append(f"| {method} | {peak} | {result.njev} | `{result.outcome.name}` |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def table(names: list[str], rows: list[list[Any]]) -> str:
    """Write a Markdown table; the last two columns are what came and what was wanted."""
    lines = [[*names, "met"], ["---"] * (len(names) + 1)]
    for row in rows:
        met = "yes" if round(row[-2], 2) <= row[-1] else "no"
        lines.append(
            [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row] + [met]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description="Measure what a run costs.")
    parser.add_argument("--output", type=Path, help="file to write the report to")
    output = parser.parse_args().output
    report = REPORT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        beside=beside_scipy.time_table(),
        starts=beside_scipy.starts_table(),
        overhead=overhead_table(),
        period=period_table(),
        memory=memory_table(),
        most=MOST,
        every=every_method_table(),
    )
    print(report)
    if output is not None:
        output.write_text(report)


if __name__ == "__main__":
    main()
