"""The same on torch and JAX: nasty arguments, and how often certificates are false."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.torture import fuzz
from benchmarks.torture.calibration import (
    CONSTANTS,
    DELTA,
    FAMILIES,
    GAMMA,
    MEASURED,
    PULL,
    N,
    curved,
    eigenvalues,
    judged,
)
from benchmarks.torture.trial import Trial

PRECISIONS = ("float64", "float32")
SEEDS = 60  # of each family and precision in ``certify``, of each family and method in whole runs
COMPILED = 30  # of so many trials with nasty arguments on JAX one is compiled if it is taken
MOST = 3000  # gradients of a whole run


def torch_trials(seed: int) -> Iterator[Trial]:
    """Give nasty arguments on torch."""
    from benchmarks.torture.doors_torch import torch_doors, values

    return fuzz.through(torch_doors(), values)


def jax_trials(seed: int) -> Iterator[Trial]:
    """Give nasty arguments on JAX and in optax."""
    from benchmarks.torture.doors_jax import jax_doors, values

    for k, trial in enumerate(fuzz.through(jax_doors(), values)):
        yield trial if k % COMPILED == 0 else trial._replace(run=partial(_checked, trial.run))


def _checked(run: Callable[[], str]) -> str:
    """Run a trial on JAX up to where all arguments are checked, and no further."""
    from benchmarks.torture.doors_jax import nothing_compiled

    with nothing_compiled():
        return run()
    return ""


def fault_trials(seed: int) -> Iterator[Trial]:
    """Give faults on torch and in ASE."""
    from benchmarks.torture import faults_elsewhere

    return faults_elsewhere.trials(seed)


def calibration(seed: int) -> Iterator[Trial]:
    """Give searches and whole runs on torch and JAX, at and from saddles."""
    for row, call in {"torch.certify": _torch_certifies, "jax.certify": _jax_certifies}.items():
        for kind in PRECISIONS:
            yield from _each(f"{row}, {kind}", partial(call, kind), seed)
    yield from _each("jax.certify, hessp", partial(_jax_certifies, "float64", products=True), seed)
    for row, call in {"torch": _torch_runs, "jax.minimize": _jax_runs}.items():
        for method in MEASURED:
            yield from _each(f"{row}, {method}", partial(call, method), seed)


def _each(row: str, call: Any, seed: int) -> Iterator[Trial]:
    for family in FAMILIES:
        for k in range(seed, seed + SEEDS):
            yield Trial(row, f"{family}, seed {k}", partial(call, family, k), DELTA)


def _known(method: str) -> dict[str, Any]:
    """Give what a method is told."""
    own: dict[str, Any] = {} if method in ("auto", "agd-auto") else CONSTANTS
    return {"tol": 1e-3, "curvature_tol": GAMMA, "failure_probability": DELTA, **own}


def _torch_certifies(kind: str, family: str, seed: int) -> str:
    import torch

    import unsaddle.torch as front

    lam = eigenvalues(family)
    own = torch.tensor(lam, dtype=getattr(torch, kind))
    x = torch.nn.Parameter(torch.zeros(N, dtype=own.dtype))

    def closure() -> None:
        x.grad = own * x.detach()

    found = front.certify(closure, [x], GAMMA, DELTA, seed)
    return judged(found, float(lam[0]), lambda way: curved(way[0].double().numpy(), lam))


def _torch_runs(method: str, family: str, seed: int) -> str:
    import torch

    import unsaddle.torch as front

    lam, x = eigenvalues(family), torch.nn.Parameter(torch.zeros(N, dtype=torch.float64))
    own, pull = torch.tensor(lam), torch.tensor(PULL)

    def closure() -> Any:
        at = x.detach()
        x.grad = own * at + 4 * pull * at**3
        return own @ (at * at) / 2 + pull @ at**4

    optimiser = front.OPTIMISERS[method]([x], seed=seed, **_known(method))
    for _ in range(MOST):
        if optimiser.outcome is not None:
            break
        optimiser.step(closure)
    with optimiser.iterate():
        found = lam + 12 * PULL * x.detach().numpy() ** 2
    if optimiser.certificate is None:
        return ""
    return judged(
        optimiser.certificate, float(min(found)), lambda way: curved(way[0].numpy(), found)
    )


def _jax_certifies(kind: str, family: str, seed: int, products: bool = False) -> str:
    import jax.numpy as jnp

    import unsaddle.jax as front

    with_doubles()
    lam = eigenvalues(family)
    words = jnp.zeros(N, kind), (jnp.array(lam, kind),), GAMMA, DELTA, seed
    found = front.certify(_slope, *words, hessp=products).certificate()
    return judged(found, float(lam[0]), lambda way: curved(np.asarray(way, float), lam))


def _jax_runs(method: str, family: str, seed: int) -> str:
    import jax.numpy as jnp

    import unsaddle.jax as front

    with_doubles()
    lam = eigenvalues(family)
    data = jnp.array(lam), jnp.array(PULL)
    words = {"seed": seed, "max_gradients": MOST, **_known(method)}
    done = front.minimize(_height, jnp.zeros(N), data, method, **words)
    found = lam + 12 * PULL * np.asarray(done.x) ** 2
    shown = done.verdict.certificate()
    if bool(done.success) != (done.outcome.name == "CERTIFIED"):
        return "success and outcome differ"
    return judged(shown, float(min(found)), lambda way: curved(np.asarray(way), found))


def _slope(x: Any, lam: Any) -> Any:
    return lam * x


def _height(x: Any, lam: Any, pull: Any) -> Any:
    return lam @ (x * x) / 2 + pull @ x**4


@lru_cache
def with_doubles() -> None:
    """Let JAX compute in float64."""
    import jax

    jax.config.update("jax_enable_x64", True)
