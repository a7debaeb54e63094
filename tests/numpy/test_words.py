"""What a caller knows of units: max_step, trial_errors, gradient_noise and probe_radius."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.drive import queries
from tests.watched import gradient, hessian, value
from unsaddle import Outcome, certify, find_negative_curvature, minimize
from unsaddle.core.session import Session
from unsaddle.methods.table import METHODS, parameters_of
from unsaddle.numpy.ops import ops

EACH_STEP = pytest.mark.parametrize("max_step", [1e-2, 0.1, 0.7])
NOISES = pytest.mark.parametrize("noise", [0.0, 1e-5])


def morse(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Steep to one side, flat to the other; a double well in the last variable."""
    bond, rest = np.exp(-x[:-1]), x[-1]
    down = np.append(2 * bond * (1 - bond), 4 * rest**3 - rest)
    return float(np.sum((1 - bond) ** 2) + rest**4 - rest**2 / 2), down


def noise_of(size: float, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    return lambda x: size * rng.standard_normal(x.size) / np.sqrt(x.size)


@NOISES
@EACH_STEP
@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [3.0, -0.5, 0.0], [-1.0, 5.0, 2.0]])
def test_no_query_is_further_from_the_iterate_than_max_step(
    start: list[float], max_step: float, noise: float
) -> None:
    """Steps, trials, jumps and probes alike; asserted at every query of the run."""
    given = {"max_step": max_step, "gradient_noise": noise or None}
    p = parameters_of("auto", 3, given, minimize, {})
    solver, error = METHODS["auto"].solver, noise_of(noise)
    session = Session(ops, solver, p, solver.start(ops, p, np.array(start), 0))
    noisy = lambda x: (g := morse(x)[1]) + error(g)  # noqa: E731
    for query in queries(session, lambda x: morse(x)[0], noisy):
        assert np.linalg.norm(query.point - session.state.x) <= max_step * (1 + 1e-9)
    assert abs(abs(session.state.x[-1]) - 0.5) < 1e-2


@EACH_STEP
def test_max_step_is_kept_by_minimize(max_step: float) -> None:
    """Every point that fun is called with is within max_step of one that it was called with."""
    asked: list[np.ndarray] = [np.array([3.0, -0.5, 0.0])]

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        assert min(np.linalg.norm(x - y) for y in asked) <= max_step * (1 + 1e-9)
        asked.append(x.copy())
        return morse(x)

    result = minimize(fun, asked[0], jac=True, max_step=max_step)
    assert result.success
    np.testing.assert_allclose(np.abs(result.x), [0, 0, 0.5], atol=1e-4)


def test_a_function_without_end_is_not_walked_down_in_longer_steps() -> None:
    """Even where every step is good, and the next one would be doubled."""
    given = {"jac": lambda x: -np.ones(1), "max_step": 0.5, "max_gradients": 50}
    result = minimize(lambda x: -float(x[0]), [0.0], **given)
    assert not result.success
    assert abs(result.best.x[0]) <= 0.5 * 51


@pytest.mark.parametrize("method", ["agd-auto", "pgd", "ancgd"])
def test_max_step_goes_with_auto(method: str) -> None:
    with pytest.raises(ValueError, match="max_step goes with method 'auto'"):
        minimize(value, [1.0, 0.0], jac=gradient, method=method, max_step=0.1, smoothness=6.0,
                 hessian_lipschitz=9.0, decrease_available=1.0)  # fmt: skip


BAD = [
    ({"max_step": 0}, "max_step=0"),
    ({"max_step": -1.0}, "max_step=-1.0"),
    ({"max_step": np.nan}, "max_step=nan"),
    ({"max_step": "long"}, "max_step='long'"),
    ({"probe_radius": 0.0}, "probe_radius=0.0"),
    ({"probe_radius": np.inf}, "probe_radius=inf"),
    ({"probe_radius": True}, "probe_radius=True"),
    ({"gradient_noise": -1e-3}, "gradient_noise=-0.001"),
    ({"gradient_noise": np.nan}, "gradient_noise=nan"),
    ({"gradient_noise": False}, "gradient_noise=False"),
    ({"gradient_noise": [1e-3]}, "gradient_noise=[0.001]"),
]


