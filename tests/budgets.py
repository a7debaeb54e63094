"""After how many steps a search must have certified, by theory.

Sources: Kuczynski & Wozniakowski (1992) for `krylov_budget`; the others follow from the growth
certificate.
"""

from bisect import bisect_left
from math import ceil, log, log1p, pi, sqrt
from typing import NamedTuple

from unsaddle.methods.constants import checked


def steps(count: float) -> int:
    """Round up to a number of steps."""
    return max(1, ceil(count))


class KrylovBudget(NamedTuple):
    """Numbers of Krylov vectors, one gradient difference each."""

    lanczos: int
    power: int


@checked
def krylov_budget(
    *, smoothness: float, curvature_tol: float, failure_probability: float, n: int
) -> KrylovBudget:
    """Return after how many steps no Rayleigh quotient below -gamma / 2 means lambda_min >= -gamma.

    The bounds of Kuczynski & Wozniakowski for l I - H, whose norm is at most 2 l, at the relative
    error gamma / (4 l).
    """
    error = curvature_tol / (4 * smoothness)
    lanczos = 0.5 + log(1.648 * sqrt(n) / failure_probability) / (2 * sqrt(error))
    bar = failure_probability / sqrt(n)
    power = 2 + bisect_left(
        range(2, 2**62),
        True,
        key=lambda k: min(0.824, 0.354 / sqrt(error * (k - 1))) * (1 - error) ** (k - 0.5) <= bar,
    )
    return KrylovBudget(min(n, steps(lanczos)), power)


@checked
def growth_budget(
    *, smoothness: float, curvature_tol: float, failure_probability: float, n: int
) -> int:
    """Return when gradient descent of step 1 / l has certified lambda_min > -gamma, if >= 0."""
    bar = sqrt(2 * n / pi) / failure_probability  # for (1 + gamma / l)^k, since |y_k| <= |y_0|
    return steps(log(bar) / log1p(curvature_tol / smoothness))


@checked
def accelerated_growth_budget(
    *, step: float, friction: float, curvature_tol: float, failure_probability: float, n: int
) -> int:
    """Return when the accelerated recursion has certified lambda_min > -gamma, if >= 0.

    The certificate sets s_x against |x_k|, s_z against |z_k|. Let eta <= 1 / l. Per eigendirection,
    with h = eta lambda, a step adds -h^2 (1 - h) z^2 - (1 - (1 - theta)^2 (1 - h)) v^2 <= 0 to
    h x^2 + v^2, so |x_k| <= |x_0| if v_0 = 0: it has fired when s_x reaches sqrt(2 n / pi) / delta,
    one step after s_z or sooner. |z_k| <= sqrt(1 + eta l) |x_0| follows; measured: <= |x_0|.
    The recursion is run, for at most 10^6 steps: that answer means at least as many.
    """
    bar = sqrt(2 * n / pi) / failure_probability
    s_x, s_z, count = 1.0, 1.0, 0
    while s_x < bar and count < 10**6:
        s_x, before = (1 + step * curvature_tol) * s_z, s_x
        s_z = s_x + (1 - friction) * (s_x - before)
        count += 1
    return max(1, count)
