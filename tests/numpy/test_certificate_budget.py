"""What a search claims that has to end within a share of the run."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

from tests.escapes.test_lanczos import FULL, SPREADS, TUNING, quartic
from unsaddle import load, minimize, save
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import BEGIN, CERTIFIED
from unsaddle.core.session import Session
from unsaddle.descents.lbfgs import lbfgs
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN
from unsaddle.escapes.lanczos import lanczos
from unsaddle.numpy.ops import ops
from unsaddle.numpy.settle import settle

CURVES = np.geomspace(1e-5, 1, 400)


def fun(x: np.ndarray) -> float:
    """A function whose least curvatures take a search long."""
    return float(x @ (CURVES * x)) / 2 + float(np.sum(x**4)) / 4


def jac(x: np.ndarray) -> np.ndarray:
    """Its gradient."""
    return CURVES * x + x**3


def solve(**words: Any) -> Any:
    """Run from (1, ..., 1)."""
    return minimize(fun, np.ones(400), jac=jac, **words)


def test_a_search_keeps_to_its_share_and_claims_what_it_has_shown() -> None:
    """The less it may take, the larger is gamma, and the certificate says why."""
    whole, gammas = solve(), []
    for share in (0.4, 0.2, 0.1):
        result = solve(certificate_budget=share)
        shown = result.certificate
        assert result.success
        assert np.array_equal(result.x, whole.x)
        assert shown.share <= share < whole.certificate.share
        assert "certificate_budget was spent before less was shown" in shown.note
        gammas.append(shown.curvature_tol)
    assert whole.certificate.curvature_tol < gammas[0] < gammas[1] < gammas[2] < 0.1


def test_less_than_was_asked_for_is_no_success() -> None:
    """A given curvature_tol, and a claim that is weak, end COARSER."""
    for words in ({"certificate_budget": 0.2, "curvature_tol": 1e-4}, {"certificate_budget": 0.03}):
        result = solve(**words)
        assert result.outcome is Outcome.COARSER
        assert result.certificate.holds
        assert not result.success
        assert "certificate_budget" in result.message


def test_a_share_that_suffices_changes_nothing() -> None:
    """And a run of few gradients takes what it takes to show anything."""
    whole = solve(curvature_tol=0.05)
    same = solve(curvature_tol=0.05, certificate_budget=0.9)
    assert same.njev == whole.njev
    assert same.certificate == whole.certificate
    start = minimize(
        lambda x: float(x @ x), np.zeros(3), jac=lambda x: 2 * x, certificate_budget=0.01
    )
    assert start.success


def test_saddles_are_left_all_the_same() -> None:
    """Curvature that is found is a way down, whatever the budget."""
    result = minimize(
        lambda x: float(np.sum(x**4 / 4 - x**2 / 2)), np.zeros(5), jac=lambda x: x**3 - x,
        certificate_budget=0.05,
    )  # fmt: skip
    assert result.certificate.holds
    assert np.allclose(abs(result.x), 1)


@pytest.mark.parametrize("words", [{"x_scale": 2.0}, {"bounds": [(-2, 2)] * 400}, {"starts": 2}])
def test_it_goes_with_scales_bounds_and_starts(words: dict[str, Any]) -> None:
    """Each has the share."""
    result = solve(certificate_budget=0.3, **words)
    assert result.certificate.holds
    assert all(run.certificate.share <= 0.3 for run in result.get("runs", [result]))


def test_a_run_that_is_resumed_counts_on(tmp_path) -> None:
    """The gradients of the call before belong to the run, from a file too."""
    whole, first = solve(certificate_budget=0.3), solve(certificate_budget=0.3, max_gradients=150)
    save(first.state, tmp_path / "run.npz")
    result = solve(certificate_budget=0.3, state=load(tmp_path / "run.npz"))
    assert result.njev + first.njev == whole.njev
    assert result.certificate.curvature_tol == whole.certificate.curvature_tol


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan"), "half", True])
def test_no_share_is_refused(share: Any) -> None:
    """With what was expected."""
    with pytest.raises(
        (ValueError, TypeError), match="certificate_budget must be a share between 0"
    ):
        solve(certificate_budget=share)


def test_other_methods_have_none() -> None:
    """As their searches know no K for another gamma, or their descent is not counted."""
    for words in ({"method": "agd-auto"}, {"descent": lambda x: x}):
        with pytest.raises(ValueError, match="certificate_budget goes with method 'auto'"):
            solve(certificate_budget=0.5, **words)


def claimed(n: int, low: float, delta: float, seed: int, steps: int) -> float:
    """Give the gamma that is claimed at 0 after so many steps; infinite where none is."""
    gradient = quartic(np.append(-low, SPREADS["down to zero"](n - 1)))
    settings = lanczos.settings(TUNING.found, 0.0, 1e-7, delta * FULL, 0.0, 0.0)
    p, solver = Parameters(0.0, None, settings), compose(lbfgs, lanczos)
    state = solver.start(ops, p, np.zeros(n), seed)._replace(phase=BEGIN)
    session = Session(ops, solver, p, state, gradient=gradient(state.x))
    while (query := session.ask()) is not None and query.phase != JUMP_BEGIN:
        session.tell(gradient=gradient(query.point))
        if session.state.phase >= BEGIN and session.state.escape.steps >= steps:
            session.state = settle(ops, p, session.state)
    return (
        session.state.escape.resolution.curvature_tol
        if session.state.phase == CERTIFIED
        else np.inf
    )


@pytest.mark.slow
@pytest.mark.parametrize(("low", "steps"), [(0.1, 5), (0.02, 8), (0.02, 12)])
def test_a_gamma_that_is_chosen_late_is_no_more_often_false(low: float, steps: int) -> None:
    """300 seeds at delta = .3: a true rate of .3 passes .406 with probability 1e-4, .5 is caught.

    Of lambda_min = -low, a claim is false where gamma is below low. Measured .15, .05 and .08.
    """
    delta, seeds = 0.3, 300
    false = sum(claimed(50, low, delta, seed, steps) < low for seed in range(seeds))
    assert 0 < false / seeds <= delta + 4 * sqrt(delta * (1 - delta) / seeds)