@pytest.mark.parametrize(
    ("method", "option"), [("fastcubic", "accuracy"), ("pgd+nc", "radius"), ("pgd+nc", "step")]
)
def test_an_option_that_is_divided_by_is_not_zero(method: str, option: str) -> None:
    known: dict[str, Any] = {"smoothness": 6.0, "hessian_lipschitz": 9.0, option: 0}
    with pytest.raises(
        ValueError, match=f"option {option} must be a number > 0, at most 1e50, got 0"
    ):
        minimize(value, [1.0, 0.0], jac=gradient, method=method, **known)


@pytest.mark.parametrize(("given", "named"), BAD, ids=[named for _, named in BAD])
def test_a_bad_word_is_named_before_the_first_call(given: dict[str, Any], named: str) -> None:
    def never(x: np.ndarray) -> Any:
        raise AssertionError("called")

    with pytest.raises((TypeError, ValueError)) as error:
        minimize(never, [1.0, 0.0], jac=never, **given)
    assert named in str(error.value)
    assert "expected a" in str(error.value)
    if "max_step" not in given:
        with pytest.raises((TypeError, ValueError)) as error:
            certify(never, [1.0, 0.0], **given)
        assert named in str(error.value)


class OutOfReachError(RuntimeError):
    """What a program says that could not compute a point."""


