"""What a certificate is made of, term by term."""

import math

import numpy as np
import pytest

from tests.watched import each_method, solve
from unsaddle import minimize
from unsaddle.core.resolution import Resolution, resolve
from unsaddle.numpy.ops import NumpyOps, ops

GIVEN = {
    "radius": 1e-4,
    "smoothness": 2.0,
    "hessian_lipschitz": 3.0,
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


@pytest.mark.parametrize(("radius", "rigorous"), [(1e-4, True), (1e-1, False)])
def test_what_an_error_may_hide_is_taken_off(radius: float, rigorous: bool) -> None:
    """E needed where that is at most gamma/4, else e."""
    seen = see(1, radius=radius)
    rounding = 4 * GIVEN["unit"] * 2 * radius
    assert seen.error == pytest.approx(3 * radius / 2 + 2 * rounding / radius)
    assert (seen.error * seen.needed <= seen.curvature_tol / 4) is rigorous
    hidden = seen.error * (seen.needed if rigorous else 1)
    assert seen.rate == pytest.approx(seen.curvature_tol - hidden)
    assert seen.rate < seen.curvature_tol


@each_method
def test_no_search_of_a_run_draws_the_noise_of_another(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the proof behind a method's own test."""
    drawn, draw = [], NumpyOps.noise

    def noise(self: NumpyOps, like: np.ndarray, seed: int, episode: int) -> np.ndarray:
        drawn.append((seed, episode))
        return draw(self, like, seed, episode)

    monkeypatch.setattr(NumpyOps, "noise", noise)
    assert solve(method, "apart", [], x0=[0.0, 0.0]).success
    assert len(drawn) == len(set(drawn)) > 1


def test_a_share_of_curvature_tol_is_at_most_one() -> None:
    with pytest.raises(
        ValueError, match=r"enough must be a share of curvature_tol, at most 1, got 1\.5"
    ):
        minimize(lambda x: x @ x, [1.0], jac=lambda x: 2 * x, enough=1.5)
