"""Certificates: how often they are false where the Hessian has an eigenvalue just below -gamma."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.torture.trial import FALSE, Trial
from unsaddle import Outcome, find_negative_curvature, minimize

N, GAMMA, DELTA, BELOW = 30, 0.1, 0.1, 1 + 1e-6
FAMILIES: dict[str, Callable[[], np.ndarray]] = {  # the other eigenvalues
    "even": lambda: np.linspace(0.2, 1.0, N - 1),
    "at zero": lambda: np.append(np.zeros(N - 2), 1.0),
    "geometric": lambda: np.geomspace(1e-3, 1.0, N - 1),
    "two": lambda: np.append(np.full(N // 2, 0.5), np.full(N - 1 - N // 2, 1.0)),
    "one large": lambda: np.append(np.full(N - 2, 0.02), 1.0),
}
MEASURED = ("auto", "agd-auto", "pgd+nc", "ancgd", "agd+lanczos")
CONSTANTS = {"smoothness": 2.0, "hessian_lipschitz": 3.0}
PULL = np.append(0.05, np.zeros(N - 1))  # c, where the saddle is that of x'Hx/2 + c x_1^4
SEARCHES = ("lanczos", "anc", "nc")
PRECISIONS = (np.float64, np.float32)


def eigenvalues(family: str) -> np.ndarray:
    """Give the eigenvalues: one of them is just below -gamma."""
    return np.append(-GAMMA * BELOW, FAMILIES[family]())


def trials(seed: int, searches: int = 300, runs: int = 60) -> Iterator[Trial]:
    """Give all trials on NumPy: searches at a point, and whole runs that begin there."""
    for family in FAMILIES:
        for method in SEARCHES:
            for kind in PRECISIONS:
                row = f"find_negative_curvature, {method}, {np.dtype(kind)}"
                many = searches if method == "lanczos" else searches // 3
                for k in range(many):
                    call = partial(_searched, family, method, kind, seed + k)
                    yield Trial(row, f"{family}, seed {seed + k}", call, DELTA)
        for method in MEASURED:
            for k in range(runs):
                call = partial(_ran, family, method, seed + k)
                yield Trial(f"minimize, {method}", f"{family}, seed {seed + k}", call, DELTA)


def curved(way: np.ndarray, own: np.ndarray) -> float:
    """Give the curvature along a direction, where the Hessian is diagonal."""
    u = way.ravel()
    return float(u @ (own * u) / (u @ u))


def judged(certificate: Any, lowest: float, curvature: Callable[[Any], float]) -> str:
    """Say what is false in a certificate of a Hessian whose lowest eigenvalue is known."""
    if certificate.holds is True and lowest <= -certificate.curvature_tol:
        return f"{FALSE}: {certificate}"
    if certificate.holds is False:
        found = curvature(certificate.direction)
        if found > -certificate.curvature_tol / 2:
            return f"a direction of curvature {found} for {certificate}"
    return ""


def _searched(family: str, method: str, kind: Any, seed: int) -> str:
    lam = eigenvalues(family)
    own = lam.astype(kind)
    found = find_negative_curvature(
        lambda x: own * x, np.zeros(N, kind), method, GAMMA, DELTA, seed
    )
    return judged(found, lam[0], lambda u: curved(u, lam))


def _ran(family: str, method: str, seed: int) -> str:
    """Run from the saddle of x'Hx/2 + c x_1^4: to stay there certified is false."""
    lam = eigenvalues(family)

    def value(x: np.ndarray) -> float:
        return float(lam @ (x * x) / 2 + PULL @ x**4)

    def gradient(x: np.ndarray) -> np.ndarray:
        return lam * x + 4 * PULL * x**3

    known: dict[str, Any] = {} if method in ("auto", "agd-auto") else CONSTANTS
    result = minimize(
        value, np.zeros(N), jac=gradient, method=method, seed=seed, tol=1e-3, curvature_tol=GAMMA,
        failure_probability=DELTA, max_gradients=3000, **known,
    )  # fmt: skip
    there = lam + 12 * PULL * result.x**2
    if result.success != (result.outcome is Outcome.CERTIFIED):
        return "success and outcome differ"
    return judged(result.certificate, float(min(there)), lambda u: curved(u, there))
