"""The formulas against the papers' LaTeX written out by hand, and their errors."""

import inspect
import re
from itertools import islice
from math import ceil, exp, inf, log, nan, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import budgets
from unsaddle.methods import theory

L, R, E, D, N, G = 3.0, 7.0, 0.011, 0.02, 500, 13.0  # l, rho, eps, delta, n, Delta_f
LT, S2 = 5.0, 0.4  # l tilde, sigma^2
SADDLE = {"hessian_lipschitz": R, "tol": E}
FINDING = {**SADDLE, "smoothness": L, "failure_probability": D, "n": N}
RUN = {**FINDING, "decrease_available": G}
NOISE = {"stochastic_smoothness": LT, "variance": S2}
BUDGET = {"curvature_tol": 0.02, "failure_probability": 0.01, "n": 1000}
CALLS = {
    **dict.fromkeys(["curvature", "jump"], SADDLE),
    **dict.fromkeys(["nc_finding", "anc_finding"], FINDING),
    **dict.fromkeys(["pgd_nc", "ancgd", "pgd", "pagd"], RUN),
    "snc_finding": {**FINDING, "stochastic_smoothness": LT},
    "sgd_nc": RUN | NOISE,
    "psgd": {**RUN, "variance": S2},
    **dict.fromkeys(["krylov_budget", "growth_budget"], BUDGET | {"smoothness": L}),
    "accelerated_growth_budget": BUDGET | {"step": 1 / 12, "friction": 0.05},
}
FORMULAS = {name: getattr(budgets if name.endswith("_budget") else theory, name) for name in CALLS}


def call(name, **changes):
    return FORMULAS[name](**CALLS[name] | changes)


def close(expected):
    return pytest.approx(expected, rel=1e-12, abs=0)


def values(answer):
    return answer if isinstance(answer, tuple) else (answer,)


def naming(word):
    return [name for name, words in CALLS.items() if word in words]


# The displayed equations, in the order of the fields. A letter of the papers is a letter here.
GAMMA, UNIT = sqrt(R * E), sqrt(E**3 / R)
ETA, THETA = 1 / (4 * L), (R * E) ** 0.25 / (4 * sqrt(L))
MOMENTUM = (ETA, THETA, THETA**2 / ETA, THETA**2 / ETA / (4 * R))
D0 = D / (384 * G) * UNIT
T = max(8 * L * G / E**2, 768 * G * sqrt(R / E**3))


def nc(d):
    window = 8 * L / GAMMA * log(L / d * sqrt(N / (pi * R * E)))
    return ceil(window), E / (8 * L) * sqrt(pi / N) * d


def anc(d):
    window = 32 * sqrt(L) / (R * E) ** 0.25 * log(L / d * sqrt(N / (R * E)))
    return *MOMENTUM, ceil(window), d / 32 * sqrt(pi * E / (R * N))


def ancgd(c):
    zeta, quantum, window = L / GAMMA, UNIT * c**-7, anc(D0)[4]
    t = max(4 * G * (sqrt(zeta) * c + window) / quantum, 768 * G * window * sqrt(R / E**3))
    return *anc(D0), D0, zeta, quantum, ceil(t)


def jin(c):
    chi = 3 * max(log(N * L * G / (c * E**2 * D)), 4)
    r, g, f = sqrt(c) / chi**2 * E / L, sqrt(c) / chi**2 * E, c / chi**3 * UNIT
    yield "pgd", (chi, c / L, r, g, f, ceil(chi / c**2 * L / GAMMA))
    kappa, chi = L / GAMMA, max(1, log(N * L * G / (R * E * D)))
    r, quantum = ETA * E * chi**-5 * c**-8, UNIT * chi**-5 * c**-7
    yield "pagd", (*MOMENTUM, ceil(sqrt(kappa) * chi * c), r, kappa, chi, quantum)


def psgd(mu, lt):
    big = 1 + min(S2 / E**2 + lt**2 / (L * GAMMA), S2 * N / E**2)
    i = mu * log(N * L * G * big / (R * E * D))
    eta = 1 / (i**9 * L * big)
    return i, eta, eta * (i * E * sqrt(big)), E, UNIT / i**5, ceil(i / (eta * GAMMA))


