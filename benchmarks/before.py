"""What a step costs beside what it cost at another commit: both in turns, in one run.

    python benchmarks/before.py 57cac36

Two processes do the same jobs, one with the package as it is and one with that of the commit, and
take turns job by job. Both use what has been public for long. A number is the processor time of a
gradient; a ratio is the median of the rounds' ratios. With one thread, the user's function
included, which is cheap: a double well in each variable.
"""

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from clock import ratio

ROOT = Path(__file__).parents[1]
ROUNDS = 15  # after one that does not count: compilation, caches
SMALL, LARGE = 10, 10**6  # variables
MANY, FEW = 1000, 100  # gradients of a run
SEARCH = {"tol": 1e-3, "failure_probability": 1e-100, "window": 1e9}  # for ever
KEEP = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**30)}  # of glibc:
# what is freed is used again, or page faults would come and go with the order of allocations


def by_numpy(n: int, gradients: int, method: str, search: bool = False) -> Callable[[], int]:
    """Give a run of `minimize` that stays in one phase; it says how many gradients it took."""
    import numpy as np

    import unsaddle
    from unsaddle.landscapes import h, rosenbrock

    f = rosenbrock(n) if n == SMALL else h(n)
    x0 = f.minima[0].copy() if search else np.full(n, 0.1)
    given: dict[str, Any] = {**SEARCH} if search else {"tol": 1e-12}
    given |= {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    run = partial(unsaddle.minimize, f.value, x0, jac=f.gradient, method=method, **given)
    return lambda: run(max_gradients=gradients).njev


def by_torch(name: str, gradients: int, **given: Any) -> Callable[[], int]:
    """Give a run of an optimiser on a parameter of a million numbers."""
    import torch

    import unsaddle.torch as front

    torch.set_num_threads(1)
    weights = torch.linspace(0.01, 1, LARGE)
    gradient = torch.empty_like(weights)

    def run() -> int:
        x, calls = torch.nn.Parameter(torch.linspace(1, 2, LARGE)), 0
        x.grad = gradient

        def closure() -> torch.Tensor:
            nonlocal calls
            calls += 1
            with torch.no_grad():
                torch.mul(weights, x, out=gradient)
                return torch.dot(gradient, x.detach()) / 2

        inner = torch.optim.Adam([x], lr=1e-6) if name == "Escape" else [x]
        opt = getattr(front, name)(inner, **given)
        while calls < gradients:
            opt.step(closure)
        return calls

    return run


def by_jax(method: str, gradients: int, **given: Any) -> Callable[[], int]:
    """Give a run of `jax.minimize`; the round that does not count compiles it."""
    import jax.numpy as jnp

    import unsaddle.jax

    weights, x = jnp.linspace(0.01, 1, LARGE), jnp.linspace(1, 2, LARGE)
    fun = lambda x, weights: jnp.vdot(weights * x, x) / 2  # noqa: E731
    run = partial(unsaddle.jax.minimize, fun, x, (weights,), method, **given)
    return lambda: int(run(max_gradients=gradients).gradients)


KNOWN = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "tol": 1e-12}
PHASES = [("pgd+nc", "descent"), ("pgd+nc", "search"), ("ancgd", "descent"), ("ancgd", "search")]
JOBS: dict[str, Callable[[], Callable[[], int]]] = {
    f"NumPy, n = {words}: {method}, {phase}": partial(
        by_numpy, n, gradients, method, phase == "search"
    )
    for n, words, gradients in ((SMALL, "10", MANY), (LARGE, "10^6", FEW))
    for method, phase in PHASES
} | {
    "torch, n = 10^6: PGDNC": partial(by_torch, "PGDNC", FEW, **KNOWN),
    "torch, n = 10^6: ANCGD": partial(by_torch, "ANCGD", FEW, **KNOWN),
    "torch, n = 10^6: Auto": partial(by_torch, "Auto", FEW, tol=1e-12),
    "torch, n = 10^6: Escape(Adam, tol=1e-12)": partial(by_torch, "Escape", FEW, tol=1e-12),
    "JAX, n = 10^6: pgd+nc": partial(by_jax, "pgd+nc", FEW, **KNOWN),
    "JAX, n = 10^6: ancgd": partial(by_jax, "ancgd", FEW, **KNOWN),
}


def serve(name: str) -> None:
    """Do a job at every line, and answer with the microseconds of a gradient."""
    job = JOBS[name]()
    for _ in sys.stdin:
        begin = process_time()
        gradients = job()
        print(1e6 * (process_time() - begin) / gradients, flush=True)


def in_turns(name: str, sources: tuple[Path, Path]) -> list[list[float]]:
    """Let a process for each source do a job, in turns."""
    with ExitStack() as both:
        workers = [both.enter_context(_worker(name, source)) for source in sources]
        seen = [[_ask(worker) for worker in workers] for _ in range(ROUNDS + 1)][1:]
        for worker in workers:
            worker.communicate()
    return [list(own) for own in zip(*seen, strict=True)]


def _worker(name: str, source: Path) -> Any:
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **KEEP, "PYTHONPATH": str(source / "src")},
    )


def _ask(worker: Any) -> float:
    worker.stdin.write("\n")
    worker.stdin.flush()
    if not (answer := worker.stdout.readline()):
        raise SystemExit(f"{worker.args[-1]!r} has ended: see above")
    return float(answer)


def main(commit: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", place, commit], cwd=ROOT, check=True)
        try:
            print(f"| a gradient, us | now | at {commit} | ratio |\n|---|---|---|---|")
            for name in JOBS:
                now, then = in_turns(name, (ROOT, place))
                row = f"{median(now):.1f} | {median(then):.1f} | {ratio(now, then):.2f}"
                print(f"| {name} | {row} |", flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="57cac36", help="default: %(default)s")
    parser.add_argument("--serve", metavar="JOB", help="what the two processes are told")
    given = parser.parse_args()
    serve(given.serve) if given.serve else main(given.commit)
