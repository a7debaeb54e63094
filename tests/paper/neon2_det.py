"""Neon2-det of Allen-Zhu & Li (2018) as it is described: not renormalised, on points."""

from collections.abc import Callable

import numpy as np


def neon2_det(
    gradient: Callable[[np.ndarray], np.ndarray],
    x0: np.ndarray,
    xi: np.ndarray,  # of length sigma
    *,
    smoothness: float,  # l
    curvature: float,  # d
    steps: int,  # T
    far: float,  # r
) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Give the direction, or None, and all x_{t+1} - x_0."""
    here, points = gradient(x0), []

    def m(y: np.ndarray) -> np.ndarray:
        return (1 - 3 * curvature / (4 * smoothness)) * y - (gradient(x0 + y) - here) / smoothness

    before, y = np.zeros_like(xi), xi
    for _ in range(steps):
        before, y, moved = y, 2 * m(y) - before, m(y)
        points.append(y - moved)
        if np.linalg.norm(points[-1]) >= far:
            return points[-1] / np.linalg.norm(points[-1]), points
    return None, points
