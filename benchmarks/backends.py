"""What a kernel costs on torch and JAX beside a loop written by hand: ratios per step at n = 10^6.

Both sides do the same arithmetic on the same cheap function, sum d_i x_i^2/2, so that what is left
is the cost of the kernel itself; a real gradient hides it. Times are the processor's. Both sides
take turns, and the best of each counts; torch has one thread, JAX as many as it takes, added up. An
array of 31 MB is made and freed first, after which glibc's malloc keeps freed vectors: without
that, page faults come and go with the order of allocations, on either side. Other work on the
machine takes part of its caches: times are longer then, and ratios may be larger by a half. Where
AGD is above its limit: v_{t+1} is kept from one query to the next, which a loop by hand computes in
place (torch) or twice (JAX), and each gradient is read once more to see whether it is finite.

The second table is of `Auto` on networks of so many tensors on torch, beside `torch.optim.LBFGS`
with as many pairs and the strong Wolfe conditions: per gradient, and without the time that the
gradient itself takes. The third is of optimisers around `Adam` that have nothing to do, in steps of
`Adam` alone: `Escape` with a tol, which has a limit, and without, where it judges blocks of steps
too; then an optimiser that does nothing of its own, one that looks at the norm of the gradient, and
one that does so at every tenth step. These two tables are of medians; where the optimiser that does
nothing is below 1, that is noise.

`Escape` is above its limit because it reads every gradient before the step: one that is NaN or
infinite is refused, and leaves parameters and moments as they were. The column of the norm is what
that costs; the rest is Python. Looking at every tenth step only would cost little more than an
optimiser that does nothing, but it would let such a gradient into Adam's moments.

    python benchmarks/backends.py [--output docs/backends.md]
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch
from networks import networks

import unsaddle.jax
import unsaddle.torch
from unsaddle.methods.table import METHODS, override
from unsaddle.torch.session import ParameterSession

N, STEPS, REPEATS = 10**6, 100, 9
KEPT = 31 * 2**18  # numbers in 31 MB
CONSTANTS = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "tol": 1e-12}
SEARCHING = {"tol": 1e-3, "failure_probability": 1e-100, "window": 1e9}  # from NEAR, for ever
NEAR = 1e-7  # times the usual start, the minimum being at 0
ETA = 1.0  # gradient descent's step at this smoothness
STEP, KEEP = 0.25, 1 - 0.25 * math.sqrt(1e-6)  # AGD's step and momentum


def compare(kernel: Callable[[], None], by_hand: Callable[[], None]) -> tuple[float, float]:
    """Time two runs in turn, the best of each, in milliseconds of the processor per step."""
    times: list[list[float]] = [[], []]
    for turn in range(REPEATS + 1):
        for run, taken in zip((kernel, by_hand), times, strict=True):
            begin = time.process_time()
            run()
            if turn:
                taken.append(1e3 * (time.process_time() - begin) / STEPS)
    return min(times[0]), min(times[1])


def torch_problem(scale: float = 1.0) -> tuple[torch.Tensor, torch.nn.Parameter]:
    """Give the weights d and the start x."""
    weights = torch.linspace(0.01, 1, N)
    return weights, torch.nn.Parameter(scale * torch.linspace(1, 2, N))


def torch_kernel(cls: Any, values: bool = False) -> Callable[[], None]:
    """Step an optimiser of this package."""
    weights, x = torch_problem()
    opt = cls([x], **CONSTANTS)
    x.grad = gradient = torch.empty_like(x)

    def closure() -> Any:
        with torch.no_grad():
            torch.mul(weights, x, out=gradient)
            return torch.dot(gradient, x.detach()) / 2 if values else None

    def run() -> None:
        for _ in range(STEPS):
            opt.step(closure)

    return run


def torch_gd() -> Callable[[], None]:
    """Gradient descent in place."""
    weights, x = torch_problem()
    g = torch.empty_like(x)

    @torch.no_grad()
    def run() -> None:
        for _ in range(STEPS):
            torch.mul(weights, x, out=g)
            if math.sqrt(float(torch.dot(g, g))) <= 1e-12:
                break
            x.add_(g, alpha=-ETA)

    return run


def torch_agd() -> Callable[[], None]:
    """Accelerated descent in place, with the dots of the NCE test."""
    weights, p = torch_problem()
    g, x, v = torch.empty_like(p), p.detach().clone(), torch.zeros_like(p)

    @torch.no_grad()
    def run() -> None:
        nonlocal v
        for _ in range(STEPS):
            torch.add(x, v, alpha=KEEP, out=p.detach())
            torch.mul(weights, p, out=g)
            value, slope, gap = (float(torch.dot(*pair)) for pair in ((g, p), (g, v), (v, v)))
            v = v.mul_(KEEP).add_(g, alpha=-STEP)
            p.detach().copy_(x)
            torch.mul(weights, p, out=g)
            here, norm = float(torch.dot(g, p)), float(torch.dot(g, g))
            if here <= value + slope - gap or norm <= 1e-24:
                pass
            x.add_(v)

    return run


def torch_search_kernel() -> Callable[[], None]:
    """Query by query, the search of ANCGD, of which an optimiser's step makes all."""
    weights, p = torch_problem(NEAR)
    x, g, line = [p.detach()], torch.empty_like(p), METHODS["ancgd"]
    known: Any = {k: v for k, v in (CONSTANTS | SEARCHING).items() if k != "window"}
    parameters = override(line.from_theory(n=N, **known), {"window": SEARCHING["window"]})
    session = ParameterSession(x, line.solver, parameters, seed=0)

    @torch.no_grad()
    def run() -> None:
        for _ in range(STEPS):
            session.ask()
            torch.mul(weights, x[0], out=g)
            session.tell(0.0, [g])

    return run


