"""Functions that have deceived a search, or made it see what is not there."""

import numpy as np
import pytest

from tests.drive import finish
from unsaddle import Outcome, certify, minimize
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import BEGIN, CERTIFIED
from unsaddle.core.session import Session
from unsaddle.descents.gd import gd
from unsaddle.escapes.adaptive_anc import adaptive_anc
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN
from unsaddle.numpy.ops import ops

SEEDS = range(10)


def waves(place: float, scale: float, kind: str) -> tuple:
    """A sum of cosines at whose maximum a probe of the usual length spans many waves."""
    value = lambda x: float(np.cos((x.astype(float) - place) / scale).sum())  # noqa: E731
    slope = lambda x: (-np.sin((x.astype(float) - place) / scale) / scale).astype(kind)  # noqa: E731
    return value, slope, np.full(3, place, kind)


@pytest.mark.parametrize(
    "where", [(1e9, 1.0, "d"), (1e10, 1.0, "d"), (3e4, 1.0, "f"), (0.0, 1e-6, "f")]
)
@pytest.mark.parametrize("method", ["auto", "agd-auto"])
def test_a_probe_wider_than_the_function_is_not_believed(where: tuple, method: str) -> None:
    """With gamma given: its differences are small and alike; every seed was certified once.

    A probe may still meet two waves that look like one bend: of 100 seeds 2 and 4 in float32 at
    3e4, none elsewhere. So ten seeds may make one false claim; without the rule they made ten.
    """
    value, slope, top = waves(*where)
    scale = where[1]
    asked = {"curvature_tol": 0.1 / scale**2, "tol": 1e-3 / scale}
    claims = 0
    for seed in SEEDS:
        result = minimize(
            value, top, jac=slope, method=method, seed=seed, max_gradients=5000, **asked
        )
        lowest = np.min(-np.cos((result.x.astype(float) - where[0]) / scale)) / scale**2
        claims += result.success and lowest < -result.certificate.curvature_tol
    assert claims <= 1


@pytest.mark.parametrize("method", ["pgd", "pagd"])
@pytest.mark.slow
def test_a_proof_knows_the_constants_that_were_given(method: str) -> None:
    scale = 1e-5
    value, slope, top = waves(0.0, scale, "f")
    known = {"smoothness": scale**-2, "hessian_lipschitz": scale**-3, "decrease_available": 2.0}
    for seed in SEEDS:
        result = minimize(
            value, top[:1], jac=slope, method=method, seed=seed, tol=1e-3 / scale, **known
        )
        curvature = -np.cos(float(result.x[0]) / scale)
        assert result.outcome is (
            Outcome.CERTIFIED if curvature > 0 else Outcome.NEGATIVE_CURVATURE
        )


def test_kinks_of_a_convex_function_show_no_negative_curvature() -> None:
    for seed in range(40):
        rows = np.random.default_rng(seed).normal(size=(60, 30))
        hinge = lambda v: 2 * rows.T @ np.maximum(0, rows @ v - 1e-4)  # noqa: B023, E731
        assert certify(hinge, np.zeros(30), seed=seed).holds is not False


@pytest.mark.parametrize("method", ["auto", "agd-auto"])
def test_a_flat_function_shows_no_negative_curvature(method: str) -> None:
    """Nor is it a success: whatever gamma is claimed is above every curvature that was met."""
    value, slope = (
        (lambda x: max(0.0, 1 - x[0]) ** 2),
        lambda x: np.array([-2 * max(0, 1 - x[0]), 0]),
    )
    for start in ([3.0, 0.0], [1.0, 2.0]):
        result = minimize(value, start, jac=slope, method=method)
        assert result.certificate.holds is not False
        assert result.outcome in (Outcome.CERTIFIED, Outcome.COARSER, Outcome.UNRESOLVED)


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("n", [2, 10])
def test_a_gradient_too_coarse_to_change_is_trusted_to_tol_only(decimals: int, n: int) -> None:
    """At the saddle every difference vanishes, up to the longest probe there is."""
    fun = lambda x: x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1:] @ x[1:] / 2  # noqa: E731
    jac = lambda x: np.round(np.append(x[0] ** 3 - x[0], x[1:]), decimals)  # noqa: E731
    for seed in SEEDS:
        result = minimize(fun, np.zeros(n), jac=jac, tol=10.0**-decimals, seed=seed)
        at_saddle = abs(result.x[0]) < 0.5
        assert not (result.success and at_saddle and result.certificate.curvature_tol < 1)
        if result.success and at_saddle:
            assert "f is flat here, or it is too coarse" in result.message


def test_noise_that_is_declared_makes_no_claim_above_all_that_is_seen() -> None:
    """Noise of 1e-4 passes for curvature on the way down: gamma was 1e12 and called a success."""
    fun = lambda x: x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4  # noqa: E731
    for noise in (1e-3, 1e-4, 1e-5):
        for seed in range(20):
            rng, own = np.random.default_rng(seed), {"seed": seed, "max_gradients": 3000}
            jac = lambda x: np.array([x[0], x[1] ** 3 - x[1]]) + noise * rng.normal(size=2)  # noqa: B023, E731
            result = minimize(fun, [1, 0], jac=jac, gradient_noise=noise, **own)
            assert not result.success or result.certificate.curvature_tol < 2


@pytest.mark.parametrize("curvature_tol", [1e-3, None])
def test_bending_along_one_variable_is_no_negative_curvature(curvature_tol: float | None) -> None:
    """The Hessian is positive; one variable bends by far more than a random direction shows."""
    n = 100
    x = np.eye(1, n)[0] * 1e3

    def grad(z: np.ndarray) -> np.ndarray:
        d = z - x
        return np.append(d[:-1], 1e-4 * d[-1] + 100 * d[-1] ** 2 + 2e4 * d[-1] ** 3)

    for seed in range(20):
        assert certify(grad, x, curvature_tol, seed=seed).holds is not False


@pytest.mark.parametrize("lowest", [-1e-8, -1e-6, -1e-5, -3e-5])
def test_a_claim_is_made_although_there_is_a_little_curvature_below_zero(lowest: float) -> None:
    for diagonal in ([1, lowest], [1, 1, 1, 1, lowest]):
        certificate = certify(lambda x: np.array(diagonal) * x, np.zeros(len(diagonal)))  # noqa: B023
        assert certificate.holds is not None
        assert certificate.holds == (certificate.curvature_tol > -2 * lowest)


@pytest.mark.parametrize(("far", "width"), [(300.0, 0.03), (3000.0, 0.03), (3000.0, 0.3)])
@pytest.mark.parametrize("n", [2, 20, 200])
def test_a_well_narrower_than_the_probe_is_not_taken_for_a_floor(
    n: int, far: float, width: float
) -> None:
    """In float32, far away; without its recheck the search certifies 63 of 90 such saddles."""
    centre = np.eye(1, n, 1, dtype=np.float32)[0] * np.float32(far)

    def grad(x: np.ndarray) -> np.ndarray:
        z = x - centre
        z[0] = -z[0] + z[0] ** 3 / np.float32(width**2)
        return z

    settings = adaptive_anc.settings(0.5, 1e-4, 0.1, 1e-3, 0.0, 0.0)
    parameters, solver = Parameters(0.0, None, settings), compose(gd, adaptive_anc)
    for seed in range(10):
        state = solver.start(ops, parameters, centre, seed)._replace(phase=BEGIN)
        session = Session(ops, solver, parameters, state, gradient=grad(centre))
        state = finish(session, None, grad, until=(JUMP_BEGIN,))
        assert state.phase != CERTIFIED or state.escape.resolution.curvature_tol > 1
