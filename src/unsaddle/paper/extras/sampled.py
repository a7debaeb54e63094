"""Table 1's stochastic methods, on h known from samples: measured, and as printed.

The samples of a gradient differ by additive noise, normal and isotropic, of root mean square length
tol each. A mean over m of them has a known distribution: it is drawn at once, and counts as m.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from unsaddle import landscapes
from unsaddle.methods import theory
from unsaddle.methods.table import STOCHASTIC
from unsaddle.numpy.stochastic import minimize_stochastic

LEFT = 0.9  # of all the decrease there is: psgd, which never ends, is stopped there
LIMIT = 10**6  # samples of psgd


class Ended(NamedTuple):
    """What a run took, and where it ended."""

    samples: float  # whose gradients were computed; infinite where psgd was not through
    certified: bool
    x: np.ndarray


class Minibatch(NamedTuple):
    """A minibatch, known by the seed that makes its mean."""

    seed: int
    samples: int

    def __len__(self) -> int:
        """Say how many samples there are."""
        return self.samples


def sampler(rng: np.random.Generator, size: int) -> Minibatch:
    """Draw so many samples."""
    return Minibatch(int(rng.integers(2**62)), size)


def noise(batch: Minibatch, n: int, sigma: float) -> np.ndarray:
    """Give the mean of a batch of vectors whose root mean square length is sigma."""
    spread = sigma / math.sqrt(n * batch.samples)
    return spread * np.random.default_rng(batch.seed).standard_normal(n)


def known(n: int, eps: float) -> dict[str, Any]:
    """Give the constants of h, and the tolerance whose gamma is half of the saddle's curvature."""
    f, tol = landscapes.h(n, eps), eps**1.5 / 18
    return {
        "smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz, "tol": tol,
        "stochastic_smoothness": f.smoothness, "variance": tol**2, "decrease_available": eps**2,
        "failure_probability": 1e-3,
    }  # fmt: skip


def run(method: str, n: int, eps: float, seed: int) -> Ended:
    """Run a method from the saddle to its end; psgd, which has none, until it is through."""
    f, constants, through = landscapes.h(n, eps), known(n, eps), []

    def grad(x: np.ndarray, batch: Minibatch) -> np.ndarray:
        return f.gradient(x) + noise(batch, n, constants["tol"])

    def stop(x: np.ndarray) -> None:
        if f.value(x) <= LEFT * f.infimum:
            through.append(x)
            raise StopIteration

    endless = {"max_samples": LIMIT, "callback": stop} if method == "psgd" else {}
    end = minimize_stochastic(
        grad, np.zeros(n), sampler, method, seed=seed, **constants, **endless
    )  # fmt: skip
    return Ended(end.njev if end.success or through else math.inf, end.success, end.x)


def printed(method: str, n: int, eps: float) -> float:
    """Compute what it takes as printed.

    A search, 2 m T_s, of sgd+nc, and 2 T of neon2-online; an epoch, 2 K S_2, with its search, of
    spider+; the steps in the last ball, K_0, of sharp-sgd; psgd's own script T.

    Returns:
        The gradients of single samples.
    """
    if method == "psgd":
        return float(theory.psgd(n=n, **known(n, eps)).steps)
    p = STOCHASTIC[method].from_theory(n=n, preset="printed", **known(n, eps))
    if method == "sharp-sgd":
        return float(p.descent.window)
    epoch = 2.0 * p.descent.epoch * p.descent.batch if method == "spider+" else 0.0
    return epoch + 2.0 * p.escape.search_batch * p.escape.window
