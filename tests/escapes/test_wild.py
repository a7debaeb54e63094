"""Functions that overflow, have no minimum or no gradient: no method fails or claims on them."""

import numpy as np
import pytest

from unsaddle import Outcome, minimize
from unsaddle.core.phases import BEGIN, PhaseName, name_of
from unsaddle.descents import progress

WILD = {
    "exponential": (lambda x: np.exp(x.sum()), lambda x: np.full_like(x, np.exp(x.sum()))),
    "its negative": (lambda x: -np.exp(x.sum()), lambda x: np.full_like(x, -np.exp(x.sum()))),
    "maximum": (lambda x: -x @ x, lambda x: -2 * x),
    "cubic": (lambda x: (x**3).sum(), lambda x: 3 * x * x),
    "linear": (lambda x: x.sum(), np.ones_like),
    "logarithm": (lambda x: np.log(x @ x), lambda x: 2 * x / (x @ x)),
    "corners": (lambda x: abs(x).sum(), np.sign),
    "cusps": (lambda x: np.sqrt(abs(x)).sum(), lambda x: np.sign(x) / np.sqrt(abs(x)) / 2),
}
KNOWN = {"smoothness": 10.0, "hessian_lipschitz": 10.0}
METHODS = {
    "auto": {},
    "agd-auto": {},
    "pgd+nc": KNOWN,
    "ancgd": KNOWN,
    "agd+lanczos": KNOWN,
    "neon": KNOWN,
    "neon+": KNOWN,
    "neon2": KNOWN,
    "cdhs": KNOWN,
    "adancg": KNOWN,
    "fastcubic": KNOWN,
    "pgd": {**KNOWN, "decrease_available": 1.0},
    "pagd": {**KNOWN, "decrease_available": 1.0},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wild", WILD)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the function's own
@pytest.mark.slow
def test_a_wild_function_is_survived(method: str, wild: str) -> None:
    value, gradient = WILD[wild]
    for scale, place, kind in ((1, 1, "d"), (1e150, 1, "d"), (1e-150, 1e5, "d"), (1e20, 1, "f")):
        x0 = np.array([1.0, -2.0, 0.5], kind) * place
        jac = lambda x: (scale * gradient(x.astype(float))).astype(kind)  # noqa: B023, E731
        fun = lambda x: float(scale * value(x.astype(float)))  # noqa: B023, E731
        result = minimize(fun, x0, jac=jac, method=method, max_gradients=300, **METHODS[method])
        assert isinstance(result.outcome, Outcome)
        assert np.isfinite(result.x).all()
        if result.success:
            assert np.linalg.norm(jac(result.x).astype(float)) <= 1e-5


@pytest.mark.parametrize("method", ["auto", "agd-auto"])
@pytest.mark.parametrize("start", [[1.0, 2.0], [0.0, 0.0]])
def test_an_endless_fall_ends_at_its_lowest_point(method: str, start: list[float]) -> None:
    for value, gradient in (WILD["maximum"], WILD["linear"]):
        result = minimize(value, start, jac=gradient, method=method)
        assert result.outcome is Outcome.UNBOUNDED
        assert result.fun == value(result.x) == result.best.fun < -1e9


TURN = np.array([[0.0, 1.0, 2.0], [-1.0, 0.0, -1.0], [-2.0, 1.0, 0.0]])
ENDLESS = {  # value, gradient, outcome, what is said of it
    "|x|_1": (*WILD["corners"], Outcome.STALLED, "steps have lowered neither"),
    "max |x|": (
        lambda x: abs(x).max(),
        lambda x: np.sign(x) * (abs(x) == abs(x).max()),
        Outcome.STALLED,
        "If jac may be wrong",
    ),
    "max(x)": (
        np.max,
        lambda x: (x == x.max()).astype(float),
        Outcome.UNBOUNDED,
        "falls without end",
    ),
    "of nothing": (lambda x: x @ x, lambda x: TURN @ x, Outcome.STALLED, "If jac may be wrong"),
    "x^100": (
        lambda x: (x**100).sum(),
        lambda x: 100 * x**99,
        Outcome.STALLED,
        "takes 5,000 steps and no more",
    ),
}


@pytest.mark.parametrize("wild", ENDLESS)
def test_agd_auto_ends_by_itself_and_says_why(wild: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a budget: the descent ends, and so does the search where it has ended.

    Measured: 3,900 gradients at most, but for x^100, with all that a descent has and 847 of a
    search, and for a gradient of nothing, whose search neither grows nor decays, and takes 13,093.
    """
    monkeypatch.setattr(progress, "TUNING", progress.TUNING._replace(most=5000))
    value, gradient, outcome, why = ENDLESS[wild]
    result = minimize(value, [1.0, -2.0, 0.3], jac=gradient, method="agd-auto")
    assert result.outcome is outcome
    assert why in result.message
    descent = {name_of(code) for code in PhaseName if 0 <= code < BEGIN}
    assert sum(name in descent for name in result.history.phase) <= 10_200
    assert result.njev <= 14_000


def test_a_start_without_a_value_is_asked_for_once() -> None:
    calls = []
    result = minimize(lambda x: calls.append(1) or np.nan, [1.0, 2.0], jac=lambda x: x * np.nan)
    assert result.outcome is Outcome.NOT_FINITE
    assert len(calls) == 1


@pytest.mark.parametrize("word", ["tol", "smoothness", "hessian_lipschitz", "curvature_tol"])
@pytest.mark.parametrize("amount", [True, 1e60, 1e-60, 10**400])
def test_a_constant_of_no_size_is_named(word: str, amount: float) -> None:
    value, gradient = WILD["maximum"]
    with pytest.raises(ValueError, match=rf"^{word}=.* 1e-50 to 1e50"):
        minimize(value, [1.0], jac=gradient, method="ancgd", **{**KNOWN, word: amount})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["d", "f"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the function's own
def test_units_far_from_one_are_survived_and_not_claimed_on(method: str, kind: str) -> None:
    """A double well in units of x and of f: where squares are lost, nothing is claimed of them."""
    for units in (1e-18, 1e-12, 1e12, 1e18):
        for height in (1e-18, 1.0, 1e18):

            def fun(x: np.ndarray, units: float = units, height: float = height) -> float:
                y = x.astype(float) / units
                return float(height * (y[0] ** 4 / 4 - y[0] ** 2 / 2 + y[1:] @ y[1:] / 2))

            def jac(x: np.ndarray, units: float = units, height: float = height) -> np.ndarray:
                y = x.astype(float) / units
                return (height / units * np.append(y[0] ** 3 - y[0], y[1:])).astype(kind)

            tol, steep = 1e-5 * height / units, height / units**2
            known = {"smoothness": 3 * steep, "hessian_lipschitz": 6 * steep / units}
            known |= (
                {"decrease_available": height} if "decrease_available" in METHODS[method] else {}
            )
            known = known if METHODS[method] else {}
            x0 = np.zeros(3, kind)
            if min([tol, *known.values()]) < 1e-50 or max([tol, *known.values()]) > 1e50:
                continue
            result = minimize(fun, x0, jac=jac, method=method, tol=tol, max_gradients=300, **known)
            at_saddle = abs(result.x[0]) < units / 2
            assert not (result.success and at_saddle and result.certificate.curvature_tol < steep)


def test_nothing_is_certified_with_an_infinite_gamma():
    """|x|_1 falls to 1e-168, where no difference of gradients shows anything finite."""
    result = minimize(lambda x: float(abs(x).sum()), np.linspace(1, 2, 5), jac=np.sign)
    assert result.certificate.holds is None
    assert not result.success


def test_where_the_value_is_coarse_a_jump_of_many_variables_is_long_enough_to_be_seen() -> None:
    """In float32 at 10^6 a jump of length one gains less than rounding, one of sqrt(n) 25."""
    result = minimize(
        lambda x: np.float32(1e6 + np.sum((x * x - 1.0) ** 2) / 4),
        np.zeros(100, np.float32),
        jac=lambda x: (x * x - 1) * x,
        tol=1e-3,
    )
    assert result.outcome is not Outcome.JUMP_FAILED
    np.testing.assert_allclose(abs(result.x), 1, atol=1e-2)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_kink_that_the_first_probes_have_missed_ends_the_search(seed: int) -> None:
    """It is met as an l without bound; the steps that its root allows were twenty million."""
    x = np.append(-1e-10, np.ones(19))
    result = minimize(
        lambda x: 1e-3 * abs(x[0]) + float(np.sum(x[1:] ** 4 / 4 - x[1:] ** 2 / 2)),
        x,
        jac=lambda x: np.append(1e-3 if x[0] > 0 else -1e-3, x[1:] ** 3 - x[1:]),
        method="agd-auto",
        tol=1e-2,
        seed=seed,
        max_gradients=1000,
    )
    assert result.outcome is Outcome.UNCERTIFIED
