"""Parameters of NEON and NEON+ (Xu, Jin & Yang 2018), as reconstructed in ``escapes/neon.py``."""

from math import ceil, log, sqrt
from typing import NamedTuple


class Neon(NamedTuple):
    """Parameters of one search."""

    search_step: float  # eta
    search_momentum: float  # zeta
    window: int  # t
    radius: float  # r
    reach: float  # U
    fall: float  # of fh that proves negative curvature


def neon(
    *,
    smoothness: float,  # l
    hessian_lipschitz: float,  # rho
    curvature_tol: float,  # gamma
    failure_probability: float,  # delta
    n: int,
    accelerated: bool,
) -> Neon:
    """Give the parameters of a search for curvature below -gamma.

    With L = log(n l/(gamma delta)), F = eta gamma^3 l/(rho^2 L^3) and r = sqrt(eta/l) gamma^2/(rho
    L^2). NEON: eta = 1/l, c = 18, t = c L/(eta gamma), U = 4 c (sqrt(eta l) F/rho)^(1/3), a fall of
    2.5 F. NEON+: eta = 1/(4 l), c = 43, zeta = 1 - sqrt(eta gamma), t = sqrt(c/(eta gamma)) L, U
    three times as large, a fall of 2 F.

    Returns:
        The parameters.
    """
    gamma, rho = curvature_tol, hessian_lipschitz
    factor, constant, widths, falls = (4, 43, 12, 2.0) if accelerated else (1, 18, 4, 2.5)
    eta = 1 / (factor * smoothness)
    logarithm = max(1.0, log(n * smoothness / (gamma * failure_probability)))
    quantum = eta * gamma**3 * smoothness / (rho**2 * logarithm**3)
    steps = sqrt(constant / (eta * gamma)) if accelerated else constant / (eta * gamma)
    return Neon(
        search_step=eta,
        search_momentum=1 - sqrt(eta * gamma) if accelerated else 0.0,
        window=ceil(steps * logarithm),
        radius=sqrt(eta / smoothness) * gamma**2 / (rho * logarithm**2),
        reach=widths * constant * (sqrt(eta * smoothness) * quantum / rho) ** (1 / 3),
        fall=falls * quantum,
    )
