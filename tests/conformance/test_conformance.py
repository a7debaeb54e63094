"""Methods x landscapes x backends: given the same draws, the same queries in the same order.

JAX takes seconds to compile each of them. In every run each method is tried on one landscape,
through a traced ``minimize`` or, if it takes samples, through optax, where it is compiled sooner;
and one of each kind through both. The rest is tried every night.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.conformance.backends import run_numpy, run_numpy_sampled
from tests.conformance.on_jax import (
    run_jax,
    run_jax_on_host,
    run_jax_sampled,
    run_optax,
    run_optax_sampled,
)
from tests.conformance.on_torch import run_torch, run_torch_sampled
from tests.often import most_at_night
from unsaddle import landscapes, minimize
from unsaddle.core.kernel import give_up
from unsaddle.core.phases import PROOF, name_of
from unsaddle.descents.progress import forget
from unsaddle.escapes.proof import proof
from unsaddle.methods.table import find

WIDE = {"radius": 1e-3}  # over a shorter one, rounding alone turns the direction by more than TOL
KICK = {"radius": 1e-2, "window": 12, "decrease": 1e-3}  # so that it comes to its own test
METHODS = {  # a new method joins here
    "auto": {"unit": 2.5e-7},  # which makes the radius as wide
    "agd-auto": {"unit": 2.5e-5},  # its first jump is long: ten times as wide
    "agd+lanczos": {"unit": 2.5e-7},
    "pgd": KICK,
    "pagd": KICK,
    "pgd+nc": WIDE,
    "ancgd": WIDE,
    "neon": {**WIDE, "window": 40},
    "neon+": {**WIDE, "window": 20},
}
ONE = {"batch": 1, "search_batch": 1, "check_batch": 1}  # sample a query
GROWING = {"radius": 1e-3, "window": 12, "reach": 1.5, "probes": 12, **ONE}
SAMPLED = {  # and here one that takes samples
    "sgd+nc": {"radius": 1e-3, "window": 12, **ONE},
    "neon2-online": GROWING,
    "spider+": {**GROWING, "first_batch": 1, "period": 3.0, "epoch": 5.0},
    "sharp-sgd": {"batch": 1, "noise": 1e-2, "ball": 0.05, "window": 170.0},
    "psgd": {"radius": 1e-2, "batch": 1},
}
BACKENDS = {  # a new backend here
    "torch": (run_torch, run_torch_sampled),
    "jax": (run_jax, run_jax_sampled),
    "optax": (run_optax, run_optax_sampled),
}


def rippled(height=3e-4, width=3e-3, weights=(1.0, 1.0)):
    """The quartic with ripples that rho does not account for: to a search they look like noise."""
    f, space = landscapes.quartic(), landscapes.landscape.namespace

    def weighted(x, ripples):
        return space(x).stack([w * ripples[..., i] for i, w in enumerate(weights)], -1)

    return replace(
        f,
        value=lambda x: f.value(x) + height * width * weighted(x, space(x).sin(x / width)).sum(-1),
        gradient=lambda x: f.gradient(x) + height * weighted(x, space(x).cos(x / width)),
    )


LANDSCAPES = {
    "quartic": landscapes.quartic,
    "triangle": landscapes.triangle,
    "wells": lambda: landscapes.wells(n=128),
    "rippled": rippled,
    "rough": lambda: rippled(height=1e-2),
    "ridged": lambda: rippled(height=3e-3, weights=(0.0, 1.0)),
}
FIXED = {"probe_radius": 1e-3, "curvature_tol": 0.01}  # over which ripples hide what is asked for
RIPPLED = {
    "auto": {**FIXED, "unit": 0.0, "tol": 1e-2},
    "agd-auto": {**FIXED, "unit": 0.0},
    "agd+lanczos": {**FIXED, "unit": 0.0},
}
SPECIAL = {
    "rippled": lambda method: RIPPLED.get(method, FIXED),
    "rough": lambda method: RIPPLED.get(method, FIXED),  # a line search of auto takes long
    "ridged": lambda method: (
        {"unit": 2.5e-7} if method == "agd-auto" else {}
    ),  # only a recheck sees
}
MEASURES = ("auto", "agd-auto", "agd+lanczos", "pgd")  # on the way, or in a proof behind it
KINDS = ("auto", "sgd+nc", "psgd")  # without constants, of samples
QUERIES = 160  # the mirror symmetry of a saddle turns rounding into the side of a jump later on
TOL = 1e-12
ORDERS = 12  # runs that say how far rounding alone leads
BEYOND = 4  # times as far may backends be apart, or TOL; but no further than
FAR = 1e-7  # or the runs had turned at a branch, and nothing would be compared


def tilted_start(f):
    """A start near the saddle, off every axis of symmetry."""
    tilt = np.cos(np.arange(1, f.n + 1))
    return f.saddles[0] + 0.02 * tilt / np.linalg.norm(tilt)


def tried(methods):
    """All of methods x landscapes x backends, at night what would be compiled for little."""
    cases = [*product(methods, LANDSCAPES, BACKENDS)]
    return most_at_night([each for each in cases if often(*each)], cases)


def often(method, landscape, backend):
    """Say whether a case is tried in every run: a method by one door, each kind of it by both."""
    own = "rippled" if method in MEASURES else "quartic"
    door = "optax" if method in SAMPLED else "jax"
    return backend == "torch" or (landscape == own and (backend == door or method in KINDS))


@pytest.mark.parametrize(("method", "landscape", "backend"), tried(METHODS))
def test_same_queries(method, landscape, backend, monkeypatch):
    pytest.importorskip(backend)
    f = LANDSCAPES[landscape]()
    given = asked_for(method, landscape)
    alike(BACKENDS[backend][0], method, f, given, monkeypatch)


def asked_for(method, landscape):
    """What a method is told of a landscape."""
    f = LANDSCAPES[landscape]()
    known = {"smoothness": f.smoothness, "hessian_lipschitz": f.hessian_lipschitz}
    options = METHODS[method] | SPECIAL.get(landscape, lambda method: {})(method)
    return {**known, "tol": 0.05, "decrease_available": 1.0, **options}


@pytest.mark.jax
@pytest.mark.parametrize("method", METHODS)
def test_same_queries_on_the_host(method, monkeypatch):
    """Where JAX runs a method without tracing it."""
    pytest.importorskip("jax")
    landscape = "rippled" if method in MEASURES else "quartic"
    f = LANDSCAPES[landscape]()
    given = asked_for(method, landscape)
    alike(run_jax_on_host, method, f, given, monkeypatch)


def visited(method):
    """The phases that the runs of a method come by, by name."""
    names = set()
    for landscape in LANDSCAPES:
        f = LANDSCAPES[landscape]()
        given = {"jac": f.gradient, "method": method, "max_gradients": QUERIES}
        result = minimize(f.value, tilted_start(f), **given, **asked_for(method, landscape))
        names |= {*result.history.phase}
    return names


@pytest.mark.parametrize("method", METHODS)
def test_the_table_comes_by_every_query(method):
    """Else a backend could differ where nobody has been. Two phases may share an update."""
    own = {code: it for code, it in find(method).unproved.phases.items() if it.needs}
    names = visited(method)
    seen = {phase.update for code, phase in own.items() if name_of(code) in names}
    assert {phase.update for phase in own.values()} - seen <= {give_up, forget}  # both give up


def test_the_table_comes_by_every_query_of_the_proof():
    """It is the same for all methods, so one of them will do for each of its queries."""
    names = visited("pgd") | visited("pagd") | visited("neon")
    asks = {name_of(code + PROOF) for code, phase in proof.phases.items() if phase.needs}
    rare = {"proof recheck_close"}  # which agd-auto comes by, whose search it is
    assert (asks - rare) | {"prove"} <= names


@pytest.mark.parametrize(("method", "landscape", "backend"), tried(SAMPLED))
def test_same_queries_of_the_same_samples(method, landscape, backend, monkeypatch):
    """Where it queries, and which sample: the last column is the sample's number."""
    pytest.importorskip(backend)
    f = LANDSCAPES[landscape]()
    given = {
        "smoothness": f.smoothness,
        "hessian_lipschitz": f.hessian_lipschitz,
        "stochastic_smoothness": f.smoothness,
        "variance": 1e-4,
        "tol": 0.05,
        **SAMPLED[method],
    }

    def answer(x, first):
        """Noise that is a function of the sample's number, and that depends on x too."""
        space = landscapes.landscape.namespace(x)
        return f.gradient(x) + 0.01 * space.sin(first + 2.0 * x)

    run, theirs = run_numpy_sampled, BACKENDS[backend][1]
    same(run, theirs, method, answer, tilted_start(f), given, monkeypatch)


