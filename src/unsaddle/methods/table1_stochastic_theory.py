"""Parameters of the stochastic rows of Table 1: as printed, and ones that can be paid for.

Sources, by way of their descriptions elsewhere: Allen-Zhu & Li (2018) for ``neon2_online``, Fang,
Li, Lin & Zhang (2018) for ``spider``, Fang, Lin & Zhang (2019) for ``sharp_sgd``.
"""

from math import ceil, log, pi, sqrt
from typing import NamedTuple

from unsaddle.methods import stochastic_theory


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    growth: float = 2.0  # C_0, at least 1.62: C_0^2 >= C_0 + 1 lets an eigenvalue -d come to be far
    inner: float = 1.0  # n_0, 1 to 2 sigma/eps: the cost is the same, and steps are longest at 1


TUNING = Tuning()


class Neon2Online(NamedTuple):
    """Parameters of the searches at one point."""

    search_step: float  # eta
    window: int  # T
    reach: float  # |x_t - x~|/|xi| that takes negative curvature
    radius: float  # r, over which gradients are differenced
    search_batch: int
    probes: int


def neon2_online(
    *,
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # d
    failure_probability: float,  # p
    n: int,
) -> Neon2Online:
    """Give eta = d/(C_0^2 l^2 L), T = C_0^2 L/(eta d), L = log(n/p), and r = (n/p)^C_0 sigma.

    C_0 is "large enough" in print. On a quadratic (1 + eta d)^T is about (n/p)^(C_0^2), of which xi
    has a share of p/sqrt(n) or more along the eigenvector: it comes to (n/p)^C_0 if
    C_0^2 >= C_0 + 1. With sigma = eta^2 d^3/((n/p)^(2 C_0) rho), r is eta^2 d^3/((n/p)^C_0 rho).

    Returns:
        The parameters.
    """
    d, c, odds = curvature_tol, TUNING.growth**2, n / failure_probability
    step = d / (c * smoothness**2 * max(1.0, log(odds)))
    far = odds**TUNING.growth
    radius = step**2 * d**3 / (far * hessian_lipschitz)
    window = ceil(c * max(1.0, log(odds)) / (step * d))
    return Neon2Online(step, window, far, radius, 1, max(1, ceil(log(1 / failure_probability))))


def neon2_online_tests(
    *, stochastic_smoothness: float, curvature_tol: float, failure_probability: float
) -> int:
    """Give the m for which z is off by d/4 with probability p: 32 (lt/d)^2 log(2/p), by Hoeffding.

    Each term of z is between -lt and lt: P(|z - v'Hv| >= t) <= 2 exp(-m t^2/(2 lt^2)), t = d/4.

    Returns:
        The number of samples.
    """
    ratio = stochastic_smoothness / curvature_tol
    return ceil(32 * ratio**2 * log(2 / failure_probability))


def neon2_online_practical(
    *,
    smoothness: float,  # l
    stochastic_smoothness: float,  # lt
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # d
    failure_probability: float,
    n: int,
) -> Neon2Online:
    """Give the window, batch and radius of ``stochastic_theory.py``, and the reach that fits them.

    What is derived there needs a step eta and m samples of it with m = 4 lt^2 eta/d: one sample
    and eta = d/(4 lt^2), or m and 1/l, take the same number of samples, and the latter the fewest
    queries. With (1 + d/l)^T p sqrt(pi/(2n)) for the reach, which an eigenvalue -d comes to in T
    steps with probability 1 - p, all that has curvature above -d/2 is a share of at most
    sqrt(d/(4l)) of what is as long, and raises the Rayleigh quotient by d/4 at most.

    Returns:
        The parameters.
    """
    found = stochastic_theory.snc_finding(
        smoothness=smoothness,
        stochastic_smoothness=stochastic_smoothness,
        hessian_lipschitz=hessian_lipschitz,
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        n=n,
    )
    overlap = stochastic_theory.TUNING.luck * sqrt(pi / (2 * n))
    reach = overlap * (1 + curvature_tol / smoothness) ** found.window
    step = 1 / smoothness
    return Neon2Online(step, found.window, reach, found.radius, found.batch, found.probes)


class Spider(NamedTuple):
    """Parameters of SPIDER-SFO+."""

    step: float  # eta
    first_batch: int  # S_1
    batch: int  # S_2
    period: float  # q
    epoch: float  # K


def spider(
    *,
    stochastic_smoothness: float,  # L, of single samples in the mean square
    hessian_lipschitz: float,  # rho
    tol: float,  # eps
    curvature_tol: float,  # d
    variance: float,  # sigma^2
) -> Spider:
    """Give S_1 = 2 sigma^2/eps^2, S_2 = 2 sigma/(eps n_0), q = sigma n_0/eps, and eta and K.

    With eta = eps/(L n_0) the mean of |v - g|^2 is at most eps^2: sigma^2/S_1 and q L^2 eta^2/S_2
    are eps^2/2 each. And K = d L n_0/(rho eps) steps make an epoch as long as a jump, d/rho.

    Returns:
        The parameters, with those that are counts rounded up.
    """
    ratio, inner, ell = sqrt(variance) / tol, TUNING.inner, stochastic_smoothness
    return Spider(
        step=tol / (ell * inner),
        first_batch=max(1, ceil(2 * ratio**2)),
        batch=max(1, ceil(2 * ratio / inner)),
        period=float(max(1, ceil(ratio * inner))),
        epoch=float(max(1, ceil(curvature_tol * ell * inner / (hessian_lipschitz * tol)))),
    )
