"""A recheck passes where bending is no larger than noise or rounding: nothing false follows."""

import numpy as np
import pytest

from unsaddle import certify, minimize

NOISE, RADIUS, GAMMA = 1e-4, 0.01, 0.04  # four errors of a difference: NOISE/RADIUS each
QUARTIC = 1.5 * NOISE / RADIUS**3  # z^3 over RADIUS adds one and a half of them
WORDS = {"gradient_noise": NOISE, "probe_radius": RADIUS, "curvature_tol": GAMMA}


@pytest.mark.parametrize("n", [10, 40])
@pytest.mark.parametrize("share", [1.02, 1.05, 1.2])
def test_bending_in_one_variable_that_noise_covers(n: int, share: float) -> None:
    """-share gamma measures as less than 3/4 gamma; both lengths together tell what it is."""
    bends = np.append(np.zeros(n - 1), QUARTIC)
    curves = np.append(np.ones(n - 1), -share * GAMMA)

    def jac(x: np.ndarray) -> np.ndarray:
        return curves * x + bends * x**3

    def fun(x: np.ndarray) -> float:
        return float(np.sum(curves * x**2 / 2 + bends * x**4 / 4))

    at = np.zeros(n)
    for seed in range(5):
        shown = certify(jac, at, seed=seed, **WORDS)
        assert shown.holds is False or shown.curvature_tol > share * GAMMA, shown
        run = minimize(fun, at, jac=jac, tol=2 * NOISE, seed=seed, method="agd-auto", **WORDS)
        stays = np.array_equal(run.x, at) and run.certificate.holds
        assert not stays or run.certificate.curvature_tol > share * GAMMA, run


@pytest.mark.torch
@pytest.mark.parametrize("gamma", [None, 0.012])
def test_bending_that_rounding_covers_in_single_precision(gamma: float | None) -> None:
    """Far from zero differences are over half a unit, as |x| is 1000 and more."""
    torch = pytest.importorskip("torch")
    from unsaddle.torch import Auto

    curves, bend, centre = torch.ones(30), 0.02, torch.full((30,), 1000.0)
    curves[0] = -0.02386
    for seed in range(40):
        x = torch.nn.Parameter(centre.clone())
        opt = Auto([x], tol=1e-4, curvature_tol=gamma, seed=seed)

        def closure():
            opt.zero_grad()  # noqa: B023
            z = x - centre  # noqa: B023
            loss = (curves * z**2 / 2 + bend * z**4 / 4).sum()
            loss.backward()
            return loss

        while opt.outcome is None:
            opt.step(closure)
        z = (x.detach() - centre).double()
        lowest = float((curves + 3 * bend * z**2).min())
        shown = opt.certificate
        assert shown.holds is not True or lowest > -shown.curvature_tol * (1 + 1e-4), (seed, shown)
