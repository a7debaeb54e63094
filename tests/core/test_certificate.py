"""What a certificate is made of, term by term."""

import math

import numpy as np
import pytest

from tests.watched import each_method, solve
from unsaddle import certify, minimize
from unsaddle.core.resolution import Resolution, resolve
from unsaddle.numpy.ops import NumpyOps, ops

GIVEN = {
    "radius": 1e-4,
    "smoothness": 2.0,
    "bending": 1.5e-4,
    "curvature_tol": 0.5,
    "failure_probability": 0.1,
    "unit": 2.0**-53,
}


def see(episode: int, n: int = 7, **changed: float) -> Resolution:
    return resolve(ops, np.zeros(n), np.zeros(n), episode, **{**GIVEN, **changed})


def test_searches_share_the_probability() -> None:
    """The j-th spends 6 delta/(pi^2 j^2): the growth it needs is sqrt(2n/pi) over that."""
    spent = [math.sqrt(14 / math.pi) / see(j).needed for j in range(1, 2000)]
    np.testing.assert_allclose(spent[:3], np.array([1, 1 / 4, 1 / 9]) * 0.6 / math.pi**2)
    assert 0.0999 < sum(spent) <= 0.1


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize(("bending", "rigorous"), [(1.5e-4, True), (0.15, False)])
def test_what_an_error_may_hide_is_taken_off(bending: float, rigorous: bool, sides: int) -> None:
    """E needed where that is at most gamma/4, else e; a central difference spans twice as much."""
    seen = see(1, bending=bending, sides=sides)
    rounding = 4 * GIVEN["unit"] * 2 * GIVEN["radius"]
    assert seen.error == pytest.approx(bending + 2 * rounding / (sides * GIVEN["radius"]))
    assert (seen.error * seen.needed <= seen.curvature_tol / 4) is rigorous
    hidden = seen.error * (seen.needed if rigorous else 1)
    assert seen.rate == pytest.approx(seen.curvature_tol - hidden)
    assert seen.rate < seen.curvature_tol


@pytest.mark.parametrize("sides", [1, 2])
def test_the_larger_of_noise_and_rounding_counts(sides: int) -> None:
    """Noise of 1e-6 adds 2e-6/r forward and 1e-6/r central; noise below the rounding nothing."""
    assert see(1, noise=1e-6, sides=sides).error == pytest.approx(1.5e-4 + 2e-2 / sides)
    assert see(1, noise=1e-30, sides=sides) == see(1, sides=sides)
    assert see(1, noise=1e-4, sides=sides).curvature_tol == pytest.approx(8 / sides, rel=1e-3)


@each_method
def test_no_search_of_a_run_draws_the_vectors_of_another(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the proof behind a method's own test."""
    drawn, draw = [], NumpyOps.normal

    def normal(self: NumpyOps, like: np.ndarray, seed: int, episode: int) -> np.ndarray:
        drawn.append((seed, episode))
        return draw(self, like, seed, episode)

    monkeypatch.setattr(NumpyOps, "normal", normal)
    assert solve(method, "apart", [], x0=[0.0, 0.0]).success
    assert len(drawn) == len(set(drawn)) > 1


def test_a_share_of_curvature_tol_is_at_most_one() -> None:
    with pytest.raises(
        ValueError, match=r"enough must be a share of curvature_tol, at most 1, got 1\.5"
    ):
        minimize(lambda x: x @ x, [1.0], jac=lambda x: 2 * x, enough=1.5)


@pytest.mark.parametrize(
    ("lowest", "flat"), [(0.3, False), (0.005, False), (5e-4, True), (0.0, True), (-3e-3, True)]
)
def test_a_flat_direction_is_said_in_one_sentence(lowest: float, flat: bool) -> None:
    """Below a tenth of curvature_tol, and where a tenth of the largest curvature is above it."""
    curvatures = np.array([1.0, 2.0, lowest])
    note = certify(lambda x: curvatures * x, np.zeros(3), curvature_tol=0.01).note
    assert ("The lowest curvature met" in note) is flat
    assert note.count("flat saddle") == flat


def test_a_smaller_curvature_tol_shows_a_flat_saddle() -> None:
    curvatures = np.array([1.0, 2.0, -5e-4])
    assert certify(lambda x: curvatures * x, np.zeros(3), curvature_tol=0.01).holds
    assert certify(lambda x: curvatures * x, np.zeros(3), curvature_tol=5e-4).holds is False