EQUATIONS = [
    ("curvature", {}, (GAMMA,)),
    ("nc_finding", {}, nc(D)),
    ("anc_finding", {}, anc(D)),
    ("anc_finding", {"printed": True}, (*anc(D)[:-1], D * E / 32 * sqrt(pi / (R * N)))),
    ("jump", {}, (sqrt(E / R) / 4, UNIT / 384)),
    ("accelerated_growth_budget", {"curvature_tol": 1e-30}, (10**6,)),  # the cap
    ("pgd_nc", {}, (*nc(D0), D0, ceil(T), ceil(384 * G * sqrt(R / E**3)))),
    ("ancgd", {}, ancgd(384 ** (1 / 7))),
    ("ancgd", {"energy_constant": 3.0}, ancgd(3.0)),
    ("psgd", {}, psgd(1.0, inf)),
    ("psgd", {"stochastic_smoothness": LT, "constant": 2.0}, psgd(2.0, LT)),
    *((name, {}, row) for name, row in jin(1.0)),
    *((name, {"constant": 0.7}, row) for name, row in jin(0.7)),
]


@pytest.mark.parametrize(("name", "options", "expected"), EQUATIONS)
def test_displayed_equations(name, options, expected):
    assert values(call(name, **options)) == close(expected)


@pytest.mark.parametrize(
    ("name", "delta"), [("snc_finding", D), ("sgd_nc", D / (2304 * G) * sqrt(E**3 / R))]
)
def test_stochastic_equations(name, delta):
    """T_s, iota, r_s and m as printed, where iota and r_s contain each other."""
    window, iota, radius, batch, *rest = call(name)
    assert window == ceil(8 * L / GAMMA * log(L * N / (delta * GAMMA)))
    assert iota == close(10 * log(N * window**2 / delta * log(sqrt(N) / (1 / L * radius))))
    assert radius == close(delta / (480 * R * N * window) * GAMMA / sqrt(iota))
    assert batch == ceil(160 * (L + LT) / (delta * GAMMA) * sqrt(window * iota))
    assert not rest or rest == close([delta, ceil(16 * L * G / E**2), *call("pgd_nc")[-2:]])


def test_what_the_proofs_ask_for():
    """An overlap's worth of curvature; the decrease of a cubic; a logarithm; a maximum."""
    s, decrease = call("jump")
    assert R * call("anc_finding").radius / (D / 8 * sqrt(pi / N)) == close(GAMMA / 4)
    assert GAMMA / 8 * s**2 - R / 3 * s**3 == close(decrease)
    assert call("pgd", n=1, decrease_available=1e-9).log_factor == 12
    assert call("pgd_nc", smoothness=1e4).iterations == ceil(8e4 * G / E**2)


def least(holds):
    return next(k for k in range(1, 10**6) if holds(k))


@pytest.mark.parametrize("n", [2, 1000, 10**7])
@pytest.mark.parametrize("gamma", [3.0, 0.3, 0.02])
@pytest.mark.parametrize("d", [1.0, 0.95, 0.9, 0.1, 0.03, 0.01, 1e-3, 3e-4])
def test_krylov_budget(n, gamma, d):
    """The least k at which each bound is at most delta; Royer et al. round 1.648^2 up to 2.75."""
    e, root = gamma / 12, sqrt(n)
    lanczos = least(lambda k: 1.648 * root * exp(-(2 * k - 1) * sqrt(e)) <= d)
    power = 1 + least(lambda k: min(0.824, 0.354 / sqrt(e * k)) * root * (1 - e) ** (k + 0.5) <= d)
    found = call("krylov_budget", n=n, curvature_tol=gamma, failure_probability=d)
    assert found == (min(n, lanczos), power)
    assert 0 <= ceil(0.5 + 0.5 * log(2.75 * n / d**2) * sqrt(L / gamma)) - lanczos <= 1


@pytest.mark.parametrize("n", [1, 30, 10**7])
@pytest.mark.parametrize(("gamma", "d"), [(3.0, 0.01), (0.3, 1.0), (0.3, 1e-9), (0.02, 0.01)])
def test_growth_budget(n, gamma, d):
    expected = least(lambda k: (1 + gamma / L) ** k >= sqrt(2 * n / pi) / d)
    assert call("growth_budget", n=n, curvature_tol=gamma, failure_probability=d) == expected


