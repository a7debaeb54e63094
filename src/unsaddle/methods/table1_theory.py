"""Parameters of the deterministic rows of Table 1 that search at points which are not stationary.

Sources: Allen-Zhu & Li (2018) for ``neon2``, Carmon, Duchi, Hinder & Sidford (2018) for ``cdhs``.
"""

from math import acosh, ceil, log1p, pi, sqrt
from typing import NamedTuple


class Neon2(NamedTuple):
    """Parameters of one search."""

    window: int  # T
    reach: float  # G, the length by that of xi at which a direction is returned
    radius: float  # r, over which gradients are differenced


def neon2(
    *,
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # d
    failure_probability: float,  # p
    n: int,
) -> Neon2:
    """Give what suffices on a quadratic: G = max(2, 2 sqrt((l + d)/d)) and T.

    T_t(M) xi of length G has v'Hv <= -d/2: what has eigenvalues of at least -3 d/4 is at most one
    long. And cosh(T arccosh(1 + d/(4 l))) = G sqrt(2n/pi)/p makes an eigenvalue -d as long, unless
    xi is almost orthogonal to its eigenvector, which has probability p. Over r = (d/(2 rho)) p
    sqrt(pi/(2n)) bending is a quarter of what ``core/resolution.py`` allows an adversary.

    Returns:
        The parameters.
    """
    l, d = smoothness, curvature_tol  # noqa: E741
    reach = max(2.0, 2 * sqrt((l + d) / d))
    overlap = failure_probability * sqrt(pi / (2 * n))
    share = d / (4 * l)
    steps = acosh(reach / overlap) / log1p(share + sqrt(share * (2 + share)))  # acosh(1 + share)
    return Neon2(ceil(steps), reach, overlap * d / (2 * hessian_lipschitz))


class CurvatureStep(NamedTuple):
    """The step along a direction of curvature -d/2 or less."""

    length: float
    decrease: float


def curvature_step(*, hessian_lipschitz: float, curvature_tol: float) -> CurvatureStep:
    """Give d/rho, and the decrease d^3/(12 rho^2) that it ensures."""
    d, rho = curvature_tol, hessian_lipschitz
    return CurvatureStep(d / rho, d**3 / (12 * rho**2))


class AlmostConvex(NamedTuple):
    """Parameters of the descent."""

    step: float  # 1/(5 l + 6 alpha)
    momentum: float
    convexity: float  # 3 alpha
    accuracy: float  # e'
    nearly: float  # eps/2
    ball: float  # alpha/rho
    penalty: float  # l


def cdhs_curvature(
    *,
    smoothness: float,
    hessian_lipschitz: float,
    tol: float,
    decrease_available: float = 0.0,
) -> float:
    """Give alpha = min{l, max{eps^2/Delta, sqrt(rho eps)}}; without Delta its term is left out."""
    gap = tol**2 / decrease_available if decrease_available else 0.0
    return min(smoothness, max(gap, sqrt(hessian_lipschitz * tol)))


def almost_convex(
    *,
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    tol: float,  # eps
    curvature_tol: float,  # alpha
) -> AlmostConvex:
    """Give the parameters of Almost-Convex-AGD(f_k, x^, eps/2, 3 alpha, 5 l).

    With L = 5 l + 6 alpha and kappa = L/(3 alpha): steps 1/L, Nesterov's momentum for kappa, and
    e' = (eps/2) sqrt(3 alpha/(50 L)).

    Returns:
        The parameters.
    """
    convexity, nearly = 3 * curvature_tol, tol / 2
    steepest = 5 * smoothness + 2 * convexity
    root = sqrt(steepest / convexity)
    return AlmostConvex(
        step=1 / steepest,
        momentum=(root - 1) / (root + 1),
        convexity=convexity,
        accuracy=nearly * sqrt(convexity / (50 * steepest)),
        nearly=nearly,
        ball=curvature_tol / hessian_lipschitz,
        penalty=smoothness,
    )
