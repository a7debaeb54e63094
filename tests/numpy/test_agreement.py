"""Products that are not of this function: doubted before a claim; right ones are not."""

from typing import Any

import numpy as np
import pytest

from tests.noise.test_bending import WHERE, Bent
from tests.numpy.test_products import KNOWN, F, bent_product, product, solve
from unsaddle import Outcome, certify, find_negative_curvature, landscapes, minimize
from unsaddle.core.session import NotFiniteError
from unsaddle.methods.table import METHODS

SEEDS = 20
DISAGREE = "hessp and differences of the gradient disagree"
N = 30
SPECTRUM = np.concatenate([[-0.3], np.linspace(0.5, 3.0, N - 1)])
ONE = np.concatenate([[5.0], SPECTRUM[1:]])
WRONG = {
    "identity": lambda x, p: p.copy(),
    "zero": lambda x, p: 0 * p,
    "positive": lambda x, p: abs(SPECTRUM).astype(p.dtype) * p,
    "along one direction": lambda x, p: ONE.astype(p.dtype) * p,
    "of twice the function": lambda x, p: 2 * (SPECTRUM + 0.4).astype(p.dtype) * p,
}


def slope(x: np.ndarray) -> np.ndarray:
    return SPECTRUM.astype(x.dtype) * x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_saddle_is_not_certified_by_another_matrix(wrong: str, dtype: type) -> None:
    """By none of 20 seeds, of each search; the certificate says what is amiss."""
    for seed in range(SEEDS):
        for method in ("lanczos", "anc", "nc") if seed < 2 else ("lanczos",):
            x, given = np.zeros(N, dtype), {"curvature_tol": 0.1, "hessp": WRONG[wrong]}
            claim = find_negative_curvature(slope, x, method, seed=seed, **given)
            assert claim.holds is None, (seed, str(claim))
            assert DISAGREE in str(claim)


def test_how_much_one_wrong_direction_out_of_many_shows() -> None:
    """By 1/sqrt(n) along a random direction: at n = 1000 doubted for all of 20 seeds."""
    true = np.concatenate([[-0.1], np.linspace(0.5, 3.0, 999)])
    wrong = np.concatenate([[0.7], true[1:]])
    for seed in range(SEEDS):
        claim = certify(
            lambda x: true * x, np.ones(1000), 0.05, seed=seed, hessp=lambda x, p: wrong * p
        )
        assert claim.holds is None


@pytest.mark.parametrize("method", METHODS)
def test_every_method_doubts(method: str) -> None:
    """The run ends at the saddle it cannot see, says so, and is no success."""
    line = METHODS[method]
    known = KNOWN if line.constants else {}
    more = {"decrease_available": 1.0} if "decrease_available" in line.constants else {}
    result = solve(
        lambda x, p: p.copy(), method=method, tol=1e-2, max_gradients=9999, **known, **more
    )
    if np.linalg.eigvalsh(F.hessian(result.x))[0] < 0:  # some leave it by gradients alone
        assert result.outcome is Outcome.UNCERTIFIED
    assert not result.success
    assert result.certificate.holds is None
    assert DISAGREE in result.message
    assert result.fun <= F.value(F.saddles[0])


def test_curvature_that_gradients_do_not_show_is_doubted_too() -> None:
    """But it stands: it may be a well that is narrower than any probe."""
    claim = certify(lambda x: x, np.zeros(N), hessp=lambda x, p: -p)
    assert claim.holds is False
    assert DISAGREE in str(claim)
    result = minimize(
        lambda x: x @ x / 2, np.ones(N), jac=lambda x: x.copy(), hessp=lambda x, p: -p
    )
    assert result.outcome is Outcome.JUMP_FAILED
    assert DISAGREE in result.message


# Right ones


@pytest.mark.parametrize("name", landscapes.LANDSCAPES)
@pytest.mark.slow
def test_right_products_are_not_doubted(name: str) -> None:
    """At every saddle and minimum, 20 seeds, in both precisions; at one gradient and product."""
    f = landscapes.LANDSCAPES[name]()
    for seed in range(SEEDS):
        for x in (*f.saddles, *f.minima):
            for dtype in (np.float64, np.float32):
                claim = certify(
                    lambda y: f.gradient(y).astype(y.dtype),
                    np.asarray(x, dtype),
                    seed=seed,
                    hessp=lambda y, p: (f.hessian(y) @ p).astype(p.dtype),
                )
                assert DISAGREE not in str(claim), (seed, dtype, str(claim))


@pytest.mark.parametrize("bottom", [False, True])
@pytest.mark.parametrize("where", WHERE)
def test_where_differences_bend_right_products_are_not_doubted(where: str, bottom: bool) -> None:
    """At the saddles of docs/design.md, Limits, and at the minima beside them: none of 20."""
    for seed in range(SEEDS):
        f = Bent(where, seed)
        f.curvatures[f.down] = 1.0 if bottom else f.curvatures[f.down]
        claim = certify(f.gradient, f.x, 0.01, seed=seed, hessp=bent_product(f))
        assert claim.holds is bottom
        assert DISAGREE not in str(claim)


