"""Within bounds, jac alone says that a bound holds x: one value inside is asked before a claim."""

import numpy as np
import pytest

import unsaddle
from unsaddle import Outcome


def bowl(x: np.ndarray) -> float:
    """Lowest at 1."""
    return float(((x - 1) ** 2).sum())


def slope(x: np.ndarray) -> np.ndarray:
    """Its gradient."""
    return 2 * (x - 1)


@pytest.mark.parametrize("start", [[5.0, 5.0], [0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [3.0, 3.0]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_wrong_sign_of_jac_is_no_success_at_a_bound(start: list[float], dtype: type) -> None:
    x0 = np.array(start, dtype)
    result = unsaddle.minimize(bowl, x0, jac=lambda x: -slope(x), bounds=[(0, 5)] * 2)
    assert not result.success
    assert not result.certificate
    assert "jac" in result.message
    if 1.0 not in start and 3.0 not in start:
        assert result.outcome is Outcome.UNCERTIFIED
        assert "Is the sign of jac right?" in result.message
        assert "Is the sign of jac right?" in str(result.certificate)


def test_it_says_what_jac_promises_and_what_fun_does() -> None:
    result = unsaddle.minimize(lambda x: 3 * x[0], [2.0], jac=lambda x: [-3.0], bounds=[(0, 2)])
    words = "where x[0] is moved in by about 1e-07, fun should rise by 6e-07 according to jac"
    assert words in result.message
    assert "changes by -6e-07" in result.message
    assert result.history.phase[-1] == "report"


@pytest.mark.parametrize("together", [False, True])
def test_a_right_one_costs_one_value(together: bool) -> None:
    fun, jac = ((lambda x: (bowl(x), slope(x))), True) if together else (bowl, slope)
    result = unsaddle.minimize(fun, [3.0, 3.0], jac=jac, bounds=[(2, 5)] * 2)
    assert result.success
    assert np.array_equal(result.x, [2, 2])
    assert list(result.history.phase).count("report") == 1


def test_a_bound_that_curves_away_is_certified_all_the_same() -> None:
    def hill(x: np.ndarray) -> float:
        return float(1e-3 * x[0] - 40 * x[0] ** 2 + (x[1] - 1) ** 2)

    def down(x: np.ndarray) -> np.ndarray:
        return np.array([1e-3 - 80 * x[0], 2 * (x[1] - 1)])

    result = unsaddle.minimize(hill, [0.0, 0.0], jac=down, bounds=[(0, 1), (0, 5)])
    assert result.success
    assert result.x[0] == 0
    assert list(result.history.phase).count("report") == 2  # f falls beyond 2.5e-5


def test_values_with_noise_do_not_spoil_a_bound() -> None:
    rng = np.random.default_rng(0)
    result = unsaddle.minimize(
        lambda x: bowl(x) + 1e-6 * rng.standard_normal(), [2.0, 2.0], jac=slope, bounds=[(2, 5)] * 2
    )
    assert result.success


def test_a_value_that_is_not_finite_says_nothing() -> None:
    def only_there(x: np.ndarray) -> float:
        return bowl(x) if (x == 2).all() else np.nan

    assert unsaddle.minimize(only_there, [2.0, 2.0], jac=slope, bounds=[(2, 5)] * 2).success


def test_trial_errors_spoil_nothing_but_the_trial() -> None:
    def only_there(x: np.ndarray) -> float:
        if (x != 2).any():
            raise ArithmeticError
        return bowl(x)

    words = {"jac": slope, "bounds": [(2, 5)] * 2}
    assert unsaddle.minimize(only_there, [2.0, 2], trial_errors=ArithmeticError, **words).success
    with pytest.raises(ArithmeticError):
        unsaddle.minimize(only_there, [2.0, 2.0], **words)


def test_numerical_gradients_are_not_asked() -> None:
    result = unsaddle.minimize(bowl, [3.0, 3.0], bounds=[(2, 5)] * 2)
    assert result.success
    assert "report" not in result.history.phase


def test_a_descent_that_stalls_at_a_wrong_gradient_is_not_told_of_a_descent_of_its_own() -> None:
    result = unsaddle.minimize(
        lambda x: float(x.sum()), [0.5, 0.7], jac=lambda x: -np.ones(2), bounds=[(0, 2)] * 2
    )
    assert result.outcome is Outcome.STALLED
    assert "check_grad" in result.message
    assert "tolerance of its own" not in result.message
