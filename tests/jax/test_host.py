"""A run on the host: which runs are, that they end as traced ones do, and Ctrl-C."""

import importlib
import signal
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import unsaddle.jax as front  # noqa: E402
from tests.conformance.test_outcomes import CASES, told, value  # noqa: E402
from tests.often import most_at_night  # noqa: E402
from unsaddle import METHODS, Outcome  # noqa: E402
from unsaddle.jax import host  # noqa: E402
from unsaddle.jax.ops import ops as traced_ops  # noqa: E402

TRACES = []


def fun(x: Any, tilt: Any = 0.0) -> Any:
    """A saddle between two wells; notes that it is traced."""
    TRACES.append(1)
    return x[0] ** 2 / 2 - x[1] ** 2 / 2 + x[1] ** 4 / 4 + tilt * x[0]


slope = jax.grad(fun)
START = np.array([1.0, 0.0], np.float32)


@pytest.mark.parametrize("method", most_at_night(["ancgd"], METHODS))
def test_it_ends_as_a_traced_run_does(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn is the same, and so are outcome, counts and, up to rounding, all numbers."""
    found = []
    with jax.enable_x64(True):
        for suits in (host.suits, lambda *given: False):
            monkeypatch.setattr(host, "suits", suits)
            for name in ("from a saddle with two ways down", "from its valley"):
                given = np.array(CASES[name].start), (CASES[name].coefficients,), method
                found.append(front.minimize(value, *given, seed=3, **told(method)))
        for here, there in zip(found[:2], found[2:], strict=True):
            assert here.outcome is there.outcome is Outcome.CERTIFIED
            assert jax.tree.structure(here) == jax.tree.structure(there)
            for mine, other in zip(*map(jax.tree.leaves, (here, there)), strict=True):
                assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
                np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-8)


def test_it_draws_what_a_traced_run_draws() -> None:
    both = jax.jit(lambda *given: (traced_ops.normal(*given), traced_ops.uniform(*given)))
    for dtype in (np.float32, np.float64):
        with jax.enable_x64(dtype is np.float64):
            like = np.zeros(5, dtype)
            for words in ((0, 1), (7, 2)):
                drawn = host.HostOps(like).normal(like, *words)
                assert drawn.dtype == dtype
                drawn *= 1.0  # it is the kernel's to overwrite
                noise, radius = both(jnp.array(like), *words)
                np.testing.assert_array_equal(drawn, noise)
                assert host.HostOps(like).uniform(like, *words) == float(radius)


def suited(*given: Any) -> bool:
    return host.suits(jax.tree.map(jnp.asarray, given[0]), *given[1:])


def seen_inside(transform: Any, *given: Any) -> bool:
    """What is decided for arguments within a transformation."""
    said = []
    transform(lambda *traced: [said.append(host.suits(*traced)), 0.0][1])(*given)
    return said[0]


ONE, HALF = jnp.ones(3), jnp.ones(3, jnp.bfloat16)
DECISIONS = {  # what is given, and whether the host runs it
    "a vector": (lambda: suited(ONE, (2.0,), 0, 10), True),
    "a tree": (lambda: suited({"a": ONE, "b": (ONE, 1.0)}), True),
    "a seed of JAX": (lambda: suited(ONE, (), jnp.array(3), jnp.array(9)), True),
    "as long as may be": (lambda: suited(jnp.zeros(host.TUNING.most)), True),
    "longer": (lambda: suited(jnp.zeros(host.TUNING.most + 1)), False),
    "a coarse precision": (lambda: suited(HALF), False),
    "two precisions": (lambda: suited({"a": ONE, "b": HALF}), False),
    "jit": (lambda: seen_inside(jax.jit, ONE), False),
    "jit around it": (lambda: seen_inside(lambda f: jax.jit(lambda u: f(ONE)), ONE), False),
    "vmap": (lambda: seen_inside(jax.vmap, ONE), False),
    "vmap over args": (
        lambda: seen_inside(lambda f: jax.vmap(f, in_axes=(None, 0)), ONE, ONE),
        False,
    ),
    "grad": (lambda: seen_inside(jax.grad, 1.0), False),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_what_decides(name: str) -> None:
    decide, expected = DECISIONS[name]
    assert decide() is expected


def test_several_devices_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    (cpu,) = jax.devices()
    monkeypatch.setattr(jax, "devices", lambda: [cpu, cpu])
    assert not suited(ONE)


@pytest.mark.parametrize("tilted", [fun, lambda x, tilt: fun(x, 0.0) + tilt])
def test_a_function_over_a_tracer_is_traced(tilted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No argument shows that it is mapped; the value may depend on it, and not the gradient."""
    taken = []
    room = importlib.import_module("unsaddle.jax.minimize")
    monkeypatch.setattr(room, "_solve", lambda *given: taken.append(given))

    def solve(tilt: Any) -> float:
        front.minimize(lambda x: tilted(x, tilt), START)
        return 0.0

    jax.vmap(solve)(jnp.arange(2.0))
    assert len(taken) == 1


def test_without_jit_a_function_is_given_arrays_of_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    with jax.disable_jit():
        assert not host.suits(jnp.ones(2))
    assert host.suits(jnp.ones(2))


def test_a_seed_may_be_any_whole_number_of_jax() -> None:
    found = front.minimize(fun, START, (0.0,), seed=jnp.uint32(4_000_000_000))
    assert found.success


def test_nothing_is_traced_again() -> None:
    def solve(tilt: float, seed: int) -> Any:
        return front.minimize(fun, START, (tilt,), seed=seed, max_gradients=50)

    def search(tilt: float, seed: int) -> Any:
        return front.certify(slope, START, (tilt,), seed=seed)

    for call in (solve, search):
        call(0.0, 0)
        before = len(TRACES)
        for tilt, seed in ((0.0, 0), (0.1, 0), (0.2, 5)):
            call(tilt, seed)
        assert len(TRACES) == before


def test_a_gradient_that_shares_memory_with_the_point() -> None:
    """JAX gives an argument that is returned back as it is."""
    certificate = front.certify(lambda x: x, jnp.full(4, 0.5)).certificate()
    assert certificate.holds
    assert certificate.curvature == pytest.approx(1.0, abs=0.02)


@pytest.mark.usefixtures("handled")
def test_an_interrupt_ends_the_run_at_the_lower_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for an update to be whole; of a search alone nothing is told."""
    plain, passed = host.HostOps.add, [0]

    def add(*given: Any) -> Any:
        passed[0] += 1
        if passed[0] == 3:
            signal.raise_signal(signal.SIGINT)
        return plain(*given)

    monkeypatch.setattr(host.HostOps, "add", add)
    far = np.array([1.0, 0.1], np.float32)
    found = front.minimize(fun, far)
    assert found.outcome is Outcome.INTERRUPTED
    assert not bool(found.success)
    assert float(found.fun) <= float(fun(far))
    assert float(found.fun) == pytest.approx(float(fun(found.x)))
    passed[0] = 2
    with pytest.raises(KeyboardInterrupt):
        front.certify(slope, far)


@pytest.mark.usefixtures("handled")
def test_an_interrupt_before_any_answer_is_one() -> None:
    def stopped(x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        front.minimize(stopped, START)
