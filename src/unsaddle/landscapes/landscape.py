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

    Attributes:
        name: The key in `LANDSCAPES`.
        n: The dimension.
        value: The function f.
        gradient: Its gradient, of the shape of its argument.
        hessian: Its Hessian at one point, n by n.
        saddles: Known strict saddles: the gradient vanishes, the Hessian has a negative eigenvalue.
        minima: Known local minima; empty when the infimum lies at infinity.
        infimum: The infimum of f over the whole space.
        smoothness: Bounds the spectral norm of the Hessian on the region.
        hessian_lipschitz: A Lipschitz constant of the Hessian on the region.
        region: Where the constants hold, in a sentence.
        radius: The radius of a ball about the origin that lies in the region.
    """

    name: str
    n: int
    value: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    hessian: Callable[[np.ndarray], np.ndarray]
    saddles: tuple[np.ndarray, ...]
    minima: tuple[np.ndarray, ...]
    infimum: float
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    region: str
    radius: float


def namespace(x: Any) -> Any:
    """Find the module whose functions act on x, without importing it.

    Args:
        x: A NumPy or JAX array, or a torch tensor.

    Returns:
        The module `numpy`, `jax.numpy` or `torch`.

    Raises:
        TypeError: If x is none of these.
    """
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
    """Take a start near a stationary point to it, to rounding, by Newton steps.

    Args:
        gradient: The gradient.
        hessian: The Hessian, invertible near the point.
        start: A point close enough for Newton's method to converge.

    Returns:
        The stationary point; its kind is that of the start's neighbourhood and is not checked.
    """
    x = np.array(start, dtype=float)
    for _ in range(20):
        x -= np.linalg.solve(hessian(x), gradient(x))
    return x
