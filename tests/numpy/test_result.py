"""What a result shows: it can be read, it says what is known, and it carries no dead weight."""

import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from tests.watched import START, at_call, each_method, gradient, solve, value
from unsaddle import Certificate, Outcome, certify, minimize


@each_method
@pytest.mark.parametrize("given", [{}, {"max_gradients": 5}])
def test_a_printed_result_fits_a_screen(method: str, given: dict[str, Any]) -> None:
    result = solve(method, "apart", [], x0=np.append(np.ones(500), 0.0), **given)
    for text in (repr(result), str(result)):
        lines = text.splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= 100
        for word in ("CERTIFIED" if result.success else "BUDGET", method, "queries", "tolerance="):
            assert word in text
        assert "=0," not in text
        assert text.count("certified: no curvature") == result.success
    assert len(repr(result.state)) <= 100
    assert repr(pickle.loads(pickle.dumps(result))) == repr(result)


def test_several_starts_print_their_ends_and_agree_on_the_probability() -> None:
    result = minimize(value, START, jac=gradient, starts=3)
    assert "runs: CERTIFIED, CERTIFIED, CERTIFIED" in repr(result)
    assert str(result.certificate) in result.message


@pytest.mark.parametrize(("count", "word"), [(0, "0 gradients"), (1, "1 gradient"), (2, "2 g")])
def test_one_gradient_is_no_plural(count: int, word: str) -> None:
    assert f"({word}" in str(Certificate(None, 0.1, 1.0, 0.0, None, count, ""))
    assert "(1 gradients)" not in str(Certificate(None, 0.1, 1.0, 0.0, None, count, ""))


@pytest.mark.parametrize(("holds", "truth"), [(True, True), (False, False), (None, False)])
def test_a_certificate_is_true_only_if_it_holds(holds: bool | None, truth: bool) -> None:
    assert bool(Certificate(holds, 0.1, 1.0, 0.0, None, 1, "")) is truth


def test_a_certificate_of_less_than_was_asked_for_is_not_true() -> None:
    """In float32 far from 0; where nothing was asked for, what could be shown is a success."""
    x, curvatures = np.full(3, 10, np.float32), np.array([1.0, 0.5, 0.2], np.float32)
    asked, free = (certify(lambda x: curvatures * (x - 10), x, it) for it in (1e-5, None))
    assert asked.holds
    assert asked.coarser
    assert asked.curvature_tol > 1e-5
    assert not asked
    assert free
    assert not free.coarser


def test_the_gradient_at_x_is_given_wherever_a_run_is_cut_short() -> None:
    """Unless x is a trial of the line search that went further, whose gradient was not kept."""
    unknown = 0
    for budget in range(1, 42):
        result = minimize(rosen, [-1.0, 1, 1, 1], jac=rosen_der, max_gradients=budget)
        assert result.outcome is Outcome.BUDGET
        if np.isnan(result.jac).any():
            unknown += 1
        else:
            np.testing.assert_array_equal(result.jac, rosen_der(result.x))
    assert unknown <= 4


def test_the_gradient_at_x_is_given_where_the_function_ends() -> None:
    """Beyond x = 2 there is no function: the last point before it has a gradient that was seen."""

    def fun(x: np.ndarray) -> float:
        return float(-x[0]) if x[0] < 2 else np.nan

    result = minimize(fun, [0.0], jac=lambda x: -np.ones(1) if x[0] < 2 else np.full(1, np.nan))
    assert not result.success
    np.testing.assert_array_equal(result.jac, [-1.0])


