"""The same on torch and JAX: nasty arguments, and how often certificates are false."""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.torture import fuzz
from benchmarks.torture.calibration import DELTA, FAMILIES, GAMMA, N, eigenvalues, judged
from benchmarks.torture.trial import Trial

PRECISIONS = ("float64", "float32")
SEEDS = 60  # of each family and precision


def torch_trials(seed: int) -> Iterator[Trial]:
    """Give all trials on torch."""
    from benchmarks.torture.doors_torch import torch_doors, values

    yield from fuzz.through(torch_doors(), values)
    yield from _certified("torch.certify", _on_torch, seed)


def jax_trials(seed: int) -> Iterator[Trial]:
    """Give all trials on JAX and in optax."""
    from benchmarks.torture.doors_jax import jax_doors, values

    yield from fuzz.through(jax_doors(), values)
    yield from _certified("jax.certify", _on_jax, seed)


def _certified(row: str, call: Any, seed: int) -> Iterator[Trial]:
    for family in FAMILIES:
        for kind in PRECISIONS:
            for k in range(seed, seed + SEEDS):
                name = f"{family}, seed {k}"
                yield Trial(f"{row}, {kind}", name, partial(call, family, kind, k), DELTA)


def _on_torch(family: str, kind: str, seed: int) -> str:
    import torch

    import unsaddle.torch as front

    lam = eigenvalues(family)
    own, x = (
        torch.tensor(lam, dtype=getattr(torch, kind)),
        torch.zeros(N, dtype=getattr(torch, kind)),
    )
    x.requires_grad_()

    def closure() -> Any:
        x.grad = None
        loss = (own * x * x).sum() / 2
        loss.backward()
        return loss

    found = front.certify(closure, [x], GAMMA, DELTA, seed)

    def curvature(way: Any) -> float:
        u = way[0].double().numpy().ravel()
        return float(u @ (lam * u) / (u @ u))

    return judged(found, float(lam[0]), curvature)


def _on_jax(family: str, kind: str, seed: int) -> str:
    import jax.numpy as jnp

    import unsaddle.jax as front

    lam = eigenvalues(family)
    found = front.certify(
        _gradient(family), jnp.zeros(N, kind), (), GAMMA, DELTA, seed
    ).certificate()

    def curvature(way: Any) -> float:
        u = np.asarray(way, float)
        return float(u @ (lam * u) / (u @ u))

    return judged(found, float(lam[0]), curvature)


@lru_cache
def _gradient(family: str) -> Any:
    """Give one function a family, which is compiled once a precision."""
    lam = eigenvalues(family)
    return lambda x: lam.astype(x.dtype) * x
