"""Functions, noises and words at random: whatever is claimed is true, and every run ends."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.often import most_at_night
from unsaddle import Certificate, find_negative_curvature, minimize

LIMIT = 2000
KINDS = ("none", "random", "relative", "of a sum")


class Wild(NamedTuple):
    """scale (z'Hz/2 + b sum(z^4)/4) with z = x/unit - c, a saddle or a minimum at z = 0."""

    hessian: np.ndarray
    quartic: float
    centre: np.ndarray
    scale: float
    unit: float
    kind: str
    noise: float
    rng: np.random.Generator

    def value(self, x: np.ndarray) -> float:
        z = x.astype(float) / self.unit - self.centre
        return float(self.scale * (z @ self.hessian @ z / 2 + self.quartic * np.sum(z**4) / 4))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        z = x.astype(float) / self.unit - self.centre
        g, w = self.hessian @ z + self.quartic * z**3, self.rng.standard_normal(z.size)
        errors = {
            "none": 0.0,
            "random": self.noise * w / np.sqrt(z.size),
            "relative": min(self.noise, 0.3) * g * w,
            "of a sum": self.noise * np.round(1e3 * np.sin(1e6 * z)) / 1e3,
        }
        return (self.scale / self.unit * (g + errors[self.kind])).astype(x.dtype)

    def lowest(self, x: np.ndarray) -> float:
        z = x.astype(float) / self.unit - self.centre
        curved = self.hessian + np.diag(3 * self.quartic * z**2)
        return float(np.linalg.eigvalsh(curved)[0] * self.scale / self.unit**2)


def drawn(seed: int) -> tuple[Wild, np.ndarray, dict[str, Any], np.random.Generator]:
    """Draw a function, a start, the words of a caller, and a generator for more."""
    rng = np.random.default_rng([2024, seed])
    n = int(rng.choice([1, 2, 3, 8, 20]))
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    centre = rng.standard_normal(n) * 10 ** rng.uniform(-3, 4) * rng.integers(0, 2)
    scale, unit = 10 ** rng.uniform(-6, 6), 10 ** (rng.uniform(-5, 5) * rng.integers(0, 2))
    hessian = (q * rng.standard_normal(n)) @ q.T
    kind, noise = str(rng.choice(KINDS)), 10 ** rng.uniform(-14, -1)
    f = Wild(hessian, 10 ** rng.uniform(-3, 3), centre, scale, unit, kind, noise, rng)
    dtype = (np.float32, np.float64)[rng.integers(2)]
    x = ((centre + rng.standard_normal(n) * rng.choice([0, 0, 1e-6, 1.0])) * unit).astype(dtype)
    words: dict[str, Any] = {"seed": seed, "max_gradients": LIMIT}
    if rng.random() < 0.3:
        words["curvature_tol"] = float(scale / unit**2 * 10 ** rng.uniform(-6, 0))
    if rng.random() < 0.2:
        words["gradient_noise"] = float(scale / unit * 10 ** rng.uniform(-12, 0))
    if rng.random() < 0.2:
        words["probe_radius"] = float(unit * 10 ** rng.uniform(-8, 0))
    return f, x, words, rng


def check(f: Wild, x: np.ndarray, certificate: Certificate) -> None:
    """What is certified is true, to the rounding of x."""
    blurred = 1e-3 + 1e-6 * float(x.dtype == np.float32)
    if certificate.holds:
        assert f.lowest(x) > -certificate.curvature_tol * (1 + blurred), (f, certificate)
    str(certificate)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.slow
def test_every_search_ends_and_says_what_is_so(part: int) -> None:
    """Four hundred of them, at delta = 1e-3: none is false, none takes more than it may."""
    for seed in range(100 * part, 100 * (part + 1)):
        f, x, words, rng = drawn(seed)
        method = str(rng.choice(["lanczos", "anc", "nc"]))
        try:
            found = find_negative_curvature(f.gradient, x, method, **words)
        except ArithmeticError:  # in float32 a scale of 1e6 in small units overflows
            continue
        assert found.gradients <= LIMIT
        check(f, x, found)


@pytest.mark.parametrize("part", most_at_night([0, 1], range(4)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.slow
def test_every_run_ends_and_says_what_is_so(part: int) -> None:
    """A hundred of them, two hundred at night: what fails in one of 33 is seen with 95 %."""
    for seed in range(1000 + 50 * part, 1000 + 50 * (part + 1)):
        f, x, words, rng = drawn(seed)
        method = str(rng.choice(["auto", "agd-auto"]))
        if method == "auto" and rng.random() < 0.3:
            words["max_step"] = float(f.unit * 10 ** rng.uniform(-3, 1))
        words["tol"] = float(f.scale / f.unit * 1e-5)
        result = minimize(f.value, x, jac=f.gradient, method=method, **words)
        assert result.njev <= LIMIT + 1
        asked = words.get("curvature_tol", np.inf)
        assert not result.success or result.certificate.curvature_tol <= asked
        check(f, result.x, result.certificate)
        str(result)


@pytest.mark.parametrize("size", [1e-5, 1e-3, 0.1])
def test_an_error_that_is_relative_to_the_gradient_is_noise_too(size: float) -> None:
    """At an exact zero of the gradient it shrinks with the probe: no shorter one shows more."""
    for seed in range(20):
        rng, calls = np.random.default_rng(seed), []

        def grad(x: np.ndarray, rng: Any = rng, calls: list[int] = calls) -> np.ndarray:
            calls.append(1)
            return np.array([-1.0, 2.0, 1.0]) * x * (1 + size * rng.standard_normal(3))

        found = find_negative_curvature(grad, np.zeros(3), seed=seed)
        assert found.holds is False
        assert len(calls) <= 100  # some shorter pairs make sure that it is no bending


def test_a_probe_too_short_to_be_one_claims_nothing() -> None:
    """In float32 at 3e5 a distance of 1e-6 is none, and the gradient the same."""
    x = np.array([3e5, 1.0], np.float32)
    for curvatures in ([-1e5, 1e5], [-1.0, -1.0], [1.0, 1.0]):
        grad = lambda y: np.array(curvatures, np.float32) * (y - x)  # noqa: B023, E731
        for seed in range(5):
            assert find_negative_curvature(grad, x, probe_radius=1e-9, seed=seed).holds is None
