"""The four loops of the two methods, written by hand on NumPy arrays: one phase each, no checks.

They do the arithmetic of the kernels of the same names, in place and through BLAS, and work on the
arrays that the user's function returns. `cost.py` measures the library against them.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

Vector = NDArray[np.float64]
Function = Callable[[Vector], Any]

daxpy, ddot = get_blas_funcs(("axpy", "dot"), dtype="d")


def gd(f: Function, grad: Function, x: Vector, p: Any, gradients: int) -> None:
    """Run gradient descent."""
    for _ in range(gradients):
        g = grad(x)
        if math.sqrt(ddot(g, g)) <= p.tolerance:
            return
        daxpy(g, x, a=-p.descent.step)


def agd(f: Function, grad: Function, x: Vector, p: Any, gradients: int) -> None:
    """Run accelerated gradient descent with its test for negative curvature."""
    v, ahead, z, keep = np.zeros_like(x), np.empty_like(x), np.empty_like(x), 1 - p.descent.friction
    for _ in range(gradients // 2):
        np.copyto(z, x)
        daxpy(v, z, a=keep)
        at_z, g = f(z), grad(z)
        slope, bend = -keep * ddot(g, v), p.descent.nce_curvature * keep**2 * ddot(v, v)
        np.multiply(v, keep, out=ahead)
        daxpy(g, ahead, a=-p.descent.step)
        at_x, g = f(x), grad(x)
        bent = bend > 1e-15 * abs(at_x) and at_x <= at_z + slope - bend / 2
        if bent or math.sqrt(ddot(g, g)) <= p.tolerance:
            return
        daxpy(ahead, x)
        v, ahead = ahead, v


def nc(f: Function, grad: Function, x: Vector, p: Any, gradients: int) -> None:
    """Run the search by gradient descent at x."""
    y, z, radius, growth = np.random.default_rng(0).standard_normal(x.size), x.copy(), 1e-6, 1.0
    y /= math.sqrt(ddot(y, y))
    centre = grad(x)
    for _ in range(gradients):
        np.copyto(z, x)
        daxpy(y, z, a=radius)
        g = grad(z)
        daxpy(centre, g, a=-1.0)
        if ddot(y, g) / radius <= -p.escape.curvature_tol / 2:
            return
        daxpy(g, y, a=-p.escape.search_step / radius)
        length = math.sqrt(ddot(y, y))
        np.multiply(y, 1 / length, out=y)
        growth *= (1 + p.escape.search_step * p.escape.curvature_tol) / length


def anc(f: Function, grad: Function, x: Vector, p: Any, gradients: int) -> None:
    """Run the accelerated search at x."""
    ahead, z, radius = np.random.default_rng(0).standard_normal(x.size), x.copy(), 1e-6
    ahead *= radius / math.sqrt(ddot(ahead, ahead))
    behind, keep, centre = ahead.copy(), 1 - p.escape.search_friction, grad(x)
    for _ in range(gradients):
        np.copyto(z, x)
        daxpy(ahead, z)
        g = grad(z)
        daxpy(centre, g, a=-1.0)
        if ddot(ahead, g) / radius**2 <= -p.escape.curvature_tol / 2:
            return
        daxpy(g, ahead, a=-p.escape.search_step)
        np.multiply(behind, -keep, out=behind)
        daxpy(ahead, behind, a=1 + keep)
        shrink = radius / math.sqrt(ddot(behind, behind))
        np.multiply(ahead, shrink, out=ahead)
        np.multiply(behind, shrink, out=behind)
        ahead, behind = behind, ahead


BY_HAND: dict[tuple[str, str], Callable[..., None]] = {
    ("pgd+nc", "descent"): gd,
    ("pgd+nc", "search"): nc,
    ("ancgd", "descent"): agd,
    ("ancgd", "search"): anc,
}
