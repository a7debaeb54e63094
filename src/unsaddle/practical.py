"""Parameters of the stochastic methods: as printed, and ones that can be paid for.

**What print costs.** One search takes 2 m T_s gradients. With the printed m and T_s that is
eps^-1.25/delta times logarithms, not the eps^-0.5/delta of Proposition "SNC-finding"; and as the
theorem's delta is a multiple of eps^1.5 and it grants eps^-1.5 searches, all searches together take
eps^-4.25, not eps^-4. In numbers m is 10^10 and more.

**What is done instead.** One search need not succeed but with a constant probability, since its
direction is tried on fresh samples (``trial.py``) and a search can be repeated: log(1/delta)
times leave a chance of delta. For one search, let e^2 = lt^2/(l^2 m) bound the variance of a step
relative to |y|^2, and let 1 + gamma/l and 1 - lambda/l be the growth along the bottom direction and
one of curvature lambda:

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

from math import ceil, inf, log, log1p, pi, sqrt
from typing import Any, NamedTuple

from scipy.special import stdtrit

from unsaddle import theory
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.escapes.never import never
from unsaddle.escapes.snc import snc
from unsaddle.kernel import Parameters

LUCK = 0.25  # p, chance that one search misses
CHECKS = 16  # K, minibatches of a trial
SOON = 0.5  # share of gamma at which a search ends early
ENOUGH = 0.125  # share of gamma that a direction must reach with confidence
STRETCH = 2.0  # |curvature|/rho: the length at which f is sure to fall most
ACCURACY = 4.0  # tol over the root mean square error of a minibatch gradient


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
    window = ceil(log(sqrt(2 * n / pi) / LUCK * sqrt(4 / ratio)) / contrast)
    radius = curvature_tol / (16 * hessian_lipschitz)
    batch = ceil(4 * stochastic_smoothness**2 / (smoothness * curvature_tol))
    probes = ceil(log(1 / failure_probability) / log(1 / LUCK))
    return Search(max(1, window), radius, max(1, batch), curvature_tol * radius, max(1, probes))


def quantile(checks: int, failure_probability: float) -> float:
    """Give Student's one-sided quantile for a trial of so many minibatches."""
    return float(stdtrit(checks - 1, 1 - failure_probability))


def sgd_nc(*, printed: bool, **given: Any) -> Parameters:
    """Give the parameters of ``sgd+nc``.

    Args:
        printed: As in Theorem "PSGD+SNC-full", else as derived above.
        **given: The constants of the function, and the targets.

    Returns:
        The parameters.
    """
    gamma, rho, lt = (
        given["curvature_tol"],
        given["hessian_lipschitz"],
        given["stochastic_smoothness"],
    )
    target = gamma**2 / rho  # the eps whose sqrt(rho eps) is gamma
    words = {"smoothness": given["smoothness"], "hessian_lipschitz": rho, "n": given["n"]}
    risk = {"failure_probability": given["failure_probability"]}
    leap = theory.jump(hessian_lipschitz=rho, tol=target)
    if printed:
        all_in_all = {**words, **risk, "decrease_available": given["decrease_available"]}
        found: Any = theory.sgd_nc(
            **all_in_all, tol=target, stochastic_smoothness=lt, variance=given["variance"]
        )
        own = {"start": 0.0, "noise": found.radius, "soon": inf, "probes": 1, "stretch": 0.0}
        batch = theory.sgd_nc(
            **all_in_all, tol=given["tol"], stochastic_smoothness=lt, variance=given["variance"]
        ).descent_batch
    else:
        found = snc_finding(**words, **risk, curvature_tol=gamma, stochastic_smoothness=lt)
        own = {
            "start": 1.0,
            "noise": found.noise,
            "soon": SOON,
            "probes": found.probes,
            "stretch": STRETCH,
        }
        batch = ceil(given["variance"] * (ACCURACY / given["tol"]) ** 2)
    escape = snc.settings(
        search_step=1 / given["smoothness"],
        radius=found.radius,
        window=found.window,
        search_batch=found.batch,
        checks=CHECKS,
        check_batch=ceil((4 * lt / gamma) ** 2 / CHECKS),
        quantile=quantile(CHECKS, given["failure_probability"]),
        enough=ENOUGH,
        length=leap.length,
        decrease=leap.decrease,
        curvature_tol=gamma,
        smoothness=given["smoothness"],
        hessian_lipschitz=rho,
        **own,
        **risk,
    )
    descent = sgd.settings(step=1 / given["smoothness"], batch=max(1, batch))
    return Parameters(0.75 * given["tol"], descent, escape)


def perturbed(*, printed: bool, **given: Any) -> Parameters:
    """Give the parameters of ``psgd``.

    Args:
        printed: As in Jin et al. (2021), else with its logarithmic factor iota set to 1.
        **given: The constants of the function, and the targets.

    Returns:
        The parameters.
    """
    found = theory.psgd(
        smoothness=given["smoothness"],
        hessian_lipschitz=given["hessian_lipschitz"],
        tol=given["tol"],
        n=given["n"],
        failure_probability=given["failure_probability"],
        decrease_available=given["decrease_available"] if printed else 1.0,
        variance=given["variance"],
        stochastic_smoothness=given["stochastic_smoothness"],
        constant=1.0 if printed else 1e-9,
    )
    descent = psgd.settings(step=found.step, radius=found.radius, batch=1)
    return Parameters(given["tol"], descent, never.settings())
