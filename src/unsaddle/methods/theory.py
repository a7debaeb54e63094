"""The parameter formulas of the theory, one function per displayed equation.

Sources: Zhang & Li (2021) for `nc_finding` to `sgd_nc`; Jin, Ge, Netrapalli, Kakade & Jordan (2017)
for `pgd`; Jin, Netrapalli & Jordan (2018) for `pagd`; Jin, Netrapalli, Ge, Kakade & Jordan (2021)
for `psgd`. Arguments are keyword-only words, the common ones listed in `Finding` and `Run`; bodies
use the symbols. A value out of range raises a ValueError that names it. Counts are rounded up to an
int of at least 1.

Differences from the papers; 3 and 4 leave a dependence on the units of f and x:

1. `anc_finding`, `ancgd`: r' is corrected, because what is printed is not a length.
2. `pgd_nc`, `ancgd`, `sgd_nc`: one search is always made, so delta_0 never exceeds delta.
3. `sgd_nc`: M gets the factor max(1, sigma^2); the proof uses a multiple of sigma^2 / eps^2. T is
   as printed, though the descent T eps^2 / (32 l) of the proof is then Delta_f / 4, not Delta_f.
4. `pagd`, `psgd`: l Delta_f / (rho eps) in the logarithm is the square of a length, and
   in `snc_finding` eta r_s is not a length. These logarithms are kept at 1 or more.
5. `nc_finding`: none, but the proof loses a factor sqrt 2, it may fail with sqrt 2 delta_0.
"""

from math import ceil, inf, isclose, log, pi, sqrt
from operator import itemgetter
from typing import NamedTuple, TypedDict, Unpack

from unsaddle.methods.constants import checked


class Finding(TypedDict):
    """The words of one search for negative curvature."""

    smoothness: float  # l
    hessian_lipschitz: float  # rho
    tol: float  # eps, the gradient norm to reach; at most l^2 / rho
    failure_probability: float  # delta_0 of one search; delta of a whole run
    n: int  # dimension


class Run(Finding):
    """The words of a whole run."""

    decrease_available: float  # Delta_f = f(x0) - f*


_finding, _run = (itemgetter(*words.__annotations__) for words in (Finding, Run))
_JUMPS = 384  # a jump decreases f by sqrt(eps^3 / rho) / 384


def _steps(count: float) -> int:
    return max(1, ceil(count))


def _log_factor(constant: float, argument: float) -> float:
    return max(1.0, constant * log(argument))


def _each(run: Run, delta: float) -> Finding:
    return Finding(**{**{w: run[w] for w in Finding.__annotations__}, "failure_probability": delta})


def _momentum(ell: float, gamma: float, rho: float) -> tuple[float, float, float, float]:
    eta, theta = 1 / (4 * ell), sqrt(gamma / ell) / 4
    return eta, theta, theta**2 / eta, theta**2 / eta / (4 * rho)


@checked
def curvature(*, hessian_lipschitz: float, tol: float) -> float:
    """Return gamma = sqrt(rho eps): a second-order stationary point has lambda_min >= -gamma."""
    return sqrt(hessian_lipschitz * tol)


class Search(NamedTuple):
    """Parameters of one search by gradient descent."""

    window: int  # script T
    radius: float  # r; the proof takes delta_0 sqrt(pi / n) <= 1/8 for granted


@checked
def nc_finding(**words: Unpack[Finding]) -> Search:
    """Return the parameters of Prop. "NC-finding"."""
    ell, rho, eps, delta, n = _finding(words)
    kappa, overlap = ell / sqrt(rho * eps), delta * sqrt(pi / n)
    return Search(_steps(8 * kappa * log(kappa / overlap)), eps / (8 * ell) * overlap)


class AcceleratedSearch(NamedTuple):
    """Parameters of one search by accelerated gradient descent."""

    step: float  # eta
    friction: float  # theta
    nce_curvature: float  # gamma = theta^2 / eta = sqrt(rho eps) / 4
    nce_length: float  # s
    window: int  # script T'
    radius: float  # r'


