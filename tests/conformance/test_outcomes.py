"""Methods x cases x front ends: a run ends the same way wherever it is run.

Noise differs between the backends here, as it does for users; the outcome may not. The cases are
members of one family of functions, so that JAX compiles a method once for all of them. In every
run that is done through optax for one method of each kind, as ``test_conformance.py`` compiles all
of them; through ``minimize`` on JAX, which runs them on the host, for all. All of it is tried every
night:

    f(x) = sum_i curvature_i x_i^2/2 + quartic_i x_i^4/4.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.often import most_at_night
from unsaddle import METHODS, Outcome, minimize

LIMIT = 20_000  # gradients, which none of these runs needs
NEVER = 1e3  # no function here falls by so much


class Case(NamedTuple):
    curvature: tuple[float, ...]
    start: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    quartic: tuple[float, ...] = (0.0, 0.0, 1.0, 1.0)

    @property
    def coefficients(self) -> np.ndarray:
        return np.array([self.curvature, self.quartic])


CASES = {
    "from a saddle": Case((1.0, 0.5, 1.0, -1.0)),
    "from a saddle with two ways down": Case((1.0, 0.5, -0.7, -1.0)),
    "from its valley": Case((1.0, 0.5, 1.0, -1.0), start=(1.0, -1.0, 0.5, 0.0)),
    "from a minimum": Case((1.0, 0.5, 0.25, 1.0)),
}
KNOWN = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "decrease_available": 1.0}
KICK = {"window": 25, "radius": 0.1, "decrease": 1e-3}
FAST = {"step": 0.16, "friction": 0.2, "nce_length": 0.05}
OPTIONS: dict[str, dict[str, Any]] = {  # a new method joins here
    "auto": {},
    "agd-auto": {},
    "agd+lanczos": FAST,
    "pgd": KICK,
    "pagd": KICK | FAST,
    "pgd+nc": {},
    "ancgd": FAST,
    "neon": {"window": 200, "radius": 1e-3},
    "neon+": {"window": 100, "radius": 1e-3},
    "neon2": {},
    "cdhs": {},
    "adancg": {},
    "fastcubic": {},
}
DECEIVED = {  # what makes a method's own test pass at a saddle, and how its run then ends
    "pgd": ({"decrease": NEVER}, Outcome.NEGATIVE_CURVATURE),
    "pagd": ({"decrease": NEVER}, Outcome.NEGATIVE_CURVATURE),
    "neon": ({"fall": NEVER}, Outcome.NEGATIVE_CURVATURE),
    "pgd+nc": ({"decrease": NEVER}, Outcome.JUMP_FAILED),
    "ancgd": ({"decrease": NEVER}, Outcome.JUMP_FAILED),
}


def told(method: str, **options: Any) -> dict[str, Any]:
    """What a method has to know, and its options."""
    known = {word: KNOWN[word] for word in METHODS[method].constants}
    return {"tol": 1e-2, **known, **OPTIONS[method], **options}


def value(x: Any, coefficients: Any) -> Any:
    curvature, quartic = coefficients
    return (curvature * x**2 / 2 + quartic * x**4 / 4).sum()


def gradient(x: Any, coefficients: Any) -> Any:
    curvature, quartic = coefficients
    return curvature * x + quartic * x**3


def on_numpy(method: str, given: dict[str, Any]) -> Callable[[Case], Outcome | None]:
    given = {"jac": gradient, "method": method, "max_gradients": LIMIT, **given}
    return lambda case: minimize(value, case.start, (case.coefficients,), **given).outcome


def on_torch(method: str, given: dict[str, Any]) -> Callable[[Case], Outcome | None]:
    torch = pytest.importorskip("torch")
    from unsaddle.torch import OPTIMISERS

    def end(case: Case) -> Outcome | None:
        at = torch.nn.Parameter(torch.tensor(case.start, dtype=torch.float64))
        opt = OPTIMISERS[method]([at], **given)

        def closure() -> Any:
            opt.zero_grad()
            loss = value(at, torch.tensor(case.coefficients))
            loss.backward()
            return loss

        while opt.outcome is None and opt.queries < LIMIT:
            opt.step(closure)
        return opt.outcome

    return end


def on_jax(method: str, given: dict[str, Any]) -> Callable[[Case], Outcome | None]:
    front = pytest.importorskip("unsaddle.jax")

    def end(case: Case) -> Outcome | None:
        ask = {"method": method, "max_gradients": LIMIT, **given}
        return front.minimize(value, np.array(case.start), (case.coefficients,), **ask).outcome

    return end


def traced(method: str, given: dict[str, Any]) -> Callable[[Case], Outcome | None]:
    """The same under ``jax.jit``."""
    jax, front = pytest.importorskip("jax"), pytest.importorskip("unsaddle.jax")
    ask = {"method": method, "max_gradients": LIMIT, **given}
    solve = jax.jit(lambda x, coefficients: front.minimize(value, x, (coefficients,), **ask))
    return lambda case: solve(np.array(case.start), case.coefficients).outcome


def on_optax(method: str, given: dict[str, Any]) -> Callable[[Case], Outcome | None]:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    from unsaddle import optax as front

    transform = front.method(method, **given)

    @jax.jit
    def step(x: Any, state: Any, coefficients: Any) -> Any:
        now, slope = jax.value_and_grad(value)(x, coefficients)
        updates, state = transform.update(slope, state, x, value=now)
        return optax.apply_updates(x, updates), state

    def end(case: Case) -> Outcome | None:
        x = jax.numpy.array(case.start)
        state = transform.init(x)
        for _ in range(LIMIT):
            x, state = step(x, state, case.coefficients)
            if front.outcome(state) is not None:
                break
        return front.outcome(state)

    return end


FRONT_ENDS = {"numpy": on_numpy, "torch": on_torch, "jax": on_jax, "optax": on_optax}


def tried(methods: Any, compiled: Any) -> list[Any]:
    """All of methods x front ends, at night what is compiled and not among those."""
    often = {*product(methods, ("numpy", "torch", "jax")), *compiled}
    return most_at_night(often, product(methods, FRONT_ENDS))


@pytest.fixture(autouse=True)
def double_precision(request: pytest.FixtureRequest) -> Any:
    """Let JAX have it."""
    if request.node.callspec.params.get("front_end", "jax") not in ("jax", "optax"):
        yield
        return
    with pytest.importorskip("jax").enable_x64(True):
        yield


@pytest.mark.parametrize(("method", "front_end"), tried(METHODS, [("ancgd", "optax")]))
def test_every_case_ends_certified(method: str, front_end: str) -> None:
    end = FRONT_ENDS[front_end](method, told(method))
    ends = {name: end(case) for name, case in CASES.items()}
    assert ends == dict.fromkeys(CASES, Outcome.CERTIFIED)


@pytest.mark.parametrize(("method", "front_end"), tried(DECEIVED, []))
def test_a_test_that_is_deceived_proves_nothing(method: str, front_end: str) -> None:
    options, expected = DECEIVED[method]
    end = FRONT_ENDS[front_end](method, told(method, **options))
    assert end(CASES["from a saddle"]) is expected


@pytest.mark.jax
@pytest.mark.parametrize("method", most_at_night([], METHODS))
def test_every_case_ends_certified_under_jit(method: str) -> None:
    end = traced(method, told(method))
    assert {end(case) for case in CASES.values()} == {Outcome.CERTIFIED}


@pytest.mark.jax
@pytest.mark.parametrize("method", most_at_night(["pgd"], DECEIVED))
def test_a_test_that_is_deceived_proves_nothing_under_jit(method: str) -> None:
    options, expected = DECEIVED[method]
    assert traced(method, told(method, **options))(CASES["from a saddle"]) is expected
