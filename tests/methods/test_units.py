"""Units: f -> a f and x -> x / c, by powers of 4, so that every square root is exact."""

from math import ceil, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.test_theory import (
    CALLS,
    FORMULAS,
    E,
    G,
    L,
    close,
    fast,
    naming,
    problems,
    words_of,
)

UNITS = {  # exponents of a and c
    **dict.fromkeys(["smoothness", "stochastic_smoothness", "nce_curvature"], (1, 2)),
    "curvature_tol": (1, 2),
    **dict.fromkeys(["decrease_available", "decrease", "energy_quantum"], (1, 0)),
    **dict.fromkeys(["radius", "length", "nce_length"], (0, -1)),
    **dict.fromkeys(["tol", "tolerance"], (1, 1)),
    "hessian_lipschitz": (1, 3),
    "variance": (2, 2),
    "step": (-1, -2),
}
HOMOGENEOUS = ["nc_finding", "anc_finding", "jump", "pgd_nc", "ancgd", "pgd"]
powers = st.integers(-6, 6)


def rescaled(words, a, c):
    unit = {word: 4.0 ** (a * p + c * q) for word, (p, q) in UNITS.items()}
    return {word: value * unit.get(word, 1) for word, value in words.items()}


def in_both_units(name, words, a, c, **options):
    """Return the answer in the new units, and the one in the old units rescaled."""
    new = FORMULAS[name](**rescaled(words, a, c), **options)
    old = FORMULAS[name](**words, **options)
    if isinstance(old, int):
        return {"steps": new}, {"steps": old}
    return new._asdict(), rescaled(old._asdict(), a, c)


@fast
@given(problems, powers, powers)
@pytest.mark.parametrize("name", [*HOMOGENEOUS, *naming("curvature_tol")])
def test_lengths_values_and_counts_scale_as_such(name, problem, a, c):
    new, old = in_both_units(name, CALLS[name] | words_of(name, problem), a, c)
    assert new == old


@fast
@given(problems, powers, powers)
@pytest.mark.parametrize("name", ["anc_finding", "ancgd"])
def test_the_printed_radius_is_not_a_length(name, problem, a, c):
    """It is off by the unit of sqrt(tol), and nothing else is."""
    new, old = in_both_units(name, words_of(name, problem), a, c, printed=True)
    assert new.pop("radius") == old.pop("radius") * 2.0 ** (a + c)
    assert new == old


@fast
@given(problems, powers, powers)
@pytest.mark.parametrize("name", ["pagd", "psgd"])
def test_the_later_log_factors_depend_on_the_unit_of_length(name, problem, a, c):
    """By -2 log c, unless the floor at 1 hides it."""
    new, old = in_both_units(name, words_of(name, problem), a, c)
    if min(new["log_factor"], old["log_factor"]) > 1:
        assert new["log_factor"] == pytest.approx(old["log_factor"] - 2 * c * log(4), abs=1e-9)


@fast
@given(problems, powers, powers)
def test_the_stochastic_search_depends_on_units_through_a_double_logarithm(problem, a, c):
    new, old = in_both_units("snc_finding", words_of("snc_finding", problem), a, c)
    ratio = new["log_factor"] / old["log_factor"]
    assert new["window"] == old["window"]
    assert 0.8 < ratio < 1.25
    assert new["radius"] == close(old["radius"] / sqrt(ratio))


@pytest.mark.parametrize(("variance", "factor"), [(0.0, 1), (1.0, 1), (16.0, 16)])
def test_the_descent_batch_is_corrected_by_the_variance(variance, factor):
    """A factor with a unit: it is lost, here, in a unit of f that makes the variance at most 1."""
    new, old = in_both_units("sgd_nc", CALLS["sgd_nc"] | {"variance": variance}, -1, 0)
    assert old["descent_batch"] == ceil(16 * factor * L * G / E**2)
    assert new["descent_batch"] == ceil(16 * L * G / E**2)
