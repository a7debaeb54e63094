"""The contestants, each on the same oracle, judged by one Hessian: ours, and their peers."""

import math
import time
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import unsaddle
from unsaddle.core.evidence import evidence
from unsaddle.numpy.ops import ops

from .judge import fewest, product, spectrum
from .oracle import Array, Oracle, Problem, ReachedError, SpentError

TOL = 1e-5
LIMIT = 20_000
SHORT = 2_000  # gradients that a peer has in tier 3
ROOM = 10**5  # variables up to which the optimum of Lanczos is found
TIGHT = 1e-30  # below every norm: the oracle stops them, not they themselves
MEMORY = "L-BFGS-B, 20 pairs"
OURS = ("auto", "agd-auto")


class Peer(NamedTuple):
    """One line of the table of peers."""

    package: str
    method: str
    options: dict[str, Any]
    curved: bool  # whether it takes H v
    most: float = math.inf  # variables that it has room for


PEERS = {
    "L-BFGS-B": Peer("scipy", "L-BFGS-B", {"ftol": 0.0, "gtol": TIGHT, "maxfun": 10**6}, False),
    MEMORY: Peer(
        "scipy", "L-BFGS-B", {"ftol": 0.0, "gtol": TIGHT, "maxfun": 10**6, "maxcor": 20}, False
    ),
    "BFGS": Peer("scipy", "BFGS", {"gtol": TIGHT}, False, 10**3),
    "CG": Peer("scipy", "CG", {"gtol": TIGHT}, False),
    "Newton-CG": Peer("scipy", "Newton-CG", {"xtol": TIGHT}, True),
    "trust-ncg": Peer("scipy", "trust-ncg", {"gtol": TIGHT}, True),
    "trust-krylov": Peer("scipy", "trust-krylov", {"gtol": TIGHT}, True),
    "torch l-bfgs": Peer(
        "torchmin", "l-bfgs", {"gtol": TIGHT, "xtol": TIGHT, "gtd_tol": TIGHT}, False
    ),
    "torch newton-cg": Peer("torchmin", "newton-cg", {"xtol": TIGHT}, True),
}
MISSING = {each.package for each in PEERS.values() if find_spec(each.package) is None}
RIVALS = [name for name, each in PEERS.items() if name != MEMORY and each.package not in MISSING]


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
    fewest: int | None  # of which Lanczos with exact products would have needed these
    episodes: int  # searches
    seconds: float
    note: str


def own(problem: Problem, seed: int, method: str = "auto") -> Row:
    """Run ``unsaddle.minimize`` with nothing but a function and its gradient."""
    oracle, began = Oracle(problem, 0.0, LIMIT + 1), time.perf_counter()
    result = unsaddle.minimize(
        oracle.value,
        problem.start(seed),
        method=method,
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
        method,
        result.outcome.name,
        float(np.linalg.norm(problem.gradient(result.x))),
        *spectrum(problem, result.x),
        float(result.fun),
        result.certificate.curvature_tol if result.success else None,
        oracle.values,
        oracle.gradients,
        before,
        result.certificate.gradients,
        optimum(problem, result),
        result.state.state.episode,
        seconds,
        result.certificate.note,
    )


def optimum(problem: Problem, result: Any) -> int | None:
    """Count what Lanczos needs for the same claim, at the same point, from the same start."""
    if not result.success or problem.n > ROOM:
        return None
    end = result.state.state
    first, known = ops.normal(end.x, end.seed, end.episode), evidence(ops, end).resolution
    return fewest(product(problem, result.x), first, known.curvature_tol, known.needed)


def peer(problem: Problem, seed: int, method: str, limit: int = LIMIT) -> Row:
    """Run a method of another package until its gradient is within tol."""
    package, name, options, curved, _ = PEERS[method]
    oracle, outcome, x = Oracle(problem, TOL, limit), "STOPPED", problem.start(seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            x = RUNNERS[package](oracle, x, name, options, curved)
        except ReachedError:
            x, outcome = oracle.x, "REACHED"
        except SpentError:
            x, outcome = oracle.x, "BUDGET"
        except (ArithmeticError, RuntimeError, ValueError) as error:
            x, outcome = oracle.x, type(error).__name__
    seconds = time.perf_counter() - began
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
        None,
        0,
        seconds,
        "",
    )


def scipy(oracle: Oracle, x: Array, method: str, options: dict[str, Any], curved: bool) -> Array:
    """Run one of SciPy's methods until the oracle stops it."""
    return scipy_minimize(
        oracle.value,
        x,
        jac=oracle.gradient,
        hessp=oracle.curve if curved else None,
        method=method,
        options=options | {"maxiter": 10**6},
    ).x


def torchmin(*given: Any) -> Array:
    """Run one of pytorch-minimize's methods until the oracle stops it."""
    return import_module("benchmarks.tiers.torch_peer").torchmin(*given)


RUNNERS = {"scipy": scipy, "torchmin": torchmin}
