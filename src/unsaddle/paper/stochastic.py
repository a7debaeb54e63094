"""Algorithm 3 of Zhang & Li (2021) and PSGD of Jin et al. (2021) on a batch, for figure 2.

As in the figure, the stochastic gradient is the gradient plus noise that the method itself adds.
Additive noise that came with the samples would cancel in Algorithm 3, which takes the same samples
at both points, but not in PSGD.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from unsaddle.landscapes import Landscape
from unsaddle.ops import batch


def psgd(
    f: Landscape,
    values: Mapping[str, Any],
    times: Iterable[int],
    seeds: np.ndarray,
    ops: Any = batch,
) -> Iterator[np.ndarray]:
    """x_{t+1} = x_t - eta g(x_t) - noise xi_t, with xi_t ~ N(0, I).

    Args:
        f: The landscape.
        values: ``eta``, and ``noise``, the standard deviation of what a step adds.
        times: After how many iterations to look, ascending.
        seeds: One per sample.
        ops: The backend.

    Yields:
        The samples at each time, one row each.
    """
    x, done = np.zeros((len(seeds), f.n)), 0
    for time in times:
        for t in range(done, time):
            x = x - values["eta"] * f.gradient(x) - values["noise"] * ops.noise(x, seeds, t)
        done = time
        yield x.copy()


def snc(
    f: Landscape,
    values: Mapping[str, Any],
    times: Iterable[int],
    seeds: np.ndarray,
    ops: Any = batch,
) -> Iterator[np.ndarray]:
    """y_t = y_{t-1} - eta (g(y_{t-1}) - g(0) + xi_t/L_{t-1}), xi_t ~ N(0, r^2/n I), |y_t| = r.

    Args:
        f: The landscape.
        values: ``eta``, ``r``, and ``start``: 0 for y_0 = 0 as printed, 1 for the circle of radius
            r of the caption.
        times: After how many iterations to look, ascending.
        seeds: One per sample.
        ops: The backend.

    Yields:
        The samples at each time, one row each.
    """
    eta, r, origin = values["eta"], values["r"], np.zeros((len(seeds), f.n))
    w = ops.noise(origin, seeds, 0)
    y = ops.times(values["start"] * r / ops.norm(w), w)
    scale, done = np.ones(len(seeds)), 0  # L_0, which is immaterial when y_0 = 0
    for time in times:
        for t in range(done, time):
            noise = ops.times(r / np.sqrt(f.n) / scale, ops.noise(y, seeds, t + 1))
            y = y - eta * (f.gradient(y) - f.gradient(origin) + noise)
            length = ops.norm(y)
            scale, y = scale * length / r, ops.scale(r / length, y)
        done = time
        yield y.copy()
