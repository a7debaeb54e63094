"""The contestants: ``auto`` and SciPy's methods, each on the same oracle, judged by one Hessian."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import unsaddle

from .oracle import Array, Oracle, Problem, ReachedError, SpentError

TOL = 1e-5
LIMIT = 20_000
TIGHT = 1e-30  # below every norm: the oracle stops them, not they themselves
MEMORY = "L-BFGS-B, 20 pairs"
PEERS: dict[str, tuple[dict[str, Any], bool]] = {  # options, and whether they take H v
    "L-BFGS-B": ({"ftol": 0.0, "gtol": TIGHT, "maxfun": 10**6}, False),
    MEMORY: ({"ftol": 0.0, "gtol": TIGHT, "maxfun": 10**6, "maxcor": 20}, False),
    "BFGS": ({"gtol": TIGHT}, False),
    "CG": ({"gtol": TIGHT}, False),
    "Newton-CG": ({"xtol": TIGHT}, True),
    "trust-ncg": ({"gtol": TIGHT}, True),
    "trust-krylov": ({"gtol": TIGHT}, True),
}
RIVALS = [method for method in PEERS if method != MEMORY]


class Row(NamedTuple):
    """One run."""

    problem: str
    n: int
    seed: int
    method: str
    outcome: str
    norm: float  # |g| at the end
    lowest: float | None  # lambda_min of the exact Hessian there
    largest: float | None  # and the largest modulus
    fun: float
    gamma: float | None  # the curvature that was certified
    values: int
    gradients: int
    before: int | None  # gradients when |g| was within tol for the first time
    certificate: int  # gradients of the last search
    episodes: int  # searches
    seconds: float
    note: str


def auto(problem: Problem, seed: int) -> Row:
    """Run ``unsaddle.minimize`` with nothing but a function and its gradient."""
    oracle, began = Oracle(problem, 0.0, LIMIT + 1), time.perf_counter()
    result = unsaddle.minimize(
        oracle.value,
        problem.start(seed),
        jac=oracle.probe,
        tol=TOL,
        seed=seed,
        max_gradients=LIMIT,
    )
    seconds = time.perf_counter() - began
    norms = result.history.gradient_norm
    small = np.flatnonzero(norms <= TOL)
    before = int(np.sum(~np.isnan(norms[: small[0] + 1]))) if small.size else None
    return Row(
        problem.name,
        problem.n,
        seed,
        "auto",
        result.outcome.name,
        float(np.linalg.norm(problem.gradient(result.x))),
        *spectrum(problem, result.x),
        float(result.fun),
        result.certificate.curvature_tol,
        oracle.values,
        oracle.gradients,
        before,
        result.certificate.gradients,
        result.state.state.episode,
        seconds,
        result.certificate.note,
    )


def peer(problem: Problem, seed: int, method: str) -> Row:
    """Run one of SciPy's methods until its gradient is within tol."""
    options, curved = PEERS[method]
    oracle, outcome, x = Oracle(problem, TOL, LIMIT), "STOPPED", problem.start(seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            x = scipy_minimize(
                oracle.value,
                x,
                jac=oracle.gradient,
                hessp=oracle.curve if curved else None,
                method=method.split(",")[0],
                options=options | {"maxiter": 10**6},
            ).x
        except ReachedError:
            x, outcome = oracle.x, "REACHED"
        except SpentError:
            x, outcome = oracle.x, "BUDGET"
        except (ArithmeticError, ValueError) as error:
            x, outcome = oracle.x, type(error).__name__
    return Row(
        problem.name,
        problem.n,
        seed,
        method,
        outcome,
        float(np.linalg.norm(problem.gradient(x))),
        *spectrum(problem, x),
        float(problem.value(x)),
        None,
        oracle.values,
        oracle.gradients,
        oracle.first,
        0,
        0,
        time.perf_counter() - began,
        "",
    )


def spectrum(problem: Problem, x: Array) -> tuple[float | None, float | None]:
    """Give the lowest eigenvalue of the exact Hessian and the largest modulus."""
    if problem.hessian is None:
        return None, None
    h = np.asarray(problem.hessian(x), float)
    if not np.isfinite(h).all():
        return None, None
    values = np.linalg.eigvalsh((h + h.T) / 2)
    return float(values[0]), float(abs(values).max())
