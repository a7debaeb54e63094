"""Parameters of the stochastic methods: as printed, and ones that can be paid for.

**What print costs.** One search takes 2 m T_s gradients. With the printed m and T_s that is
eps^-1.25/delta times logarithms, not the eps^-0.5/delta of Proposition "SNC-finding"; and as the
theorem's delta is a multiple of eps^1.5 and it grants eps^-1.5 searches, all searches together take
eps^-4.25, not eps^-4. In numbers m is 10^10 and more.

**What is done instead.** One search has to succeed with a constant probability only, since its
direction is tested on fresh samples (``escapes/sample_test.py``) and a search can be repeated:
log(1/delta) times leave a chance of delta. For one search, let e^2 = lt^2/(l^2 m) bound the
variance of a step relative to |y|^2, and let 1 + gamma/l and 1 - lambda/l be the growth along the
bottom direction and along one of curvature lambda:

* *Time.* On the sphere a part of at least p sqrt(pi/(2n)) lies along the bottom direction with
  probability 1 - p. All that has curvature above -gamma/2 is smaller than that part by
  sqrt(gamma/(4l)) after T steps, ((1 + gamma/l)/(1 + gamma/(2l)))^T = (1/p) sqrt(8 n l/(pi gamma)).
  It then raises the Rayleigh quotient by at most gamma/4.
* *Samples.* The noise of a step in direction lambda shrinks relative to the bottom one by
  (lambda + gamma)/l a step, so the sum of all steps stays below e_lambda^2 l/(2 (lambda + gamma)),
  and raises the Rayleigh quotient by lambda times that, in all by l e^2/2 = lt^2/(2 l m) at most:
  m = 4 lt^2/(l gamma) makes it gamma/8.
* *Radius.* r = gamma/(16 rho) shifts a Rayleigh quotient by gamma/32.

So a search costs 2 m T = (lt^2/gamma^2) log n times a constant, that is 1/eps instead of eps^-1.25
for constant delta; all searches eps^-2.5, less than the descent's eps^-4. These are arguments for
a typical run, not a proof: nothing is claimed of a result that the certificate does not show.
"""

from math import ceil, log, log1p, pi, sqrt
from typing import NamedTuple

from scipy.special import stdtrit


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    luck: float = 0.25  # (0, 1): p, the chance that one search misses; a search can be repeated
    checks: int = 16  # 2 and up: K, minibatches of a test; Student's quantile hardly falls beyond
    enough: float = 0.125  # of gamma, (0, 1/2): what a direction must reach with confidence
    stretch: float = 2.0  # of |curvature|/rho, (0, 3): the length at which f is sure to fall most


TUNING = Tuning()


class Search(NamedTuple):
    """Parameters of the searches at one point."""

    window: int  # script T
    radius: float  # r
    batch: int  # m
    noise: float  # root mean square length of xi
    probes: int


def snc_finding(
    *,
    smoothness: float,  # l
    stochastic_smoothness: float,  # lt
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # gamma
    failure_probability: float,  # delta
    n: int,
) -> Search:
    """Give the parameters derived above."""
    ratio = curvature_tol / smoothness
    contrast = log1p(ratio) - log1p(ratio / 2)
    window = ceil(log(sqrt(2 * n / pi) / TUNING.luck * sqrt(4 / ratio)) / contrast)
    radius = curvature_tol / (16 * hessian_lipschitz)
    batch = ceil(4 * stochastic_smoothness**2 / (smoothness * curvature_tol))
    probes = ceil(log(1 / failure_probability) / log(1 / TUNING.luck))
    return Search(max(1, window), radius, max(1, batch), curvature_tol * radius, max(1, probes))


def quantile(checks: int, failure_probability: float) -> float:
    """Give Student's one-sided quantile for a test of so many minibatches."""
    return float(stdtrit(checks - 1, 1 - failure_probability))


def concentrated(
    stochastic_smoothness: float, error: float, failure_probability: float, n: int
) -> int:
    """Give how many samples have a mean Hessian within ``error`` of its expectation, from above.

    The matrix Bernstein inequality for H_theta - H, of norm at most 2 lt and variance at most lt^2:
    P(lambda_max >= t) <= n exp(-N t^2/(2 lt^2 + 4 lt t/3)).

    Returns:
        The number of samples N.
    """
    lt = stochastic_smoothness
    bound = (2 * lt**2 + 4 * lt * error / 3) * log(n / failure_probability) / error**2
    return max(1, ceil(bound))
