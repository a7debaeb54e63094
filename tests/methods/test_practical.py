"""The parameters of the stochastic methods: what print costs, and what the practical ones do."""

from math import log

import pytest

from unsaddle.methods import stochastic_theory, theory
from unsaddle.methods.table import STOCHASTIC

FUNCTION = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "stochastic_smoothness": 1.0, "n": 100}
TARGETS = {"variance": 1.0, "failure_probability": 1e-3, "decrease_available": 1.0}


def exponent(cost, coarse=1e-6, fine=1e-10):
    """The power of 1/eps with which a cost grows, logarithms included."""
    return log(cost(fine) / cost(coarse)) / log(coarse / fine)


def printed_search(eps, **given):
    found = theory.snc_finding(**FUNCTION, tol=eps, **given)
    return 2 * found.batch * found.window


def practical_search(eps):
    found = stochastic_theory.snc_finding(
        **FUNCTION, curvature_tol=eps**0.5, failure_probability=1e-3
    )
    return 2 * found.batch * found.window


def test_a_printed_search_costs_more_than_the_proposition_says():
    """eps^-1.25 at constant delta, not eps^-0.5; and with the theorem's delta, eps^-2.75."""
    assert 1.25 <= exponent(lambda eps: printed_search(eps, failure_probability=0.25)) <= 1.4

    def in_the_theorem(eps):
        return printed_search(eps, failure_probability=1e-3 / 2304 * eps**1.5)

    assert 2.75 <= exponent(in_the_theorem) <= 2.9
    searches = 1.5  # the exponent of 384 Delta_f sqrt(rho/eps^3)
    assert 4.25 <= exponent(in_the_theorem) + searches <= 4.4


def test_a_practical_search_costs_one_over_eps():
    assert 1.0 <= exponent(practical_search) <= 1.1


@pytest.mark.parametrize("preset", ["printed", "practical"])
def test_both_presets_give_every_setting(preset):
    parameters = STOCHASTIC["sgd+nc"].from_theory(
        preset=preset, **FUNCTION, **TARGETS, tol=1e-2, curvature_tol=0.1
    )
    assert parameters.tolerance == 0.75e-2
    e = parameters.escape
    assert (e.start, e.probes) == ((0.0, 1) if preset == "printed" else (1.0, 5))
    assert parameters.descent.batch == 160_000
    assert e.length == pytest.approx(0.25 * (1e-2) ** 0.5)


def test_psgd_with_and_without_its_logarithms():
    step = {
        preset: STOCHASTIC["psgd"]
        .from_theory(preset=preset, **FUNCTION, **TARGETS, tol=1e-2, curvature_tol=0.1)
        .descent.step
        for preset in ("printed", "practical")
    }
    assert step["printed"] < 1e-16
    assert step["practical"] == pytest.approx(1 / (1 + 1e4 + 10))


def test_bernstein_s_number_of_samples():
    """By hand: lt = 2, t = .1, n = 10, delta = .01: (8 + .8/3) log(1000)/.01 = 5710.4."""
    assert stochastic_theory.concentrated(2.0, 0.1, 0.01, 10) == 5711