def test_the_gradient_at_x_is_given_where_a_descent_stalls() -> None:
    """The lowest point is a trial of which the value alone was asked: one gradient more, if any.

    Of one variable, since at a kink the order of a sum would decide which way a run goes.
    """

    def fun(x: np.ndarray) -> float:
        return float(max(x[0], -7 * x[0]))

    def kinked(x: np.ndarray) -> np.ndarray:
        return np.array([1.0 if x[0] > 0 else -7.0])

    words, more = {"jac": kinked, "bounds": [(-2, 2)]}, 0
    for x0 in ([0.3], [0.7], [1.1]):
        result = minimize(fun, x0, **words)
        assert result.outcome is Outcome.STALLED
        np.testing.assert_array_equal(result.jac, kinked(result.x))
        if result.history.phase[-1] != "report":
            continue
        spent = minimize(fun, x0, max_gradients=result.njev - 1, **words)
        assert spent.outcome is Outcome.STALLED
        assert spent.njev == result.njev - 1
        np.testing.assert_array_equal(spent.x, result.x)
        assert np.isnan(spent.jac).all()
        more += 1
    assert more


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_the_hessian_is_zero_no_number_is_made_up(dtype: type) -> None:
    """At 0 of (xyz - 1)^2 differences show nothing; what the error of them hides is not gamma."""

    def slope(x: np.ndarray) -> np.ndarray:
        return 2 * (x.prod() - 1) * np.array([x[1] * x[2], x[0] * x[2], x[0] * x[1]])

    zero = np.zeros(3, dtype)
    result = minimize(lambda x: float((x.prod() - 1) ** 2), zero, jac=slope)
    assert result.outcome is Outcome.UNRESOLVED
    for shown in (result.certificate, certify(slope, zero)):
        assert shown.holds is None
        assert str(shown).startswith("undecided: nothing is known of the curvature (")
        assert "e+" not in str(shown)
        assert "e-" not in str(shown)
        assert "pass curvature_tol=<what is small for you>" in str(shown)
    assert certify(slope, zero, curvature_tol=0.01)  # as it says


@pytest.mark.parametrize(("curvature_tol", "weak"), [(0.9, True), (0.3, True), (0.1, False)])
def test_a_weak_certificate_says_so(curvature_tol: float, weak: bool) -> None:
    """At the minimum the curvatures are 1 and 2, and the bound on the largest is below 3."""
    certificate = certify(gradient, [0.0, 1.0], curvature_tol=curvature_tol)
    assert certificate.holds
    assert ("It is weak: the largest curvature is only" in str(certificate)) == weak


def test_a_certified_run_keeps_no_more_than_a_few_vectors() -> None:
    """The basis of the search and the pairs of the descent would be a thousand."""
    n = 1000
    result = minimize(lambda x: float(x @ x), np.ones(n), jac=lambda x: 2 * x)
    assert result.success
    assert len(pickle.dumps(result.state)) < 10 * 8 * n
    again = minimize(lambda x: float(x @ x), np.ones(n), jac=lambda x: 2 * x, state=result.state)
    for claim in ("holds", "curvature_tol", "curvature", "note"):
        assert getattr(again.certificate, claim) == getattr(result.certificate, claim)


def test_a_degenerate_saddle_is_certified_for_what_it_is() -> None:
    """As the README says of x^2 - y^4: no curvature below -gamma, and yet no minimum."""
    result = minimize(
        lambda x: x[0] ** 2 - x[1] ** 4, [1, 0], jac=lambda x: np.array([2 * x[0], -4 * x[1] ** 3])
    )
    assert result.success
    np.testing.assert_array_equal(result.x, [0, 0])
    assert 0 < result.certificate.curvature_tol < 0.01


@pytest.mark.parametrize(
    ("given", "times"), [({"gradient_noise": 1e-4}, 1.5), ({"x0": np.float32([1, 0])}, 1.2)]
)
def test_a_less_exact_gradient_certifies_less(given: dict[str, Any], times: float) -> None:
    exact = minimize(value, START, jac=gradient)
    rough = minimize(value, jac=gradient, **{"x0": START, **given})
    assert rough.success
    assert rough.certificate.curvature_tol > times * exact.certificate.curvature_tol


