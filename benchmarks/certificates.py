"""What certificates cost: by the vectors kept, by gamma, and by the share of a run.

    python -m benchmarks.certificates

prints the three tables of docs/design.md. Counted are products with the Hessian in the first, and
gradients in the others; neither depends on the machine.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from unsaddle import certify, minimize
from unsaddle.methods.room import TUNING

N = 2_000
ALL = 1_001
KEPT = {"all": ALL, "first 38, last 2": 40, "first 10, last 2": 12, "first 2, last 2": 4}
GAMMAS = {"gamma = l/10": 1e-1, "l/100": 1e-2, "l/1,000": 1e-3, "l/10,000": 1e-4}
SHARES = {"all it takes": None, "a half": 0.5, "a fifth": 0.2, "a tenth": 0.1}


def tops(count: int) -> np.ndarray:
    """Give a spectrum whose highest eigenvalues are apart from the others."""
    return np.append(np.linspace(0.0, 1e-2, N - count), np.linspace(0.5, 1.0, count))


GHOSTS = {
    "dense, from 0": np.linspace(0.0, 1.0, N),
    "five isolated tops": tops(5),
    "twenty isolated tops": tops(20),
}
SPECTRA = {
    "dense, from l/2,000": np.linspace(1 / N, 1.0, N),
    "logarithmic, from l/1,000,000": np.geomspace(1e-6, 1.0, N),
    "from l/2": np.linspace(0.5, 1.0, N),
}


def steps(spectrum: np.ndarray, kept: int) -> int:
    """Count the exact products until gamma = 1e-5 l is certified, with so many vectors kept."""
    room = (TUNING.others + kept) * N * 8
    shown = certify(
        lambda x: spectrum * x,
        np.zeros(N),
        1e-5,
        hessp=lambda x, p: spectrum * p,
        max_memory=room,
    )
    assert shown.holds
    return shown.products


def gradients(spectrum: np.ndarray, gamma: float) -> int:
    """Count the gradients of a certificate."""
    shown = certify(lambda x: spectrum * x, np.zeros(N), gamma)
    assert shown.holds
    return shown.gradients


def within(share: float | None) -> str:
    """Give the gamma that a search shows within its share of a run, and its gradients."""
    curvatures = np.geomspace(1e-5, 1.0, 1_000)
    result = minimize(
        lambda x: float(x @ (curvatures * x)) / 2 + float(np.sum(x**4)) / 4,
        np.ones(1_000),
        jac=lambda x: curvatures * x + x**3,
        certificate_budget=share,
    )
    shown = result.certificate
    assert shown.holds
    return f"{shown.curvature_tol:.1e} after {shown.gradients}"


def table(head: str, columns: Iterable[str], rows: Mapping[str, Iterable[Any]]) -> str:
    """Lay a table out."""
    lines = [[head, *columns], ["---"] * (1 + len([*columns]))]
    lines += [[name, *map(str, cells)] for name, cells in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    """Print the tables."""
    kept = {name: [steps(s, k) for k in KEPT.values()] for name, s in GHOSTS.items()}
    print(table("spectrum, of 2,000 eigenvalues", KEPT, kept))
    costs = {name: [gradients(s, g) for g in GAMMAS.values()] for name, s in SPECTRA.items()}
    print(table("spectrum, up to l", GAMMAS, costs))
    shares = {"gamma, gradients": [within(share) for share in SHARES.values()]}
    print(table("share of the run", SHARES, shares))


if __name__ == "__main__":
    main()