@pytest.mark.parametrize(("width", "most"), [(0.1, 0), (0.01, 0), (1e-4, 5)])
def test_a_narrow_bottom_is_certified_or_doubted(width: float, most: int) -> None:
    """In float32 at |x| = 1000, where r is .5: of 20, as many are doubted as the docs say."""
    doubted = 0
    for seed in range(SEEDS):
        x = np.random.default_rng([7, seed]).standard_normal(50)
        x = (1000 * x / np.linalg.norm(x)).astype(np.float32)
        here, w = x.copy(), np.float32(width)

        def gradient(y: np.ndarray, here: Any = here, w: Any = w) -> np.ndarray:
            z = y - here
            z[0] += np.float32(1.08) * w * np.sin(z[0] / w)
            return z

        def hessp(y: np.ndarray, p: np.ndarray, here: Any = here, w: Any = w) -> np.ndarray:
            out = p.copy()
            out[0] *= 1 + np.float32(1.08) * np.cos((y[0] - here[0]) / w)
            return out

        claim = certify(gradient, x, 0.01, seed=seed, hessp=hessp)
        assert claim.holds is (None if DISAGREE in str(claim) else True)
        doubted += claim.holds is None
    assert doubted <= most


@pytest.mark.parametrize("noise", [1e-12, 1e-9, 1e-6, 1e-3])
def test_noise_of_the_gradient_is_no_disagreement(noise: float) -> None:
    """Which nobody has declared; the products are right."""
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        claim = certify(
            lambda x, rng=rng: abs(SPECTRUM) * x + noise * rng.standard_normal(N),
            np.ones(N),
            seed=seed,
            hessp=lambda x, p: abs(SPECTRUM) * p,
        )
        assert claim.holds
        assert DISAGREE not in str(claim)


def test_a_numerical_gradient_is_no_disagreement() -> None:
    for seed in range(SEEDS):
        result = minimize(F.value, [0.3, 0.4], hessp=product, tol=1e-4, seed=seed)
        assert result.success


# Around it


def test_it_takes_one_gradient_and_one_product() -> None:
    result = solve()
    assert [str(p) for p in result.history.phase[-3:]].count("report") >= 2
    assert result.certificate.holds


def test_a_budget_that_ends_before_it_leaves_no_claim_and_goes_on_from_there() -> None:
    whole = solve()
    cut = solve(max_gradients=whole.njev + whole.nhvp - 1)
    assert cut.outcome is Outcome.BUDGET
    assert cut.certificate.holds is None
    on = solve(state=cut.state)
    assert on.success
    assert np.array_equal(on.x, whole.x)
    assert on.njev + on.nhvp <= 2 + 1  # the check, and whether H is symmetric once more
    claim = certify(F.gradient, F.minima[0], hessp=product)
    spent = claim.gradients + claim.products
    cut = certify(F.gradient, F.minima[0], hessp=product, max_gradients=spent - 1)
    assert cut.holds is None
    assert "The budget was spent before the search could decide." in cut.note


def test_what_goes_wrong_in_it_is_as_anywhere() -> None:
    whole, calls = solve(), []

    def failing(error: Any) -> Any:
        def jac(x: np.ndarray) -> np.ndarray:
            calls.append(x)
            if len(calls) < whole.njev:
                return F.gradient(x)
            if error is None:
                return np.full(2, np.nan)
            raise error

        calls.clear()
        return minimize(F.value, F.saddles[0], jac=jac, hessp=product)

    result = failing(None)
    assert result.outcome is Outcome.NOT_FINITE
    assert result.certificate.holds is None
    result = failing(KeyboardInterrupt())
    assert result.outcome is Outcome.INTERRUPTED
    assert result.certificate.holds is None
    with pytest.raises(RuntimeError) as caught:
        failing(RuntimeError("lost"))
    assert caught.value.unsaddle.fun <= F.value(F.saddles[0])  # type: ignore[attr-defined]


def test_a_nan_in_it_is_an_error_of_certify() -> None:
    def grad(x: np.ndarray) -> np.ndarray:
        return np.where(x == 0, 0.0, np.nan)

    with pytest.raises(NotFiniteError, match="grad returned NaN"):
        certify(grad, np.zeros(3), hessp=lambda x, p: p.copy())


def test_within_bounds_and_in_scaled_variables_too() -> None:
    bounds = [(None, None), (0.3, None)]
    given = {"jac": F.gradient, "bounds": bounds}
    result = minimize(F.value, [0.0, 0.3], hessp=lambda x, p: p.copy(), **given)
    assert not result.success
    assert DISAGREE in result.message
    result = minimize(F.value, F.saddles[0], jac=F.gradient, hessp=product, x_scale=[10.0, 0.1])
    assert result.success
    claim = certify(F.gradient, F.saddles[0], hessp=lambda x, p: p.copy(), x_scale=[10.0, 0.1])
    assert claim.holds is None
