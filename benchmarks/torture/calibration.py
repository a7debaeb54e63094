"""Certificates: how often they are false where the Hessian has an eigenvalue just below -gamma."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.torture.trial import FALSE, Trial
from unsaddle import (
    FiniteSum,
    Outcome,
    find_negative_curvature,
    minimize,
    minimize_stochastic,
)

N, GAMMA, DELTA, BELOW = 30, 0.1, 0.1, 1 + 1e-6
DELTAS = (DELTA, 0.3)
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
HELD = 5  # more variables at their bounds
SCALE = np.geomspace(0.1, 10.0, N)
SEARCHES = {  # rows of searches at the saddle, with the number of seeds for each family
    "lanczos, float64": ({"method": "lanczos"}, 300),
    "lanczos, float32": ({"method": "lanczos", "kind": np.float32}, 300),
    "anc, float64": ({"method": "anc"}, 100),
    "anc, float32": ({"method": "anc", "kind": np.float32}, 100),
    "nc, float64": ({"method": "nc"}, 100),
    "nc, float32": ({"method": "nc", "kind": np.float32}, 100),
    "lanczos, hessp": ({"method": "lanczos", "hessp": True}, 100),
    "anc, hessp": ({"method": "anc", "hessp": True}, 100),
    "lanczos, bounds": ({"method": "lanczos", "bounds": [(-1, 1)] * N + [(0, 1)] * HELD}, 100),
    "lanczos, x_scale": ({"method": "lanczos", "x_scale": SCALE}, 100),
    "lanczos, max_memory": ({"method": "lanczos", "max_memory": 21 * 8 * N}, 100),
    "lanczos, gradient_noise": ({"method": "lanczos", "gradient_noise": 1e-9}, 100),
}
RUNS: dict[str, tuple[dict[str, Any], int]] = {  # likewise, of whole runs that begin there
    **dict.fromkeys(("pgd+nc", "ancgd", "agd+lanczos"), (CONSTANTS, 60)),
    **{name: ({}, 60) for name in ("auto", "agd-auto")},
    **{name: (CONSTANTS | {"decrease_available": 1.0}, 10) for name in ("pgd", "pagd")},
    **dict.fromkeys(("neon2", "cdhs", "adancg", "fastcubic"), (CONSTANTS, 10)),
    "auto, bounds": ({"bounds": [(-9, 9)] * N}, 60),
    "auto, hessp": ({"hessp": True}, 60),
    "auto, max_memory": ({"max_memory": 21 * 8 * N}, 60),
}
BLIND = {"enough": 1e9, "probes": 1}  # a search of samples finds nothing: the proof is left


def eigenvalues(family: str) -> np.ndarray:
    """Give the eigenvalues: one of them is just below -gamma."""
    return np.append(-GAMMA * BELOW, FAMILIES[family]())


def trials(seed: int) -> Iterator[Trial]:
    """Give all trials on NumPy: searches at a point, and whole runs that begin there."""
    rows = [(f"find_negative_curvature, {it}", _searched, *SEARCHES[it]) for it in SEARCHES]
    rows += [(f"minimize, {it}", partial(_ran, it.partition(",")[0]), *RUNS[it]) for it in RUNS]
    rows += [("minimize_stochastic", _sampled, BLIND, 60)]
    for row, call, words, seeds in rows:
        for family in FAMILIES:
            for k in range(seed, seed + seeds):
                for delta in DELTAS:
                    run = partial(call, family, delta, k, **words)
                    yield Trial(row, f"{family}, delta {delta}, seed {k}", run, delta)


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


def _searched(
    family: str, delta: float, seed: int, method: str, kind: Any = np.float64, **words: Any
) -> str:
    lam = eigenvalues(family)
    size = np.asarray(words.get("x_scale", 1.0))
    held = np.ones(HELD if "bounds" in words else 0, kind)  # a gradient that holds them
    own = (lam / size**2).astype(kind)  # of the variables that are told

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.append(own * x[:N], held)

    if "hessp" in words:
        words["hessp"] = lambda x, p: own * p
    at = np.zeros(N + held.size, kind)
    found = find_negative_curvature(gradient, at, method, GAMMA, delta, seed, **words)
    return judged(found, lam[0], lambda u: curved(u[:N] / size, lam))


def _ran(method: str, family: str, delta: float, seed: int, **words: Any) -> str:
    """Run from the saddle of x'Hx/2 + c x_1^4: to stay there certified is false."""
    lam = eigenvalues(family)

    def value(x: np.ndarray) -> float:
        return float(lam @ (x * x) / 2 + PULL @ x**4)

    def gradient(x: np.ndarray) -> np.ndarray:
        return lam * x + 4 * PULL * x**3

    if "hessp" in words:
        words["hessp"] = lambda x, p: (lam + 12 * PULL * x**2) * p
    result = minimize(
        value, np.zeros(N), jac=gradient, method=method, seed=seed, tol=1e-3, curvature_tol=GAMMA,
        failure_probability=delta, max_gradients=3000, **words,
    )  # fmt: skip
    there = lam + 12 * PULL * result.x**2
    if result.success != (result.outcome is Outcome.CERTIFIED):
        return "success and outcome differ"
    return judged(result.certificate, float(min(there)), lambda u: curved(u, there))


def _sampled(family: str, delta: float, seed: int, **words: Any) -> str:
    """Run over data whose mean has its saddle where the run begins."""
    lam = eigenvalues(family)
    shares = np.linspace(0.5, 1.5, 9)  # of the Hessian, for each row

    def gradient(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return rows.mean() * lam * x

    result = minimize_stochastic(
        FiniteSum(gradient, shares), np.zeros(N), seed=seed, tol=1e-3,
        curvature_tol=GAMMA, failure_probability=delta, max_samples=30_000, variance=1e-4,
        stochastic_smoothness=2.0, **CONSTANTS, **words,
    )  # fmt: skip
    return judged(result.certificate, lam[0], lambda u: curved(u, lam))
