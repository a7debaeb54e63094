"""Parameters of the stochastic rows of Table 1: as printed, and ones that can be paid for.

Sources, by way of their descriptions elsewhere: Allen-Zhu & Li (2018) for ``neon2_online``, Fang,
Li, Lin & Zhang (2018) for ``spider``, Fang, Lin & Zhang (2019) for ``sharp_sgd``.
"""

from math import ceil, floor, log, log1p, pi, sqrt
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

    A step eta needs m = 4 lt^2 eta/d samples. One sample with eta = d/(4 lt^2) and m samples with
    eta = 1/l take the same number in all; the latter takes fewer queries. The reach is
    (1 + d/l)^T p sqrt(pi/(2n)). An eigenvalue -d comes to it in T steps with probability 1 - p.
    What has curvature above -d/2 is then a share of at most sqrt(d/(4l)) of the length, and raises
    the Rayleigh quotient by d/4 at most.

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


class SharpSgd(NamedTuple):
    """Parameters of SGD in balls."""

    step: float  # eta
    batch: int
    noise: float  # root mean square length of xi
    ball: float  # B
    window: float  # K_0


def sharp_sgd(
    *,
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # d
    variance: float,  # sigma^2
    failure_probability: float,  # p
    n: int,
) -> SharpSgd:
    """Give B = d/(rho C_1), K_0 = C_1/(16 eta d) and the eta that goes with them.

    eta = B^2 d/(512 max(sigma^2, 1) C_1 log(48 K_0/p)), and
    C_1 = 2 (floor(log(3/p)/log(1/.7)) + 1) log(24 sqrt(n)/eta). They define each other, and are
    iterated. At Table 1's point eta is of the order of 1e-19.

    Returns:
        The parameters.
    """
    d, risk, step = curvature_tol, failure_probability, 1e-10
    rounds = 2 * (floor(log(3 / risk) / log(1 / 0.7)) + 1)
    ball = window = 0.0
    for _ in range(100):
        factor = rounds * log(24 * sqrt(n) / step)
        ball, window = d / (hessian_lipschitz * factor), factor / (16 * step * d)
        step = ball**2 * d / (512 * max(variance, 1.0) * factor * log(48 * window / risk))
    return SharpSgd(step, 1, sqrt(variance), ball, window)


def sharp_sgd_practical(
    *,
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # d
    tol: float,  # eps
    variance: float,  # sigma^2
    failure_probability: float,  # p
    n: int,
) -> SharpSgd:
    """Give eta = 1/(2 l), and what it takes to tell a saddle from a minimum with probability p.

    * *Ball.* Over 2 B = d/(2 rho) the curvature changes by d/2. For the mean of the iterates,
      |g| <= (3/2) B/(eta K_0) + rho B^2/2, which is within eps: B is lower where need be.
    * *Noise.* Let V be the variance of a step's gradient. By Pinelis' inequality its sum over K_0
      steps stays below B/2 with probability 1 - p if eta^2 K_0 V = B^2/(8 log(2/p)). Half of V is
      left to the samples, whose batch is 2 sigma^2/V, and half is xi.
    * *Time.* Where there is a curvature of -d, the ball has -d/2 or less along u everywhere, and xi
      alone makes the part along u normal with a standard deviation of at least
      eta (r/sqrt(n)) sqrt(((1 + a)^(2 K_0) - 1)/(2 a + a^2)), a = eta d/2. It is within B with
      probability p if that is B sqrt(2/pi)/p. So (1 + a)^(2 K_0) = e^C solves
      e^C - 1 = 32 n log(2/p) K_0 (2 a + a^2)/(pi p^2), whatever B, V and sigma are.

    This is an argument for one ball, not a proof of the method: success needs a certificate.

    Returns:
        The parameters.
    """
    d, risk, step = curvature_tol, failure_probability, 1 / (2 * smoothness)
    a, tail = step * d / 2, log(2 / risk)
    window = 1.0
    for _ in range(100):
        window = log1p(32 * n * tail * window * (2 * a + a * a) / (pi * risk**2)) / (2 * log1p(a))
    window = float(ceil(window))
    rho = hessian_lipschitz
    ball = min(d / (4 * rho), sqrt(tol / (2 * rho)), step * window * tol / 3)
    allowed = ball**2 / (8 * tail * step**2 * window)  # V
    return SharpSgd(step, max(1, ceil(2 * variance / allowed)), sqrt(allowed / 2), ball, window)