def torch_search() -> Callable[[], None]:
    """The same search in place."""
    weights, p = torch_problem()
    g, centre = torch.empty_like(p), (weights * p).detach()
    y, z, probe = torch.randn(N) * 1e-6, torch.randn(N) * 1e-6, torch.empty_like(p)

    @torch.no_grad()
    def run() -> None:
        nonlocal y, z
        for _ in range(STEPS):
            torch.add(p, z, out=probe)
            torch.mul(weights, probe, out=g)
            g.sub_(centre)
            float(torch.dot(z, g))
            z.add_(g, alpha=-1.0)
            y.mul_(-KEEP).add_(z, alpha=1 + KEEP)
            factor = 1e-3 / math.sqrt(float(torch.dot(y, y)))
            y, z = z.mul_(factor), y.mul_(factor)

    return run


def fun(x: Any, weights: Any) -> Any:
    """The function, which JAX differentiates on both sides."""
    return jnp.vdot(weights * x, x) / 2


def jax_kernel(
    method: str, queries: int = 1, scale: float = 1.0, **given: float
) -> Callable[[], None]:
    """Run a method until its budget is spent; a step of it takes so many queries."""
    weights, x = jnp.linspace(0.01, 1, N), scale * jnp.linspace(1, 2, N)
    words: Any = {**CONSTANTS, **given, "max_gradients": STEPS * queries + 1}

    def run() -> None:
        unsaddle.jax.minimize(fun, x, (weights,), method, **words).x.block_until_ready()

    return run


def jax_gd() -> Callable[[], None]:
    """Gradient descent in one while_loop."""
    weights, x = jnp.linspace(0.01, 1, N), jnp.linspace(1, 2, N)

    @jax.jit
    def loop(x: Any, weights: Any, steps: Any) -> Any:
        def body(carry: Any) -> Any:
            x, left, _ = carry
            g = jax.lax.optimization_barrier(jax.grad(fun)(x, weights))  # a real one is stored too
            return x - ETA * g, left - 1, jnp.sqrt(jnp.vdot(g, g))

        start = (x, steps, jnp.array(jnp.inf))
        return jax.lax.while_loop(lambda c: (c[1] > 0) & (c[2] > 1e-12), body, start)

    return lambda: loop(x, weights, STEPS)[0].block_until_ready()


