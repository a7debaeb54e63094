"""Lanczos with less of its basis than it builds: what it claims, how often wrongly, what it costs.

Three vectors are the least that it can do with, a dozen a window, and "all" the full basis.
"""

from math import sqrt

import numpy as np
import pytest

from tests.escapes.test_lanczos import quartic, search_at_zero
from unsaddle.core.phases import CERTIFIED
from unsaddle.escapes.basis import TUNING

ALL = TUNING.vectors
KEPT = [3, 12, ALL]


def tops(n: int, count: int) -> np.ndarray:
    """Give a spectrum whose highest eigenvalues are isolated: their Ritz vectors come back."""
    return np.append(np.linspace(0.0, 1e-2, n - count), np.linspace(0.5, 1.0, count))


SPECTRA = {
    "apart": lambda n: np.linspace(0.5, 1.0, n),
    "dense": lambda n: np.linspace(0.0, 1.0, n),
    "logarithmic": lambda n: np.geomspace(1e-6, 1.0, n),
    "three clusters": lambda n: np.array([0.1, 0.5, 1.0])[np.arange(n) % 3] + 1e-7 * np.arange(n),
    "one top": lambda n: tops(n, 1),
    "five tops": lambda n: tops(n, 5),
    "twenty tops": lambda n: tops(n, 20),
}
FEW = ["apart", "logarithmic", "twenty tops"]


def false_rate(spectrum: str, n: int, gamma: float, delta: float, kept: int, seeds: int) -> float:
    """Give the frequency of certificates where lambda_min = -gamma (1 + 1e-6)."""
    gradient = quartic(np.append(-gamma * (1 + 1e-6), SPECTRA[spectrum](n - 1)))
    ends = [search_at_zero(gradient, n, gamma, delta, seed, kept).phase for seed in range(seeds)]
    return ends.count(CERTIFIED) / seeds


@pytest.mark.slow
@pytest.mark.parametrize("kept", [3, 12])
@pytest.mark.parametrize("spectrum", FEW)
def test_false_certificates_of_a_part_of_the_basis(spectrum: str, kept: int) -> None:
    """150 seeds at delta = .3: a true rate of .3 passes .45 once in 30,000, one of .6 is caught."""
    delta, seeds = 0.3, 150
    rate = false_rate(spectrum, 50, 1e-3, delta, kept, seeds)
    assert rate <= delta + 4 * sqrt(delta * (1 - delta) / seeds)


@pytest.mark.nightly
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("delta", [0.3, 0.1])
@pytest.mark.parametrize(("n", "gamma"), [(50, 2e-2), (50, 1e-3), (200, 1e-3), (200, 1e-5)])
def test_false_certificates_of_every_part_and_spectrum(n, gamma, delta, spectrum, kept) -> None:
    """1000 seeds: a true rate of 1.3 delta is caught with probability .99 at .3 and .4 at .1.

    All 42 cells of a delta together, which would err in the same way, catch it at .1 as well.
    """
    seeds = 1000
    rate = false_rate(spectrum, n, gamma, delta, kept, seeds)
    assert rate <= delta + 3 * sqrt(delta * (1 - delta) / seeds)


@pytest.mark.parametrize("kept", [3, 12])
def test_n_steps_prove_nothing_without_the_basis(kept: int) -> None:
    """More than 30 steps in 30 variables do not certify what is false."""
    n, gamma, queries = 30, 1e-4, []
    gradient = quartic(np.append(-gamma * (1 + 1e-6), SPECTRA["logarithmic"](n - 1)))
    for seed in range(20):
        asked = []
        state = search_at_zero(
            lambda x, asked=asked: asked.append(1) or gradient(x), n, gamma, 1e-6, seed, kept
        )
        assert state.phase != CERTIFIED
        queries.append(len(asked))
    assert max(queries) > n + 2  # it has come that far


@pytest.mark.parametrize(
    ("spectrum", "kept", "most"),
    [("dense", 3, 1.05), ("five tops", 12, 1.15), ("twenty tops", 40, 1.1), ("twenty tops", 3, 3)],
)
def test_what_it_costs_to_keep_less(spectrum: str, kept: int, most: float) -> None:
    """As many steps as with the whole basis, unless it has isolated tops and is not kept."""
    n, gamma = 400, 1e-4
    gradient = quartic(SPECTRA[spectrum](n), 0.0)
    steps = {}
    for vectors in (kept, ALL):
        ends = [search_at_zero(gradient, n, gamma, 1e-3, seed, vectors) for seed in range(3)]
        assert all(end.phase == CERTIFIED for end in ends)
        steps[vectors] = sum(end.escape.steps for end in ends)
    assert steps[kept] <= most * steps[ALL]


@pytest.mark.parametrize("kept", [3, 8, 40])
def test_the_direction_that_is_found_without_a_basis_is_low(kept: int) -> None:
    """A tenth of the curvature is left with three vectors, half with eight, four fifths with 40."""
    n, gamma = 300, 1e-3
    spectrum = np.append(-0.02, SPECTRA["dense"](n - 1))
    for seed in range(5):
        e = search_at_zero(quartic(spectrum, 0.0), n, gamma, 1e-3, seed, kept).escape
        assert e.found < np.inf
        quotient = float(e.direction @ (spectrum * e.direction))
        assert quotient <= -0.02 * {3: 0.1, 8: 0.5, 40: 0.8}[kept]
        assert quotient == pytest.approx(e.curvature, rel=1e-3)