def recursion(eigenvalues, start, step, friction):
    """Yield x_k and z_k, by eigenvalue, of the accelerated recursion from x = z = start."""
    x = z = start
    while True:
        x, before = (1 - step * eigenvalues) * z, x
        z = x + (1 - friction) * (x - before)
        yield x, z


MOTIONS = [(step, friction) for step in (1 / 12, 1 / 3) for friction in (0.0, 1e-3, 0.05, 0.3, 1.0)]


@pytest.mark.parametrize(("step", "friction"), MOTIONS)
def test_accelerated_growth_budget(step, friction):
    """The shadow of -gamma passes the bar in x then, and in z at most one step sooner."""
    path, bar = list(islice(recursion(-0.02, 1.0, step, friction), 6000)), sqrt(2000 / pi) / 0.01
    in_x, in_z = (least(lambda k, i=i: path[k - 1][i] >= bar) for i in (0, 1))
    assert call("accelerated_growth_budget", step=step, friction=friction) == in_x
    assert in_x - 1 <= in_z <= in_x


@pytest.mark.parametrize(("step", "friction"), MOTIONS)
def test_eigenvalues_in_0_l_never_grow(step, friction):
    """What the budget rests on: |x_k| <= 1 is proved, |z_k| <= 1 measured here."""
    spectrum = np.concatenate([np.linspace(0, L, 1501), np.geomspace(1e-9, 1e-2, 200)])
    path = recursion(spectrum, np.ones_like(spectrum), step, friction)
    assert max(abs(np.array(next(path))).max() for _ in range(400)) <= 1 + 1e-12


@pytest.mark.parametrize("positive", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("step", "friction"), [(1 / 3, 1.0), (1 / 12, 0.05)])
def test_the_growth_certificate_has_fired_at_the_budget(positive, step, friction):
    rng, n = np.random.default_rng(0), 40
    eigenvalues = np.where(rng.random(n) < positive, rng.uniform(0, L, n), 0.0)
    xi = rng.standard_normal(n)
    path = recursion(eigenvalues, xi / np.linalg.norm(xi), step, friction)
    shadow = recursion(-0.02, 1.0, step, friction)
    budget = call("accelerated_growth_budget", step=step, friction=friction, n=n)
    if friction == 1:
        assert call("growth_budget", n=n) == budget
    (x, z), (s_x, s_z) = (next(islice(each, budget - 1, None)) for each in (path, shadow))
    ratio = max(s_x / np.linalg.norm(x), s_z / np.linalg.norm(z))
    assert ratio >= sqrt(2 * n / pi) / 0.01


problems = st.fixed_dictionaries(
    {
        **dict.fromkeys(["smoothness", "hessian_lipschitz"], st.floats(0.1, 100)),
        "tol": st.floats(1e-6, 1e-4),
        "failure_probability": st.floats(1e-6, 0.9),
        "n": st.integers(1, 10**6),
        "decrease_available": st.floats(1e-3, 1e3),
    }
).map(lambda words: words | NOISE)
fast = settings(max_examples=50)


def words_of(name, problem):
    return {word: value for word, value in problem.items() if word in CALLS[name]}


@fast
@given(problems)
@pytest.mark.parametrize("name", ["anc_finding", "ancgd", "pagd"])
def test_identities_of_the_accelerated_methods(name, problem):
    rho, eps = problem["hessian_lipschitz"], problem["tol"]
    found = FORMULAS[name](**words_of(name, problem))
    assert found.friction == close((eps * rho * found.step**2) ** 0.25 / 2)
    assert found.nce_curvature == close(found.friction**2 / found.step)
    assert found.nce_curvature == close(sqrt(rho * eps) / 4)
    assert 2 * found.step * found.nce_curvature <= found.friction <= 1 / 4
    if name != "pagd":
        printed = FORMULAS[name](**words_of(name, problem), printed=True)
        assert printed.radius / found.radius == close(sqrt(eps))


@fast
@given(problems)
@pytest.mark.parametrize(("name", "share"), [("pgd_nc", 1), ("ancgd", 1), ("sgd_nc", 6)])
def test_the_searches_of_a_run_share_its_failure_probability(name, share, problem):
    found = FORMULAS[name](**words_of(name, problem)).failure_probability
    decrease = sqrt(problem["tol"] ** 3 / problem["hessian_lipschitz"]) / 384
    searches = max(1, problem["decrease_available"] / decrease)
    assert found * share * searches == close(problem["failure_probability"])
    assert call(name, decrease_available=1e-12).failure_probability == close(D / share)


