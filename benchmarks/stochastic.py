"""Samples to leave a saddle against n: sgd+nc and psgd, under four models of the noise.

f(x) = -(gamma/2) x_1^2 + (gamma/4) x_1^4 + |x_2..n|^2/2, started at the saddle 0. It is left when f
has fallen by a tenth of what there is to fall, gamma/4. Prints a table in Markdown: medians.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from unsaddle import minimize_stochastic
from unsaddle.paper.extras.sampled import Minibatch, sampler

GAMMA = 0.05
RHO = 6 * GAMMA
TOL = GAMMA**2 / RHO
SIZES = (10, 100, 1000, 10_000)
SEEDS = {10: 5, 100: 5, 1000: 3, 10_000: 1}


class Model(NamedTuple):
    """Noise of the gradient and of the Hessian."""

    label: str
    sigma: float
    orthogonal: bool = False
    bend: float = 0.0


MODELS = [
    Model("additive, isotropic, sigma = eps", TOL),
    Model("additive, isotropic, sigma = 10 eps", 10 * TOL),
    Model("additive, none along the way out, sigma = 10 eps", 10 * TOL, orthogonal=True),
    Model("additive, sigma = eps, and Hessians that differ by 1", TOL, bend=1.0),
]


def value(x: np.ndarray) -> float:
    """Give f."""
    return float(-GAMMA / 2 * x[0] ** 2 + GAMMA / 4 * x[0] ** 4 + x[1:] @ x[1:] / 2)


def problem(model: Model, n: int) -> tuple[Callable[..., np.ndarray], Callable[..., Minibatch]]:
    """Give grad and sampler: the mean over a batch is drawn in one go, with its distribution."""

    def grad(x: np.ndarray, batch: Minibatch) -> np.ndarray:
        rng = np.random.default_rng(batch.seed)
        g = x.copy()
        g[0] = GAMMA * (x[0] ** 3 - x[0])
        noise = rng.standard_normal(n)
        noise[0] *= not model.orthogonal
        g += model.sigma / math.sqrt(n * batch.samples) * noise
        if model.bend:  # a mean of signs, one for each variable and sample
            signs = 2 * rng.binomial(batch.samples, 0.5, n) / batch.samples - 1
            g += model.bend * signs * x
        return g

    return grad, sampler


def samples(model: Model, method: str, n: int, seed: int, limit: int, **options: Any) -> float:
    """Count gradients of samples until the saddle is left; infinite if it is not."""
    left = []

    def callback(x: np.ndarray) -> None:
        if value(x) <= -GAMMA / 40:
            left.append(x)
            raise StopIteration

    grad, sampler = problem(model, n)
    result = minimize_stochastic(
        grad,
        np.zeros(n),
        sampler,
        method,
        tol=TOL,
        seed=seed,
        max_samples=limit,
        callback=callback,
        smoothness=1.0,
        hessian_lipschitz=RHO,
        stochastic_smoothness=1.0 + model.bend,
        variance=model.sigma**2,
        **options,
    )
    return result.njev if left else math.inf


def row(model: Model, method: str, label: str, **options: Any) -> str:
    """Measure one line of the table: medians over the seeds."""
    cells = []
    for n in SIZES:
        counts = [samples(model, method, n, k, 400_000, **options) for k in range(SEEDS[n])]
        median = float(np.median(counts))
        cells.append("never" if math.isinf(median) else f"{median:,.0f}")
    return f"| {model.label} | {label} | " + " | ".join(cells) + " |"


def table() -> Iterator[str]:
    """Measure all lines."""
    yield "| noise | method | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |"
    yield "|" + "---|" * (2 + len(SIZES))
    for model in MODELS:
        yield row(model, "psgd", "`psgd`, iota = 1")
        yield row(model, "sgd+nc", "`sgd+nc`")
        if not model.bend:
            known = max(1, math.ceil(model.sigma**2 / TOL**2))
            yield row(model, "sgd+nc", "`sgd+nc`, m = 1", search_batch=1, check_batch=known)


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