@pytest.mark.parametrize(
    ("given", "blamed"),
    [
        ({"gradient_noise": 1e-4}, "less cannot be told from the gradient's noise, 0.0001"),
        (
            {"gradient_noise": 1e-5, "curvature_tol": 1e-5},
            "less cannot be told from the gradient's noise, 1e-05",
        ),
        ({"x0": np.float32([1, 0]), "curvature_tol": 1e-4}, "less cannot be told from rounding"),
    ],
)
def test_what_raised_gamma_is_named(given: dict[str, Any], blamed: str) -> None:
    certificate = minimize(value, jac=gradient, **{"x0": START, **given}).certificate
    assert certificate.holds
    assert blamed in certificate.note


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize(
    ("x", "steep"), [([0, 1], 0), ([1e-5, 1], 0), ([0, 1.1], 1), ([3, 1], 1), ([2, 0], 1)]
)
def test_a_steep_point_is_not_passed_off_as_stationary(x: Any, steep: int, scale: float) -> None:
    """Certified or refuted, and in whatever unit the function is measured."""
    certificate = certify(lambda x: scale * gradient(x), x)
    assert certificate.gradient_norm == pytest.approx(scale * np.linalg.norm(gradient(np.array(x))))
    assert ("x is not stationary" in str(certificate)) == steep