def jax_agd() -> Callable[[], None]:
    """Accelerated descent in one while_loop."""
    weights, x = jnp.linspace(0.01, 1, N), jnp.linspace(1, 2, N)

    @jax.jit
    def loop(x: Any, weights: Any, steps: Any) -> Any:
        def body(carry: Any) -> Any:
            x, v, left, _ = carry
            z = x + KEEP * v
            value, g = jax.lax.optimization_barrier(jax.value_and_grad(fun)(z, weights))
            slope, gap = jnp.vdot(g, v), jnp.vdot(v, v)
            ahead = KEEP * v - STEP * g
            here, gx = jax.lax.optimization_barrier(jax.value_and_grad(fun)(x, weights))
            norm = jnp.sqrt(jnp.vdot(gx, gx))
            stay = (here <= value - KEEP * slope - gap) | (norm <= 1e-12)
            v = jnp.where(stay, v, ahead)
            return x + jnp.where(stay, 0.0, 1.0) * ahead, v, left - 1, norm

        start = (x, 0 * x, steps, jnp.array(jnp.inf))
        return jax.lax.while_loop(lambda c: (c[2] > 0) & (c[3] > 1e-12), body, start)

    return lambda: loop(x, weights, STEPS)[0].block_until_ready()


def jax_search() -> Callable[[], None]:
    """The same search in one while_loop."""
    weights, p = jnp.linspace(0.01, 1, N), jnp.linspace(1, 2, N)
    y, z = (1e-6 * jax.random.normal(jax.random.key(k), (N,)) for k in range(2))

    @jax.jit
    def loop(p: Any, y: Any, z: Any, weights: Any, steps: Any) -> Any:
        centre = weights * p

        def body(carry: Any) -> Any:
            y, z, left, _ = carry
            bend = jax.lax.optimization_barrier(weights * (p + z)) - centre
            ahead = z - bend
            far = (1 + KEEP) * ahead - KEEP * y
            factor = 1e-3 / jnp.sqrt(jnp.vdot(far, far))
            return factor * ahead, factor * far, left - 1, jnp.vdot(z, bend)

        start = (y, z, steps, jnp.array(0.0))
        return jax.lax.while_loop(lambda c: (c[2] > 0) & (c[3] < jnp.inf), body, start)

    return lambda: loop(p, y, z, weights, STEPS)[0].block_until_ready()


CASES = {
    "torch, gradient descent": (lambda: torch_kernel(unsaddle.torch.PGDNC), torch_gd, 1.4),
    "torch, AGD with NCE": (lambda: torch_kernel(unsaddle.torch.ANCGD, True), torch_agd, 1.4),
    "torch, ANC search": (torch_search_kernel, torch_search, 1.4),
    "JAX, gradient descent": (lambda: jax_kernel("pgd+nc"), jax_gd, 1.3),
    "JAX, AGD with NCE": (lambda: jax_kernel("ancgd", 2), jax_agd, 1.3),
    "JAX, ANC search": (lambda: jax_kernel("ancgd", 1, NEAR, **SEARCHING), jax_search, 1.3),
}


def main() -> None:
    """Measure every case and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", help="where to write the table, as Markdown")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.ones(KEPT)  # freed at once
    load, cores = os.getloadavg()[1], os.cpu_count()
    rows = [f"*Measured in one run on {cores} cores, with a load of {load:.1f} at its begin.*", ""]
    rows += ["| step | kernel, ms | by hand, ms | ratio | at most | met |", "|---" * 6 + "|"]
    for name, (kernel, by_hand, most) in CASES.items():
        mine, hand = compare(kernel(), by_hand())
        ratio = round(mine / hand, 2)
        met = "yes" if ratio <= most else "no"
        rows.append(f"| {name} | {mine:.2f} | {hand:.2f} | {ratio:.2f} | {most} | {met} |")
        print(rows[-1], flush=True)
    rows += ["", *networks()]
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(
                f"# What a step costs on torch and JAX\n\n{__doc__}\n" + "\n".join(rows) + "\n"
            )


if __name__ == "__main__":
    main()
