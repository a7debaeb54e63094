"""The record that describes a test function, and two helpers to write one."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Landscape:
    """A function whose saddles, minima and constants are known.

    `value` and `gradient` take a NumPy or JAX array of shape (..., n), or a torch tensor, and keep
    its dtype; leading axes are a batch of points. `hessian` takes one NumPy point.

    The constants hold on the convex set that `region` describes. It contains the ball of `radius`
    about the origin, the saddles, the minima and every point whose value is at most that of a
    saddle, so that gradient descent with a step of at most 1 / `smoothness` from there stays in it.
    """

    name: str  # its key in LANDSCAPES
    n: int  # the dimension
    value: Callable[[Any], Any]  # f
    gradient: Callable[[Any], Any]  # of the shape of its argument
    hessian: Callable[[np.ndarray], np.ndarray]  # n by n
    saddles: tuple[np.ndarray, ...]  # the strict ones that are known: lambda_min < 0
    minima: tuple[np.ndarray, ...]  # the local ones that are known; none if f falls to infinity
    infimum: float  # over the whole space
    smoothness: float  # l, a bound on the spectral norm of the Hessian
    hessian_lipschitz: float  # rho, a Lipschitz constant of the Hessian
    region: str  # where the two hold, in a sentence
    radius: float  # of a ball about the origin that lies in the region


def namespace(x: Any) -> Any:
    """Find the module whose functions act on x: `numpy`, `jax.numpy`, or `torch` if imported."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return torch
    raise TypeError(
        f"x must be a NumPy or JAX array or a torch tensor, got {type(x).__name__}: "
        "pass numpy.asarray(x, dtype=float)"
    )


def refine(
    gradient: Callable[[Any], Any], hessian: Callable[[np.ndarray], np.ndarray], start: Any
) -> np.ndarray:
    """Take a start near a stationary point to it, to rounding, by Newton steps."""
    x = np.array(start, dtype=float)
    for _ in range(20):
        x -= np.linalg.solve(hessian(x), gradient(x))
    return x
