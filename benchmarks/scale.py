"""What a run takes where vectors are long: gradients, seconds and memory by n, docs/scale.md.

    python -m benchmarks.scale 1e6 1e7              one process a run, appended to the results
    python -m benchmarks.scale 1e8 --max-memory 12.1e9
    python -m benchmarks.scale --page docs/scale.md

Memory is the peak of what the process has resident, less what it had with x0 and the function's own
buffer before the run, in vectors of n numbers. The function works block by block and returns one
buffer again and again, so that all of this is the run's.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import unsaddle

RESULTS = Path(__file__).parent / "results" / "scale.jsonl"
BLOCK = 2**16  # numbers that a function works on at a time
COUPLING = 0.1
TOL = {"float64": 1e-5, "float32": 1e-3}  # above the rounding of gradients of so many numbers

HEAD = """# Scale

What `auto` takes where vectors are long. `python -m benchmarks.scale --page docs/scale.md` writes
this page from `benchmarks/results/scale.jsonl`, which was measured on a machine with two cores and
24 GiB, with other work beside it: the seconds are those of the processor, and by the clock in
brackets, of which no more than the order can be trusted.

*Wells*: the ring of double wells, sum (x_i^2 - 1)^2/4 + 0.1 (x_i - x_{i+1})^2/2, from its saddle
at 0 to the certificate, with `tol=1e-3` in float32. *Dense*: `certify` on a quadratic whose
curvatures are spread evenly over (0, 1], at gamma = 1e-3.

Memory is in vectors of n numbers, above x0 and the function's own buffer, at the peak of what is
resident: what was asked for and never written to is not in it. The least that a run can do with is
fifteen vectors: below it the call is an error that says so.

| what | n | numbers | max_memory, GiB | outcome | gradients | certificate | vectors | GiB | s |
|---|---|---|---|---|---|---|---|---|---|
"""


def wells(n: int, dtype: Any) -> Callable[[np.ndarray], Any]:
    """Give value and gradient of the ring of double wells, block by block in one buffer."""
    buffer = np.ones(n, dtype)

    def both(x: np.ndarray) -> tuple[float, np.ndarray]:
        total, last, first = 0.0, x[-1], 0.0
        for i in range(0, n, BLOCK):
            u, g = x[i : i + BLOCK], buffer[i : i + BLOCK]
            step = np.diff(u, prepend=last)
            well = u * u - 1
            total += float(well @ well) / 4 + COUPLING * float(step @ step) / 2
            g[:] = well * u + COUPLING * step
            g[:-1] -= COUPLING * step[1:]
            if i:
                buffer[i - 1] -= COUPLING * step[0]
            else:
                first = step[0]
            last = u[-1]
        buffer[-1] -= COUPLING * first
        return total, buffer

    return both


def dense(n: int, dtype: Any) -> Callable[[np.ndarray], Any]:
    """Give the gradient of a quadratic with curvatures 1/n, 2/n, ..., 1, in one buffer."""
    buffer = np.ones(n, dtype)

    def gradient(x: np.ndarray) -> np.ndarray:
        for i in range(0, n, BLOCK):
            here = slice(i, min(i + BLOCK, n))
            buffer[here] = x[here] * (np.arange(here.start + 1, here.stop + 1) / n)
        return buffer

    return gradient


def peak() -> int:
    """Bytes that this process has had resident at most."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(what: str, n: int, dtype: str, max_memory: float | None) -> dict[str, Any]:
    """Run once, in this process, and say what it took."""
    x0 = np.full(n, float(what == "dense"), dtype)
    fun = {"wells": wells, "dense": dense}[what](n, dtype)
    fun(x0)
    before, began, busy = peak(), time.perf_counter(), time.process_time()
    if what == "wells":
        result = unsaddle.minimize(fun, x0, jac=True, tol=TOL[dtype], max_memory=max_memory)
        found, outcome, gradients = result.certificate, result.outcome.name, result.njev
    else:
        found = unsaddle.certify(fun, x0, 1e-3, max_memory=max_memory)
        outcome, gradients = "CERTIFIED" if found.holds else "UNCERTIFIED", found.gradients
    return {
        "what": what,
        "n": n,
        "dtype": dtype,
        "max_memory": max_memory,
        "outcome": outcome,
        "gradients": gradients,
        "certificate": found.gradients,
        "vectors": round((peak() - before) / x0.nbytes, 1),
        "gib": round(peak() / 2**30, 2),
        "busy": round(time.process_time() - busy, 1),
        "seconds": round(time.perf_counter() - began, 1),
    }


def _gib(memory: float | None) -> str:
    return f"{memory / 2**30:.2f}" if memory else "default"


def page(rows: list[dict[str, Any]]) -> str:
    """Give the page."""
    lines = [
        f"| {r['what']} | {r['n']:,} | {r['dtype']} | {_gib(r['max_memory'])} | "
        f"`{r['outcome']}` | {r['gradients']} | {r['certificate']} | {r['vectors']} | {r['gib']} | "
        f"{r.get('busy', '')} ({r['seconds']:g}) |\n"
        for r in rows
    ]
    return HEAD + "".join(lines)


def main() -> None:
    """Measure each n in a process of its own, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="*", type=float)
    parser.add_argument("--what", choices=["wells", "dense"], default="wells")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--max-memory", type=float)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--here", action="store_true", help="measure in this process, and print")
    given = parser.parse_args()
    for n in map(int, given.n):
        if given.here:
            print(json.dumps(measure(given.what, n, given.dtype, given.max_memory)))
            continue
        again = ["--what", given.what, "--dtype", given.dtype]
        again += ["--max-memory", str(given.max_memory)] if given.max_memory else []
        call = [sys.executable, "-m", "benchmarks.scale", "--here", str(n), *again]
        line = subprocess.run(call, check=True, capture_output=True, text=True).stdout
        print(line, end="", flush=True)
        with RESULTS.open("a") as file:
            file.write(line)
    if given.page:
        rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
        given.page.write_text(page(rows))


if __name__ == "__main__":
    main()