@pytest.mark.parametrize("answer", [np.atleast_1d, np.float32, lambda f: [[f]], np.array])
def test_one_number_may_come_in_any_shape(answer: Any) -> None:
    """As in SciPy; with both from one call too."""
    alone = minimize(lambda x: answer(value(x)), START, jac=gradient)
    both = minimize(lambda x: (answer(value(x)), gradient(x)), START, jac=True)
    assert alone.success
    assert both.success
    assert isinstance(alone.fun, float)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"step": 0.1}, "step is no option of 'auto', but of pgd, pagd, pgd+nc, ancgd"),
        ({"stat": 0.1}, "stat is unknown; did you mean 'state'?"),
        ({"lambda_min": 0.1}, "lambda_min is unknown\nThe arguments are"),
        ({"eps": 1e-3}, "eps is tol here"),
        ({"l": 1.0}, "l is smoothness here"),
        ({"gamma": 0.1}, "gamma is curvature_tol here"),
        ({"delta": 0.1}, "delta is failure_probability here"),
        ({"rho": 0.1}, "rho is hessian_lipschitz here"),
        ({"learning_rate": 0.1}, "learning_rate is step here"),
        ({"random_state": 1}, "random_state is seed here"),
        ({"verbose": True}, "verbose is not known here: print(result)"),
        ({"starts": 3, "seed": -1}, "seed must be a whole number"),
        ({"noise": 1e-5}, "noise is gradient_noise now, in the gradient's own units: pass"),
        (
            {"gradient_noise": np.inf},
            "gradient_noise=inf was passed, expected a finite number >= 0",
        ),
        ({"gradient_noise": True}, "gradient_noise=True was passed, expected a finite number >= 0"),
        ({"unit": True}, "unit must be a finite number >= 0, the share that is wrong, got True"),
    ],
)
def test_an_option_that_does_not_fit(option: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        minimize(value, START, jac=gradient, **option)


@pytest.mark.parametrize("word", ["gamma", "delta"])
def test_the_letters_of_the_documentation_are_known_to_certify_too(word: str) -> None:
    with pytest.raises(TypeError, match=f"{word} is .* here: pass"):
        certify(gradient, START, **{word: 0.1})


def test_differences_are_doubted_and_not_a_jac_that_nobody_gave() -> None:
    rng = np.random.default_rng(0)
    result = minimize(lambda x: value(x) + 1e-3 * rng.standard_normal(), [1.0, 0.3])
    assert not result.success
    assert "made of differences of fun: where fun is noisy or has kinks, pass jac" in result.message
    assert "check_grad" not in result.message


def test_a_stall_of_a_gradient_that_fell_far_advises_another_tol() -> None:
    """A gradient that no point has below 1e-4 falls from 3,000 to that; jac is not to blame.

    It stands for what rounding leaves of a gradient in float32, which no two machines agree on.
    """
    centre, floor = np.array([0.3, 1.7, 3.1], np.float32), np.float32(1e-4)
    weights, x0 = np.array([1.0, 15.0, 30.0], np.float32), np.full(3, -100.0, np.float32)

    def fun(x: np.ndarray) -> float:
        return float(np.sum(weights * (x - centre) ** 2 / 2 + floor * abs(x - centre), dtype=float))

    def jac(x: np.ndarray) -> np.ndarray:
        return weights * (x - centre) + np.where(x < centre, -floor, floor)

    result = minimize(fun, x0, jac=jac)
    assert result.outcome is Outcome.STALLED
    assert re.search(r"fell from .* if float32 shows no more of it, pass tol=", result.message)
    tol = float(result.message.split("tol=")[-1].rstrip("."))
    again = minimize(fun, x0, jac=jac, tol=tol)
    assert np.linalg.norm(again.jac) <= tol
    assert again.outcome is not Outcome.STALLED  # the kinks are no noise, and show no curvature


def test_a_stall_in_noise_advises_a_tol_of_twice_the_noise() -> None:
    rng, curvatures = np.random.default_rng(0), np.linspace(1.0, 30.0, 20)

    def jac(x: np.ndarray) -> np.ndarray:
        return curvatures * x + 1e-3 * rng.standard_normal(20) / np.sqrt(20)

    def run(tol: float) -> Any:
        return minimize(lambda x: float(curvatures @ x**2 / 2), np.full(20, 9.0), jac=jac, tol=tol)

    result = run(1e-6)
    assert result.outcome is Outcome.STALLED
    assert re.search(r"fell from .* where its noise is 0\.00[0-9]+: pass tol=", result.message)
    tol = float(result.message.split("tol=")[-1].rstrip("."))
    assert tol >= 1e-3
    assert run(tol).outcome is not Outcome.STALLED


def test_a_fault_inside_a_proof_leaves_a_state_to_go_on_from() -> None:
    whole = solve("pgd", "apart", [])
    calls = whole.nfev + whole.njev
    spent = []
    for k in range(calls - 3, calls + 1):
        with pytest.raises(RuntimeError) as fault:
            solve("pgd", "apart", [], at_call(k, RuntimeError()))
        after = solve("pgd", "apart", [], state=fault.value.unsaddle.state)
        assert after.certificate.curvature == whole.certificate.curvature
        assert after.success
        assert np.array_equal(after.x, whole.x)
        spent.append(after.njev)
    assert spent == [4, 3, 2, 1]


@pytest.mark.parametrize("unit", [1.0, 1e-10])
def test_a_start_in_tiny_units_is_advised_on(unit: float) -> None:
    """In units of 1e-10, such as metres for atoms, a first step of one ends nowhere."""
    fun, jac = lambda x: rosen(x / unit), lambda x: rosen_der(x / unit) / unit
    result = minimize(fun, np.array([-1.2, 1.0]) * unit, jac=jac, tol=1e-5 / unit)
    assert result.success or "if that is for its units" in result.message
    assert result.success or unit < 1


@pytest.mark.parametrize("method", ["ancgd", "neon"])
def test_a_smoothness_that_is_too_small_is_named_where_the_run_diverges(method: str) -> None:
    """Steps of a quarter of 1/smoothness and more lead up, at the cube of the distance each."""
    with np.errstate(all="ignore"):
        result = minimize(
            lambda x: 50 * x[0] ** 2 + 50 * x[0] ** 4,
            [1.0],
            jac=lambda x: 100 * x + 200 * x**3,
            method=method,
            smoothness=0.1,
            hessian_lipschitz=6.0,
            tol=1e-3,
        )
    assert result.outcome is Outcome.NOT_FINITE
    assert "smoothness is likely too small" in result.message
