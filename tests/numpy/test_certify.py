"""A search at one point: what it finds, what it claims, what it costs, at every scale."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.watched import same, shows
from unsaddle import Certificate, certify, find_negative_curvature
from unsaddle.escapes import noisy_radius

EIGENVALUES: dict[str, list[float]] = {
    "minimum": [0.5, 1.0, 2.0, 3.0],
    "valley": [0.0, 0.0, 1.0, 3.0],
    "saddle": [-0.5, 1.0, 2.0, 3.0],
    "maximum": [-0.5, -1.0, -2.0, -3.0],
    "one variable, minimum": [3.0],
    "one variable, maximum": [-3.0],
    "one of many": [-0.5, *np.linspace(0.0, 3.0, 39)],
}
LARGEST = 3.0
each_search = pytest.mark.parametrize("method", ["lanczos", "anc", "nc"])
each_precision = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def quadratic(name: str) -> np.ndarray:
    """Give a Hessian with these eigenvalues and eigenvectors in no special place."""
    n = len(EIGENVALUES[name])
    q, _ = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))
    return q @ np.diag(EIGENVALUES[name]) @ q.T


def watch(grad: Callable[[np.ndarray], Any], asked: list[np.ndarray]) -> Callable[..., Any]:
    def call(x: np.ndarray) -> Any:
        asked.append(x.copy())
        return grad(x)

    return call


def look(
    grad: Callable[[np.ndarray], Any], x: Any, hessian: np.ndarray | float, **given: Any
) -> Certificate:
    """Search at x, and check what it says against the Hessian there, or its only eigenvalue."""
    asked: list[np.ndarray] = []
    certificate = find_negative_curvature(watch(grad, asked), x, **given)
    hessian = hessian * np.eye(len(x)) if np.ndim(hessian) == 0 else np.asarray(hessian)
    assert certificate.gradients == len(asked) <= given.get("max_gradients", np.inf)
    assert {y.dtype for y in asked} <= {x.dtype}
    if certificate.holds:
        assert np.linalg.eigvalsh(hessian)[0] > -certificate.curvature_tol
        assert certificate.direction is None
    if certificate.holds is False:
        shows(certificate, hessian)
    reach = max([float(np.linalg.norm(y.astype(float) - x)) for y in asked], default=0.0)
    widest = noisy_radius.TUNING.widest if "gradient_noise" in given else 0.1
    assert reach <= widest * max(1.0, float(np.linalg.norm(x.astype(float))))
    return certificate


@each_search
@each_precision
@pytest.mark.parametrize("place", [0.0, 1.0])
@pytest.mark.parametrize("name", EIGENVALUES)
@pytest.mark.slow
def test_it_tells_a_minimum_from_a_saddle(method: str, dtype: Any, place: float, name: str) -> None:
    """Also of f 1e8, f 1e-8 and f(x/1e6), where lambda scales along, and at x = 0 with g = 0."""
    for scale, unit in ((1.0, 1.0), (1e8, 1.0), (1e-8, 1.0), (1.0, 1e6)):
        hessian = (scale / unit**2 * quadratic(name)).astype(dtype)
        x = (place * unit * np.random.default_rng(1).standard_normal(len(hessian))).astype(dtype)
        for tol in (0.05, 0.3) if place else (0.01, 0.3):
            asked = tol * scale / unit**2
            given = {"method": method, "curvature_tol": asked, "max_gradients": 20_000}
            found = look(lambda y, h=hessian: h @ y, x, hessian.astype(float), **given)
            assert found.holds is (EIGENVALUES[name][0] >= 0)
            assert ("raised" in found.note) == (found.curvature_tol > asked)
            assert found.holds is False or found.failure_probability == 1e-3


@pytest.mark.parametrize("name", EIGENVALUES)
def test_without_curvature_tol_it_is_relative_to_the_largest_curvature(name: str) -> None:
    hessian = quadratic(name)
    for scale in (1.0, 1e8, 1e-8):
        found = certify(lambda y, s=scale: s * hessian @ y, np.zeros(len(hessian)))
        assert found.holds is (EIGENVALUES[name][0] >= 0)
        assert 1e-6 * LARGEST * scale < found.curvature_tol < 1e-3 * LARGEST * scale


@each_search
@each_precision
@pytest.mark.parametrize("turns", [0, 1, 10, 100])
def test_it_queries_near_x_only(method: str, dtype: Any, turns: int) -> None:
    """At the maxima and minima of a cosine the third derivative vanishes, but not the fourth."""
    for n in (1, 3):
        for seed in range(5):
            given = {"curvature_tol": 0.6, "method": method, "seed": seed, "max_gradients": 3000}
            for turn, holds in ((2 * turns, False), (2 * turns + 1, True)):
                x = np.full(n, turn * np.pi, dtype)
                assert look(lambda y: -np.sin(y), x, -np.cos(turn * np.pi), **given).holds is holds


@each_search
@each_precision
@pytest.mark.parametrize("place", [0.0, 1.0])
@pytest.mark.parametrize("curvature_tol", [None, 1e-2, 1e6])
def test_no_curvature_at_all(
    method: str, dtype: Any, place: float, curvature_tol: float | None
) -> None:
    """A constant and a linear function, and slopes whose ripple is lost in rounding."""
    x = np.full(3, place, dtype)
    given = {"method": method, "curvature_tol": curvature_tol, "max_gradients": 100_000}
    for slope, ripple in ((0.0, 0.0), (1.0, 0.0), (1e8, 0.0), (1e-8, 0.0), (1.0, 1e-20)):

        def grad(y: np.ndarray, slope: float = slope, ripple: float = ripple) -> np.ndarray:
            return (slope - ripple * np.sin(y.astype(float) - place)).astype(dtype)

        found = look(grad, x, -ripple, **given)
        assert found.holds is True
        assert 0 < found.curvature_tol < np.inf


@each_search
@each_precision
@pytest.mark.parametrize("sign", [1, -1])
def test_a_degenerate_point_is_not_refuted(method: str, dtype: Any, sign: int) -> None:
    """The Hessian of x^4 vanishes at 0: what is seen at a distance is not there."""
    given = {"method": method, "curvature_tol": 1e-3, "max_gradients": 10_000}
    assert look(lambda y: sign * y**3, np.zeros(3, dtype), 0.0, **given).holds is True


@each_search
@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e-3, 0.5])
def test_a_curvature_tol_far_above_the_curvature_holds_at_once(method: str, ratio: float) -> None:
    for curvature in (-ratio, ratio):
        given = {"method": method, "curvature_tol": 3.0}
        found = look(lambda y, c=curvature: c * y, np.ones(3), curvature, **given)
        assert found.holds is True
        assert found.gradients < 60


@each_search
@each_precision
def test_floating_point_raises_curvature_tol_and_it_says_so(method: str, dtype: Any) -> None:
    x, asked = np.ones(4, dtype), 1e-14
    hessian = quadratic("minimum").astype(dtype)
    found = look(lambda y: hessian @ y, x, hessian, method=method, curvature_tol=asked)
    assert found.holds
    assert found.curvature_tol > asked
    assert "raised from 1e-14" in found.note
    assert "raised" in str(found)
    hessian = quadratic("saddle").astype(dtype)
    found = look(lambda y: hessian @ y, x, hessian, method=method, curvature_tol=asked)
    assert found.holds is False  # whatever could have been claimed
    assert found.curvature_tol == asked


@each_search
@pytest.mark.parametrize("name", ["minimum", "saddle"])
def test_the_budget_of_a_search(method: str, name: str) -> None:
    """It is never exceeded, changes no question, and an answer that it prevents is None."""
    hessian, x = quadratic(name), np.ones(4)
    full: list[np.ndarray] = []
    whole = find_negative_curvature(watch(lambda y: hessian @ y, full), x, method, 0.3)
    for budget in range(len(full) + 2):
        asked: list[np.ndarray] = []
        grad = watch(lambda y: hessian @ y, asked)
        part = find_negative_curvature(grad, x, method, 0.3, max_gradients=budget)
        assert same(asked, full[:budget])
        assert part.gradients == len(asked)
        assert part.holds is (whole.holds if budget >= len(full) else None)
        assert part.holds is not None or "budget" in part.note.lower()
        assert part.direction is None or part.holds is False


@each_search
def test_trouble_in_the_gradient_reaches_the_caller(method: str) -> None:
    """An exception at any call is the caller's; so is NaN, which no certificate may swallow."""
    hessian, calls = quadratic("minimum"), []
    find_negative_curvature(watch(lambda y: hessian @ y, calls), np.ones(4), method)
    total = len(calls)
    for k in range(1, total + 1):
        for error in (ZeroDivisionError(), StopIteration(), KeyboardInterrupt(), ArithmeticError()):
            calls.clear()

            def grad(y: np.ndarray, k: int = k, error: BaseException = error) -> np.ndarray:
                if len(calls) < k:
                    return hessian @ y
                if type(error) is ArithmeticError:
                    return y * np.nan
                raise error

            with pytest.raises(type(error)):
                find_negative_curvature(watch(grad, calls), np.ones(4), method)
            assert len(calls) == k