@checked
def anc_finding(*, printed: bool = False, **words: Unpack[Finding]) -> AcceleratedSearch:
    """Return the parameters of Prop. "ANC-finding".

    The printed r' = (delta_0 eps / 32) sqrt(pi / (rho n)), given if `printed`, is not a length but
    sqrt(value x length). The proof needs rho r' <= alpha sqrt(rho eps) / 4 for an overlap alpha of
    (delta_0 / 8) sqrt(pi / n): r' = (delta_0 / 32) sqrt(pi eps / (rho n)). Keeping such an overlap
    would take a radius smaller by another 24 log(l sqrt(n / (rho eps)) / delta_0): not applied.
    """
    ell, rho, eps, delta, n = _finding(words)
    gamma, power = sqrt(rho * eps), eps if printed else sqrt(eps)
    window = _steps(32 * sqrt(ell / gamma) * log(ell / (delta * gamma) * sqrt(n)))
    radius = delta / 32 * power * sqrt(pi / (rho * n))
    return AcceleratedSearch(*_momentum(ell, gamma, rho), window, radius)


class Jump(NamedTuple):
    """The step along a direction of curvature -sqrt(rho eps) / 4 or less."""

    length: float
    decrease: float


@checked
def jump(*, hessian_lipschitz: float, tol: float) -> Jump:
    """Return the length of the jump and the decrease it ensures (Lemma "utilize-NC")."""
    length = sqrt(tol / hessian_lipschitz)
    return Jump(length / 4, tol * length / _JUMPS)


class PgdNc(NamedTuple):
    """Parameters of gradient descent with searches; a quarter of the iterates are good."""

    window: int  # script T
    radius: float  # r
    failure_probability: float  # delta_0, of each search
    iterations: int  # T
    searches: int


@checked
def pgd_nc(**run: Unpack[Run]) -> PgdNc:
    """Return the parameters of Theorem "PGD+NC-Complexity"."""
    ell, rho, eps, delta, _, gap = _run(run)
    searches = max(1.0, gap / jump(hessian_lipschitz=rho, tol=eps).decrease)
    search = nc_finding(**_each(run, delta / searches))
    iterations = max(8 * ell * gap / eps**2, 2 * searches)
    return PgdNc(*search, delta / searches, _steps(iterations), _steps(searches))


class Ancgd(NamedTuple):
    """Parameters of accelerated gradient descent with searches; one iterate is good."""

    step: float  # eta
    friction: float  # theta
    nce_curvature: float  # gamma
    nce_length: float  # s
    window: int  # script T'
    radius: float  # r'
    failure_probability: float  # delta_0, of each search
    condition: float  # kappa; zeta in the paper
    energy_quantum: float  # script E
    iterations: int  # T


@checked
def ancgd(
    *, energy_constant: float = _JUMPS ** (1 / 7), printed: bool = False, **run: Unpack[Run]
) -> Ancgd:
    """Return the parameters of Theorem "PAGD+ANC-full", where `energy_constant` is c_A."""
    ell, rho, eps, _, _, gap = _run(run)
    decrease, delta = eps * sqrt(eps / rho), pgd_nc(**run).failure_probability
    search = anc_finding(printed=printed, **_each(run, delta))
    kappa, energy = ell / sqrt(rho * eps), decrease / energy_constant**7
    # T is a maximum, whose other argument is always smaller, since c_A^7 >= 384.
    iterations = _steps(4 * gap * (sqrt(kappa) * energy_constant + search.window) / energy)
    return Ancgd(*search, delta, kappa, energy, iterations)


class StochasticSearch(NamedTuple):
    """Parameters of one search by stochastic gradients."""

    window: int  # script T_s
    log_factor: float  # iota
    radius: float  # r_s
    batch: int  # m


@checked
def snc_finding(*, stochastic_smoothness: float, **words: Unpack[Finding]) -> StochasticSearch:
    """Return the parameters of Prop. "SNC-finding"; the search fails with probability 3 delta."""
    ell, rho, eps, delta, n = _finding(words)
    gamma = sqrt(rho * eps)
    window = _steps(8 * ell / gamma * log(ell * n / (delta * gamma)))
    scale = delta * gamma / (480 * rho * n * window)  # r_s sqrt(iota)
    iota, before = 1.0, 0.0  # iota and r_s define each other: increases to the solution
    while not isclose(iota, before, rel_tol=1e-14):
        inner = _log_factor(1, sqrt(n) * ell * sqrt(iota) / scale)
        iota, before = _log_factor(10, n * window**2 / delta * inner), iota
    batch = 160 * (ell + stochastic_smoothness) / (delta * gamma) * sqrt(window * iota)
    return StochasticSearch(window, iota, scale / sqrt(iota), _steps(batch))