@pytest.mark.parametrize("name", naming("n"))
@pytest.mark.parametrize(
    ("word", "given"),
    [("n", [1, 2, 10, 10**3, 10**6]), ("failure_probability", [1.0, 0.3, 1e-2, 1e-6])],
)
def test_a_larger_space_and_a_smaller_risk_cost_more_and_kick_less(name, word, given):
    answers = [call(name, **{word: value}) for value in given]
    for field in getattr(answers[0], "_fields", ["count"]):
        series = [getattr(answer, field, answer) for answer in answers]
        if isinstance(series[0], int):
            assert series == sorted(series)
        if field == "radius":
            assert series == sorted(series, reverse=True)
            assert series[0] > series[-1]


EDGE = {"smoothness": 2.0, "hessian_lipschitz": 4.0, "tol": 1.0, "curvature_tol": 2.0, "n": 1}
EDGE |= {"failure_probability": 1.0, "decrease_available": 1e-3, "step": 0.5, "friction": 0.0}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("edge", [{}, EDGE])
def test_answers_are_positive_python_numbers_whatever_numbers_came(name, edge):
    """EDGE is the largest tol admitted, where the logarithms may vanish or turn negative."""
    words = CALLS[name] | words_of(name, edge)
    numpy = {word: np.asarray(value)[()] for word, value in words.items()}
    answer = FORMULAS[name](**numpy)
    kinds = [type(value) for value in values(answer)]
    assert kinds == list(getattr(answer, "__annotations__", {0: kinds[0]}).values())
    assert {int, float} >= set(kinds)
    assert min(values(answer)) > 0
    assert answer == FORMULAS[name](**words)


@pytest.mark.parametrize("name", CALLS)
def test_the_signature_spells_out_keyword_only_words(name):
    parameters = inspect.signature(FORMULAS[name]).parameters
    required = {word for word, p in parameters.items() if p.default is p.empty}
    assert required <= CALLS[name].keys() <= parameters.keys()
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    with pytest.raises(TypeError, match=min(required)):
        FORMULAS[name](**{w: v for w, v in CALLS[name].items() if w != min(required)})
    with pytest.raises(TypeError, match="smothness"):
        call(name, smothness=1.0)


BAD = [
    ("pgd", "smoothness", 0.0, "> 0"),
    ("pgd", "smoothness", inf, "finite"),
    ("pgd", "smoothness", "3", "number"),
    ("pgd", "hessian_lipschitz", -1.0, "> 0"),
    ("jump", "hessian_lipschitz", nan, "finite"),
    ("curvature", "tol", 0.0, "> 0"),
    ("nc_finding", "tol", None, "number"),
    ("nc_finding", "tol", 1.3, f"pass tol={L * L / R!r}"),
    ("ancgd", "tol", 1e9, "any stationary point qualifies"),
    ("anc_finding", "failure_probability", 0.0, "(0, 1]"),
    ("anc_finding", "failure_probability", 1.01, "(0, 1]"),
    ("anc_finding", "printed", 2, "True or False"),
    ("anc_finding", "n", 0, ">= 1"),
    ("anc_finding", "n", 10.0, "integer"),
    ("pgd_nc", "decrease_available", 0.0, "lower bound"),
    ("pgd_nc", "decrease_available", inf, "finite"),
    ("ancgd", "energy_constant", 2.3, "384 ** (1 / 7)"),
    ("snc_finding", "stochastic_smoothness", 0.0, "> 0"),
    ("sgd_nc", "variance", -1.0, ">= 0"),
    ("pagd", "constant", 0.0, "> 0"),
    ("krylov_budget", "curvature_tol", 3.1, "pass curvature_tol=3.0"),
    ("accelerated_growth_budget", "friction", 1.5, "[0, 1]"),
]


@pytest.mark.parametrize(("name", "word", "value", "expected"), BAD)
def test_errors_name_the_argument_the_value_and_what_is_expected(name, word, value, expected):
    opening = f"{word}={value!r} was passed, expected "
    with pytest.raises(ValueError, match="^" + re.escape(opening) + ".*" + re.escape(expected)):
        call(name, **{word: value})