def test_the_seed_decides_and_certify_is_the_accelerated_search() -> None:
    hessian, runs = quadratic("saddle"), []
    for function, seed in ((certify, 3), (find_negative_curvature, 3), (certify, 4)):
        asked: list[np.ndarray] = []
        function(watch(lambda y: hessian @ y, asked), np.ones(4), seed=seed)
        runs.append(asked)
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_any_vector_will_do_as_a_point() -> None:
    hessian, buffer = quadratic("saddle"), np.empty(4)
    plain = certify(lambda y: hessian @ y, np.ones(4))
    fixed, wide = np.ones(4), np.ones(8)
    fixed.flags.writeable = False
    for x in ([1, 1, 1, 1], np.ones(4, np.uint8), fixed, wide[::2], wide[::-2]):
        found = certify(lambda y: np.matmul(hessian, y, out=buffer), x)
        assert found.curvature == plain.curvature
        assert np.array_equal(found.direction, plain.direction)
    assert np.array_equal(wide, np.ones(8))


@each_search
@pytest.mark.parametrize("name", EIGENVALUES)
def test_noise_that_is_declared_is_accounted_for(name: str, method: str) -> None:
    """An error of length 1e-5 in every gradient; each claim is checked by ``look``."""
    hessian, noise, said = quadratic(name), 1e-5, []
    given = {"method": method, "gradient_noise": noise, "curvature_tol": 0.05}
    given |= {"max_gradients": 1000}
    for seed in range(10):
        rng = np.random.default_rng(seed)

        def grad(x: np.ndarray, rng: np.random.Generator = rng) -> np.ndarray:
            error = rng.standard_normal(len(x))
            return hessian @ x + noise * error / np.linalg.norm(error)

        x = rng.standard_normal(len(hessian))
        said.append(look(grad, x, hessian, seed=seed, **given))
    true = min(EIGENVALUES[name]) >= 0
    assert sum(each.holds is true for each in said) >= 9  # and none of the others is false
    notes = [each.note for each in said if each.holds]
    assert all("as noise is" in note for note in notes)
    assert all(each.gradient_noise >= noise for each in said)


@pytest.mark.parametrize("lowest", [0.01, -0.05])
@pytest.mark.parametrize("room", [21, 40])  # vectors: the least that goes, and more
def test_less_memory_than_the_basis_takes_is_no_end(lowest: float, room: int) -> None:
    """The search goes on with the vectors that it may keep."""
    n = 40
    curve = np.append(np.linspace(0.01, 1.0, n - 1), lowest)
    given = {"curvature_tol": 1e-2, "max_memory": room * 8 * n}
    found = certify(lambda x: curve * x, np.ones(n), **given)
    assert found.holds is (lowest > 0)
    assert ("Lanczos" in found.note) is (lowest > 0)
    if lowest < 0:
        assert found.curvature < -0.005
        assert found.direction @ (curve * found.direction) < -0.005


@pytest.mark.parametrize("bounds", [None, [(-1, 1)] * 4])
@each_search
def test_without_time_nothing_is_claimed(method: str, bounds: Any) -> None:
    hessian = quadratic("saddle")
    words = {"max_seconds": 0, "bounds": bounds}
    found = find_negative_curvature(lambda x: hessian @ x, np.zeros(4), method, **words)
    assert found.holds is None
    assert found.gradients <= 1