def same(run, theirs, method, f, x, given, monkeypatch, far=TOL):
    """Compare the queries of two backends."""
    expected = run(method, f, x, given, QUERIES, monkeypatch)
    if "torch" in theirs.__name__:
        asked = theirs(method, f, x, given, QUERIES, monkeypatch)
    else:
        import jax

        with jax.enable_x64(True):
            asked = theirs(method, f, x, given, QUERIES, monkeypatch)
    if "torch" not in theirs.__name__:  # the others are asked for so many queries, ended or not
        asked = asked[: len(expected)]
    assert asked.shape == expected.shape
    np.testing.assert_allclose(asked, expected, rtol=0, atol=far)


def alike(theirs, method, f, given, monkeypatch):
    """Compare the queries of NumPy and another backend, which adds up in another order."""
    x = tilted_start(f)
    runs = [
        run_numpy(method, each, x, given, QUERIES, monkeypatch)
        for each in (f, *(rounded(f, seed) for seed in range(ORDERS)))
    ]
    assert {each.shape for each in runs} == {runs[0].shape}
    far = BEYOND * max(np.abs(each - runs[0]).max() for each in runs)
    assert far < FAR
    same(run_numpy, theirs, method, f, x, given, monkeypatch, far=max(far, TOL))


def rounded(f, seed):
    """The same function, whose gradients have other last digits: as if sums had another order."""
    rng = np.random.default_rng(seed)

    def gradient(x):
        g = f.gradient(x)
        return np.nextafter(g, rng.choice([-np.inf, np.inf], g.shape))

    return replace(f, gradient=gradient)
