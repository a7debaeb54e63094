"""The landscapes are what they say: derivatives, stationary points, constants, backends."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import solve_ivp

from unsaddle.landscapes import LANDSCAPES, Landscape
from unsaddle.landscapes.landscape import namespace

CASES = {name: build() for name, build in LANDSCAPES.items()} | {
    "h-small-eps": LANDSCAPES["h"](n=3, eps=0.01),
    "h-large-eps": LANDSCAPES["h"](n=5, eps=7.0),
    "wells-odd": LANDSCAPES["wells"](n=5, coupling=0.3),
    "wells-pair": LANDSCAPES["wells"](n=2, coupling=0.6),
    "factorisation-5x3": LANDSCAPES["matrix_factorisation"](rows=5, rank=3, seed=1),
    "rosenbrock-2": LANDSCAPES["rosenbrock"](n=2),
    "rosenbrock-9": LANDSCAPES["rosenbrock"](n=9),
}
INF = math.inf
# The boxes that `region` describes, coordinate by coordinate; the other two regions are balls.
BOXES = {
    "quartic": lambda r, n: ([-r, -INF], [r, INF]),
    "triangle": lambda r, n: ([-INF, -1.5], [INF, 2.2]),
    "exponential": lambda r, n: ([-INF, -r], [INF, r]),
    "h": lambda r, n: ([-r] + [-INF] * (n - 1), [r] + [INF] * (n - 1)),
    "wells": lambda r, n: ([-r] * n, [r] * n),
    "rosenbrock": lambda r, n: ([-r] * n, [r] * (n - 1) + [2 * r**2]),
}
FEW = settings(max_examples=30)
FAR = 8.0  # stands for infinity when points are drawn


def bounds(case: Landscape) -> tuple[np.ndarray, np.ndarray]:
    low, high = BOXES[case.name](case.radius, case.n)
    return np.array(low), np.array(high)


def gauge(case: Landscape, x: np.ndarray) -> np.ndarray:
    """At most 1 in the ball, one number a row."""
    if case.name == "cubic":
        return np.linalg.norm(x, axis=-1) / case.radius
    rank = len(case.saddles)
    return np.linalg.norm(x.reshape(len(x), -1, rank), 2, axis=(-2, -1)) / case.radius


def inside(case: Landscape, x: np.ndarray) -> Any:
    if case.name not in BOXES:
        return gauge(case, x) <= 1 + 1e-12
    low, high = bounds(case)
    return ((low <= x) & (x <= high)).all(axis=-1)


def draw(case: Landscape, count: int, seed: int = 0, edge: bool = False) -> np.ndarray:
    """Draw points of the region, some of them in its corners; with edge, all on its boundary."""
    rng = np.random.default_rng(seed)
    if case.name not in BOXES:
        x = rng.standard_normal((count, case.n))
        size = 1.0 if edge else rng.random((count, 1)) ** (1 / case.n)
        return size * x / gauge(case, x)[:, None]
    low, high = bounds(case)
    a, b = np.clip(low, -FAR, None), np.clip(high, None, FAR)
    x = np.clip(a + (b - a) * rng.uniform(-0.25, 1.25, (count, case.n)), a, b)
    if edge:
        walls = np.flatnonzero(np.isfinite(low))
        which = rng.choice(walls, count)
        x[np.arange(count), which] = np.where(rng.random(count) < 0.5, low[which], high[which])
    return x


def close(actual: Any, expected: Any, case: Landscape, rtol: float = 1e-11) -> None:
    """Compare; terms may cancel, so that an error is also small if it is beside the constant l."""
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * case.smoothness / 10)


def norm(h: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvalsh(h)).max())


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Landscape:
    return CASES[request.param]


def test_table_names_agree():
    assert all(build().name == name for name, build in LANDSCAPES.items())


def test_gradient_matches_differences(case: Landscape):
    for x in draw(case, 20):
        steps = 1e-5 * np.eye(case.n)
        slopes = (case.value(x + steps) - case.value(x - steps)) / 2e-5
        close(case.gradient(x), slopes, case, rtol=1e-5)


def test_gradient_matches_complex_step(case: Landscape):
    for x in draw(case, 50):
        slopes = case.value(x + 1e-30j * np.eye(case.n)).imag / 1e-30
        close(case.gradient(x), slopes, case)


def test_hessian_matches_complex_step_and_differences(case: Landscape):
    for x in draw(case, 20):
        hessian = case.hessian(x)
        assert hessian.shape == (case.n, case.n)
        assert (hessian == hessian.T).all()
        exact = case.gradient(x + 1e-30j * np.eye(case.n)).imag / 1e-30
        close(hessian, exact, case)
        steps = 1e-5 * np.eye(case.n)
        slopes = (case.gradient(x + steps) - case.gradient(x - steps)) / 2e-5
        close(hessian, slopes, case, rtol=1e-5)


def test_saddles_are_strict(case: Landscape):
    assert bool(case.saddles) != (case.name == "rosenbrock" and case.n < 4)
    for x in case.saddles:
        assert np.linalg.norm(case.gradient(x)) <= 1e-10
        assert np.linalg.eigvalsh(case.hessian(x))[0] < -1e-3


def test_minima_are_minima_and_one_is_global(case: Landscape):
    for x in case.minima:
        assert np.linalg.norm(case.gradient(x)) <= 1e-10
        assert np.linalg.eigvalsh(case.hessian(x))[0] >= -1e-9
    if case.minima:
        assert min(case.value(x) for x in case.minima) == pytest.approx(case.infimum, abs=1e-14)
    else:
        assert case.value(np.array([30.0, 0.0])) == case.infimum


@pytest.mark.parametrize(
    ("name", "spectrum", "lowest"),
    [
        ("quartic", [-1, 2.25], -1),
        ("cubic", [-3, 3], -1.3641),
        ("triangle", [-(math.pi**2) / 2, 1], -1),
        ("exponential", [-0.5, 1], -1),
        ("h", [-1] + [1] * 9, -1),
        ("h-large-eps", [-7] + [1] * 4, -49),
        ("wells-pair", [-1, 1.4], 0),
    ],
)
def test_spectrum_at_the_origin_and_infimum(name: str, spectrum: list[float], lowest: float):
    case = CASES[name]
    np.testing.assert_allclose(
        np.linalg.eigvalsh(case.hessian(np.zeros(case.n))), spectrum, atol=1e-14
    )
    assert case.infimum == pytest.approx(lowest, abs=5e-5)


def test_region_holds_the_known_points_and_the_ball(case: Landscape):
    points = np.array(case.saddles + case.minima)
    if points.size:
        assert inside(case, points).all()
    ball = np.random.default_rng(1).standard_normal((500, case.n))
    ball *= case.radius * (1 - 1e-12) / np.linalg.norm(ball, axis=1, keepdims=True)
    assert inside(case, ball).all()


def test_boundary_of_the_region_is_above_the_saddles(case: Landscape):
    lowest = case.value(draw(case, 2000, edge=True)).min()
    assert all(lowest > case.value(x) for x in case.saddles)


@pytest.mark.slow
def test_smoothness_bounds_the_hessian(case: Landscape):
    norms = [norm(case.hessian(x)) for x in draw(case, 2000)]
    assert max(norms) <= case.smoothness * (1 + 1e-9)
    assert max(norms) >= case.smoothness / 2


@pytest.mark.slow
def test_hessian_lipschitz_bounds_the_change_of_the_hessian(case: Landscape):
    x, far = draw(case, 2000), draw(case, 2000, seed=1)
    near = x + 1e-3 * (far - x)
    for a, b in [*zip(x[:1000], far[:1000], strict=True), *zip(x, near, strict=True)]:
        change = norm(case.hessian(a) - case.hessian(b))
        assert change <= case.hessian_lipschitz * np.linalg.norm(a - b) * (1 + 1e-9)


def test_descent_from_a_saddle_stays_in_the_region(case: Landscape):
    rng = np.random.default_rng(2)
    for saddle in case.saddles:
        x = saddle + 0.01 * case.radius * rng.uniform(-1, 1, (20, case.n))
        for _ in range(100):
            gradient = case.gradient(x)
            after = x - gradient / case.smoothness
            promised = (gradient**2).sum(axis=-1) / (2 * case.smoothness)
            assert (case.value(after) <= case.value(x) - promised + 1e-12).all()
            assert inside(case, after).all()
            x = after


def test_batches_equal_loops(case: Landscape):
    x = draw(case, 12).reshape(3, 4, case.n)
    value, gradient = case.value(x), case.gradient(x)
    assert value.shape == (3, 4)
    assert gradient.shape == x.shape
    for i in np.ndindex(3, 4):
        np.testing.assert_allclose(value[i], case.value(x[i]), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(gradient[i], case.gradient(x[i]), rtol=1e-12, atol=1e-12)


def test_float32_stays_float32(case: Landscape):
    x = draw(case, 5)
    single = x.astype(np.float32)
    for f in (case.value, case.gradient):
        assert f(single).dtype == f(single[0]).dtype == np.float32
        close(f(single), f(x), case, rtol=1e-4)


@pytest.mark.jax
def test_jax_agrees(case: Landscape):
    jax = pytest.importorskip("jax")
    compiled = jax.jit(lambda x: (case.value(x), case.gradient(x), jax.grad(case.value)(x)))
    with jax.enable_x64(True):
        for x in draw(case, 3):
            value, gradient, slopes = compiled(x)
            close(value, case.value(x), case)
            close(gradient, case.gradient(x), case)
            close(slopes, gradient, case)
    single = draw(case, 1)[0].astype(np.float32)
    assert {y.dtype for y in jax.eval_shape(compiled, single)} == {np.dtype(np.float32)}


@pytest.mark.torch
def test_torch_agrees(case: Landscape):
    torch = pytest.importorskip("torch")
    for x in draw(case, 3):
        tensor = torch.tensor(x, requires_grad=True)
        value, gradient = case.value(tensor), case.gradient(tensor)
        (slopes,) = torch.autograd.grad(value, tensor)
        close(value.item(), case.value(x), case)
        close(gradient.detach(), case.gradient(x), case)
        close(slopes, case.gradient(x), case)
        single = torch.tensor(x, dtype=torch.float32)
        assert case.value(single).dtype == case.gradient(single).dtype == torch.float32


@pytest.mark.parametrize("n", [4, 5, 12])
def test_rosenbrock_saddle_lies_between_the_minima(n: int):
    case = LANDSCAPES["rosenbrock"](n=n)
    (saddle,) = case.saddles
    values, vectors = np.linalg.eigh(case.hessian(saddle))
    assert values[0] < 0 < values[1]
    ends = [
        solve_ivp(
            lambda _, x: -case.gradient(x),
            (0, 60),
            saddle + side * 1e-3 * vectors[:, 0],
            method="Radau",
            jac=lambda _, x: -case.hessian(x),
        ).y[:, -1]
        for side in (-1, 1)
    ]
    for minimum, end in zip(case.minima, sorted(ends, key=case.value), strict=True):
        np.testing.assert_allclose(end, minimum, atol=1e-3)


@FEW
@given(x=arrays(float, 2, elements=st.floats(-1e6, 1e6)))
def test_exponential_never_overflows(x: np.ndarray):
    case = CASES["exponential"]
    assert case.infimum <= case.value(x)
    for f in (case.value, case.gradient, case.hessian):
        assert np.isfinite(f(x)).all()


@pytest.mark.parametrize("name", CASES)
@FEW
@given(data=st.data())
def test_infimum_is_a_lower_bound(name: str, data: st.DataObject):
    case = CASES[name]
    x = data.draw(arrays(float, case.n, elements=st.floats(-10, 10)))
    assert case.value(x) >= case.infimum - 1e-12


TURN = np.kron(np.eye(6), [[0.6, -0.8], [0.8, 0.6]])  # U -> U Q for 6 x 2 matrices
SYMMETRIES = {
    "quartic": -np.eye(2),
    "cubic": np.array([[0.0, -1.0], [-1.0, 0.0]]),
    "triangle": np.diag([-1.0, 1.0]),
    "exponential": np.diag([-1.0, 1.0]),
    "h": np.eye(10)[[0, *range(2, 10), 1]],
    "wells": -np.roll(np.eye(10), 3, 0),
    "matrix_factorisation": TURN,
}


@pytest.mark.parametrize("name", SYMMETRIES)
@FEW
@given(data=st.data())
def test_symmetry(name: str, data: st.DataObject):
    case, turn = CASES[name], SYMMETRIES[name]
    x = data.draw(arrays(float, case.n, elements=st.floats(-3, 3)))
    close(case.value(turn @ x), case.value(x), case)
    close(case.gradient(turn @ x), turn @ case.gradient(x), case)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("h", {"n": 1}, "n must be at least 2"),
        ("h", {"eps": 0.0}, "eps must be positive"),
        ("h", {"eps": math.nan}, "eps must be positive"),
        ("wells", {"n": 1}, "n must be at least 2"),
        ("wells", {"coupling": 0.1}, "coupling must be finite and above 0.25 for n=10, got 0.1"),
        ("matrix_factorisation", {"rows": 3, "rank": 3}, "rank must be between 1 and rows - 1 = 2"),
        ("rosenbrock", {"n": 1}, "n must be at least 2"),
    ],
)
def test_bad_arguments_are_named(name: str, arguments: dict[str, float], message: str):
    with pytest.raises(ValueError, match=message):
        LANDSCAPES[name](**arguments)


def test_namespace_refuses_a_list():
    with pytest.raises(TypeError, match=r"numpy\.asarray"):
        namespace([0.0, 0.0])