class SgdNc(NamedTuple):
    """Parameters of stochastic gradient descent with searches; a quarter of iterates are good."""

    window: int  # script T_s
    log_factor: float  # iota
    radius: float  # r_s
    batch: int  # m
    failure_probability: float  # delta, a third of that of each search
    descent_batch: int  # M
    iterations: int  # T
    searches: int


@checked
def sgd_nc(*, stochastic_smoothness: float, variance: float, **run: Unpack[Run]) -> SgdNc:
    """Return the parameters of Theorem "PSGD+SNC-full"; `variance` is sigma^2."""
    ell, _, eps, _, _, gap = _run(run)
    budget = pgd_nc(**run)
    delta = budget.failure_probability / 6
    search = snc_finding(stochastic_smoothness=stochastic_smoothness, **_each(run, delta))
    batch = _steps(16 * max(1.0, variance) * ell * gap / eps**2)
    return SgdNc(*search, delta, batch, budget.iterations, budget.searches)


class Perturbed(NamedTuple):
    """Parameters of a perturbed gradient descent."""

    log_factor: float  # chi in pgd, iota in psgd
    step: float  # eta
    radius: float  # r; in psgd the root mean square norm of eta xi
    tolerance: float  # g_thres; eps in psgd
    decrease: float  # f_thres; script F in psgd
    steps: int  # t_thres; script T in psgd


@checked
def pgd(*, constant: float = 1, **run: Unpack[Run]) -> Perturbed:
    """Return the parameters of Jin et al. (2017), whose `constant` (c) is at most 1."""
    ell, rho, eps, delta, n, gap = _run(run)
    chi = 3 * max(log(n * ell * gap / (constant * eps**2 * delta)), 4.0)
    tolerance = sqrt(constant) * eps / chi**2
    decrease = constant * eps * sqrt(eps / rho) / chi**3
    steps = _steps(chi * ell / (constant**2 * sqrt(rho * eps)))
    return Perturbed(chi, constant / ell, tolerance / ell, tolerance, decrease, steps)


@checked
def psgd(
    *, variance: float, stochastic_smoothness: float = inf, constant: float = 1, **run: Unpack[Run]
) -> Perturbed:
    """Return the parameters of Jin et al. (2021), whose `constant` (mu) is "large enough"."""
    ell, rho, eps, delta, n, gap = _run(run)
    gamma, ratio = sqrt(rho * eps), variance / eps**2
    factor = 1 + min(ratio + stochastic_smoothness**2 / (ell * gamma), ratio * n)  # fraktur N
    iota = _log_factor(constant, n * ell * gap * factor / (rho * eps * delta))
    eta, decrease = 1 / (iota**9 * ell * factor), eps * sqrt(eps / rho) / iota**5
    radius, steps = eta * iota * eps * sqrt(factor), _steps(iota / (eta * gamma))
    return Perturbed(iota, eta, radius, eps, decrease, steps)


class Pagd(NamedTuple):
    """Parameters of perturbed accelerated gradient descent."""

    step: float  # eta
    friction: float  # theta
    nce_curvature: float  # gamma
    nce_length: float  # s
    steps: int  # script T
    radius: float  # r
    condition: float  # kappa
    log_factor: float  # chi
    energy_quantum: float  # script E


@checked
def pagd(*, constant: float = 1, **run: Unpack[Run]) -> Pagd:
    """Return the parameters of Jin et al. (2018), whose `constant` (c) is "large enough"."""
    ell, rho, eps, delta, n, gap = _run(run)
    gamma, chi = sqrt(rho * eps), _log_factor(1, n * ell * gap / (rho * eps * delta))
    steps = _steps(sqrt(ell / gamma) * chi * constant)
    radius = eps / (4 * ell) / (chi**5 * constant**8)
    energy = eps * sqrt(eps / rho) / (chi**5 * constant**7)
    return Pagd(*_momentum(ell, gamma, rho), steps, radius, ell / gamma, chi, energy)