def walled(outside: Callable[[], Any]) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Give -log(1 - |x|^2) - 2 x_1^2 and its gradient; beyond |x| = 1 something else happens."""

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        if x @ x >= 1:
            return outside()
        curve = np.append(4 * x[0], np.zeros(x.size - 1))
        return float(-np.log(1 - x @ x) - 2 * x[0] ** 2), 2 * x / (1 - x @ x) - curve

    return fun


def fails(error: Exception) -> Callable[[], Any]:
    def outside() -> Any:
        raise error

    return outside


SPOILS: dict[str, Any] = {
    "class": OutOfReachError,
    "parent": RuntimeError,
    "tuple": (ZeroDivisionError, OutOfReachError),
    "predicate": lambda error: "far" in str(error),
}
STARTS = ([0.0, 0.0], [0.0, 0.999], [0.3, -0.9])


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("spoils", SPOILS)
def test_a_trial_that_fails_is_an_infinite_value(spoils: str, start: list[float]) -> None:
    """The run is the same, query by query, as that of a function that is infinite there."""
    nothing = (np.inf, np.zeros(2))
    runs = [
        minimize(walled(fails(OutOfReachError("too far"))), start, jac=True, trial_errors=spoiling)
        for spoiling in (SPOILS[spoils],)
    ]
    runs += [minimize(walled(lambda: nothing), start, jac=True)]
    assert all(run.success for run in runs)
    np.testing.assert_allclose(np.abs(runs[0].x), [0.5**0.5, 0], atol=1e-4)
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert [*runs[0].history.phase] == [*runs[1].history.phase]


@pytest.mark.parametrize("start", STARTS)
def test_value_and_gradient_apart_may_each_fail(start: list[float]) -> None:
    both = walled(fails(OutOfReachError("too far")))
    given = {"jac": lambda x: both(x)[1], "trial_errors": OutOfReachError}
    assert minimize(lambda x: both(x)[0], start, **given).success


@pytest.mark.parametrize(
    ("spoils", "raised"),
    [
        (None, OutOfReachError),
        (ZeroDivisionError, OutOfReachError),
        (lambda e: False, RuntimeError),
    ],
)
def test_any_other_exception_ends_the_run_with_nothing_lost(spoils: Any, raised: Any) -> None:
    start, fun = [0.3, -0.9], walled(fails(OutOfReachError("too far")))
    with pytest.raises(raised) as error:
        minimize(fun, start, jac=True, trial_errors=spoils)
    kept = error.value.unsaddle
    assert np.isfinite(kept.fun)
    assert fun(kept.x)[0] <= fun(np.array(start))[0]
    on = minimize(fun, start, jac=True, trial_errors=OutOfReachError, state=kept.state)
    assert on.success
    whole = minimize(fun, start, jac=True, trial_errors=OutOfReachError)
    np.testing.assert_allclose(on.x, whole.x)


def test_outside_of_trials_an_exception_ends_the_run() -> None:
    """The first call is no trial, nor is any of a search: whatever trial_errors says."""
    fun = walled(fails(OutOfReachError("too far")))
    with pytest.raises(OutOfReachError):
        minimize(fun, [2.0, 0.0], jac=True, trial_errors=OutOfReachError)
    calls: list[np.ndarray] = []

    def searched(x: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(x.copy())
        if len(calls) == 3:  # a probe, as 0 is stationary
            raise OutOfReachError("too far")
        return fun(x)

    with pytest.raises(OutOfReachError) as error:
        minimize(searched, [0.0, 0.0], jac=True, trial_errors=OutOfReachError)
    kept = vars(error.value)["unsaddle"]
    given = {"jac": True, "trial_errors": OutOfReachError}
    again = minimize(fun, [0.0, 0.0], state=kept.state, **given)
    assert again.success
    np.testing.assert_array_equal(again.x, minimize(fun, [0.0, 0.0], **given).x)


@pytest.mark.parametrize("spoils", [3, "RuntimeError", int, (RuntimeError, 3), [RuntimeError]])
def test_trial_errors_of_another_kind_are_refused(spoils: Any) -> None:
    with pytest.raises(TypeError, match="trial_errors must be an exception class, a tuple"):
        minimize(value, [1.0, 0.0], jac=gradient, trial_errors=spoils)


def test_keyboard_interrupts_are_never_trial_errors() -> None:
    def outside() -> Any:
        raise KeyboardInterrupt

    given = {"jac": True, "trial_errors": lambda error: True}
    result = minimize(walled(outside), [0.3, -0.9], **given)
    assert result.outcome is Outcome.INTERRUPTED


@pytest.mark.parametrize("method", ["lanczos", "anc"])
@pytest.mark.parametrize("place", [0.0, 1e3])
@pytest.mark.parametrize("radius", [1e-6, 1e-3, 0.1])
@NOISES
def test_a_probe_radius_that_is_given_is_used(
    noise: float, radius: float, place: float, method: str
) -> None:
    """Every probe is at r or r/2 of x, but for the one that asks whether it is noise."""
    x, asked, error = np.full(4, place), [], noise_of(noise)

    def grad(y: np.ndarray) -> np.ndarray:
        asked.append(float(np.linalg.norm(y - x)))
        return gradient(y - x + np.eye(4)[3]) + error(y)

    words = {"probe_radius": radius, "gradient_noise": noise or None, "max_gradients": 500}
    found = find_negative_curvature(grad, x, method, **words)
    hidden = noise > radius / 2  # whatever l = 2 is, it does not show: nothing is claimed
    assert (found.holds is None) == hidden
    assert hidden or found.probe_radius == radius
    near = np.array([distance for distance in asked if distance > 1e-3 * radius])
    shares = near / radius
    assert np.minimum(abs(shares - 1), abs(shares - 0.5)).max() < 1e-2
    if found.holds:
        assert np.linalg.eigvalsh(hessian(np.eye(4)[3]))[0] > -found.curvature_tol


@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-3])
def test_noise_that_is_declared_is_not_measured(noise: float) -> None:
    """It counts as at least what was said, also where there is none; and the note names it."""
    result = minimize(value, [1.0, 0.0], jac=gradient, gradient_noise=noise)
    assert "close_by" not in result.history.phase
    assert result.certificate.holds
    assert result.certificate.gradient_noise >= noise
    assert (
        f"The gradient's noise is {result.certificate.gradient_noise:.1g}"
        in result.certificate.note
    )
    assert abs(abs(result.x[1]) - 1) < 1e-2
