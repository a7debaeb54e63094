"""A field that is the gradient of no function has no curvature: it is noticed, and named."""

import zlib
from pathlib import Path

import numpy as np
import pytest

import unsaddle
from unsaddle import Outcome
from unsaddle.landscapes import LANDSCAPES

NAMED = "is the gradient of no function"


def fields() -> list[np.ndarray]:
    """Matrices that are no Hessian: rotations, slips in one entry, random ones."""
    rng = np.random.default_rng(0)
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = [turn, turn + np.eye(2), turn - np.eye(2)]
    for n in (3, 10, 50):
        a = rng.standard_normal((n, n))
        slip = a @ a.T
        slip[0, 1] += 1
        found += [a, a - 9 * np.eye(n), a @ a.T + 0.1 * a, a @ a.T + 1e-3 * a, slip]
    return found


@pytest.mark.parametrize("case", range(18))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_certify_claims_nothing_of_a_field_that_is_no_gradient(case: int, dtype: type) -> None:
    """Where the field is symmetric but for a few percent, a claim is true of what is symmetric."""
    field = fields()[case].astype(dtype)
    asymmetry = np.linalg.norm(field - field.T) / np.linalg.norm(field)
    lowest = np.linalg.eigvalsh((field + field.T) / 2)[0]
    for seed in range(3):
        found = unsaddle.certify(
            lambda x: field @ x, np.full(len(field), 0.1, dtype), seed=seed, max_gradients=1000
        )
        assert found.holds is None or asymmetry < 0.1
        if found.holds is None:
            assert found.note.startswith(f"grad {NAMED}")
        else:
            assert found.holds == (lowest > -found.curvature_tol)


def test_a_slip_in_jac_is_named_where_the_run_ends() -> None:
    result = unsaddle.minimize(
        lambda x: float(x[0] ** 2 + x[1] ** 2 + x[0] * x[1]),
        [0.0, 0.0],
        jac=lambda x: np.array([2 * x[0] + x[1], 2 * x[1] - x[0]]),
    )
    assert result.outcome is Outcome.UNCERTIFIED
    assert f"jac {NAMED}" in result.message


def test_within_bounds_too() -> None:
    field = np.array([[0.5, 1.0, 0.0], [-1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
    found = unsaddle.certify(lambda x: field @ x, np.full(3, 0.1), bounds=[(-5, 5)] * 3)
    assert found.holds is None
    assert NAMED in found.note


@pytest.mark.parametrize("name", sorted(LANDSCAPES))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_are_never_called_none(name: str, dtype: type) -> None:
    landscape, rng = LANDSCAPES[name](), np.random.default_rng(1)
    for seed in range(10):
        x = rng.standard_normal(landscape.n).astype(dtype)
        found = unsaddle.certify(landscape.gradient, x, seed=seed, max_gradients=1000)
        assert NAMED not in found.note


def test_a_search_that_is_clear_takes_no_gradient_more() -> None:
    found = unsaddle.certify(lambda x: np.array([1.0, 2.0, 3.0]) * x, np.ones(3))
    result = unsaddle.minimize(lambda x: float(x @ x), [1.0, 2.0], jac=lambda x: 2 * x)
    assert found.holds
    assert "report" not in result.history.phase


def swirl(x: np.ndarray) -> np.ndarray:
    """Turn and stretch: half of it is the gradient of |x|^2/4."""
    return np.array([[0.5, 1.0], [-1.0, 0.5]]) @ x


@pytest.mark.parametrize("edge", [3e-8, 1e-6, 1e-2])
def test_where_longer_probes_are_not_finite_or_outside_the_shorter_ones_tell(edge: float) -> None:
    def within(x: np.ndarray) -> np.ndarray:
        return swirl(x) if abs(x - 0.1).max() < edge else np.full(2, np.nan)

    x = np.full(2, 0.1)
    assert NAMED in unsaddle.certify(within, x).note
    bounds = [(0.1 - max(edge, 1e-6), 0.1 + max(edge, 1e-6))] * 2
    assert NAMED in unsaddle.certify(swirl, x, bounds=bounds).note


def test_a_run_whose_budget_ends_in_the_check_goes_on_to_the_same_end(tmp_path: Path) -> None:
    given = {"fun": lambda x: float(x @ x) / 4, "x0": [0.0, 0.0], "jac": swirl}
    whole = unsaddle.minimize(**given)
    for limit in range(1, whole.njev):
        cut = unsaddle.minimize(**given, max_gradients=limit)
        assert cut.outcome is Outcome.BUDGET
        assert cut.certificate.holds is None
        unsaddle.save(cut.state, tmp_path / "run.npz")
        after = unsaddle.minimize(**given, state=unsaddle.load(tmp_path / "run.npz"))
        assert after.outcome is Outcome.UNCERTIFIED
        assert after.message == whole.message


def rounded(x: np.ndarray, digits: int) -> np.ndarray:
    return np.array([float(f"{entry:.{digits}g}") for entry in x])


NOISES = {
    "float32 in float64": lambda g, x, e: g(x).astype(np.float32).astype(float),
    "printed digits": lambda g, x, e: rounded(g(x), round(-np.log10(e))),
    "a grid": lambda g, x, e: np.round(g(x) / e) * e,
    "hashed": lambda g, x, e: (
        g(x) + e * np.random.default_rng(zlib.crc32(x.tobytes())).standard_normal(x.size)
    ),
    "differences": lambda g, x, e: np.array([g(x + e * row)[i] for i, row in enumerate(EYE)]),
}
EYE = np.eye(6)


@pytest.mark.parametrize("kind", NOISES)
def test_noise_is_not_taken_for_a_slip(kind: str) -> None:
    """In none of 60 functions each; 'differences' shifts each entry, as forward differences do."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a, b = rng.standard_normal((2, 6, 6)) * 10 ** rng.uniform(-1, 1)
        size, where = 10 ** rng.uniform(-9, -4), rng.standard_normal(6) * 10 ** rng.uniform(-2, 3)

        def exact(x: np.ndarray, a: np.ndarray = a, b: np.ndarray = b) -> np.ndarray:
            return a @ a.T @ x + b.T @ np.cos(b @ x)

        found = unsaddle.certify(
            lambda x, exact=exact, size=size: NOISES[kind](exact, x, size),
            where,
            seed=seed,
            max_gradients=1000,
        )
        assert NAMED not in found.note, seed
