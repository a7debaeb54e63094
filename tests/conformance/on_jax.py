"""How to run a method on JAX and through optax, and list where it queries."""

from typing import Any

import numpy as np

from tests.conformance.backends import draws


def run_jax(method: str, f: Any, x: np.ndarray, given: dict, queries: int, patch: Any) -> Any:
    """Traced, as under ``jax.jit``."""
    from unsaddle.jax import host

    patch.setattr(host, "suits", lambda *given: False)
    return run_jax_on_host(method, f, x, given, queries, patch)


def run_jax_on_host(
    method: str, f: Any, x: np.ndarray, given: dict, queries: int, patch: Any
) -> Any:
    import jax
    import jax.numpy as jnp

    import unsaddle.jax

    _same_noise_in_jax(x.size, patch)
    asked, note = _recorder()

    @jax.custom_vjp
    def value(point: Any) -> Any:
        note(point)
        return f.value(point)

    def forward(point: Any) -> Any:
        note(point)
        return f.value(point), f.gradient(point)

    value.defvjp(forward, lambda gradient, weight: (weight * gradient,))
    solution = unsaddle.jax.minimize(
        lambda tree: value(jnp.concatenate([tree["a"], tree["b"]])),
        {"a": jnp.array(x[: x.size // 2]), "b": jnp.array(x[x.size // 2 :])},
        method=method,
        max_gradients=queries,
        **given,
    )
    jax.block_until_ready(solution)
    return np.array(asked[:queries])


def run_optax(method: str, f: Any, x: np.ndarray, given: dict, queries: int, patch: Any) -> Any:
    import jax
    import jax.numpy as jnp
    import optax

    import unsaddle.optax

    _same_noise_in_jax(x.size, patch)
    tx = unsaddle.optax.method(method, **given)
    params = {"a": jnp.array(x[: x.size // 2]), "b": jnp.array(x[x.size // 2 :])}
    state = tx.init(params)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        point = jnp.concatenate([params["a"], params["b"]])
        gradient = f.gradient(point)
        cut = x.size // 2
        updates, state = tx.update(
            {"a": gradient[:cut], "b": gradient[cut:]}, state, params, value=f.value(point)
        )
        return point, optax.apply_updates(params, updates), state

    asked: list[np.ndarray] = []
    while len(asked) < queries and unsaddle.optax.outcome(state) is None:
        point, params, state = step(params, state)
        asked.append(np.array(point))
    return np.array(asked)


def _same_noise_in_jax(n: int, patch: Any) -> None:
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    from unsaddle.jax.host import HostOps
    from unsaddle.jax.ops import ops

    numbers = draws(n)
    normals, radius = map(jnp.array, numbers)

    def normal(like: Any, seed: Any, episode: Any) -> Any:
        """In the form of like: a tree, or the one vector that it is packed into."""
        _, unpack = ravel_pytree(like)
        return unpack(normals[episode])

    patch.setattr(ops, "normal", normal)
    patch.setattr(ops, "uniform", lambda like, seed, episode: radius[episode])
    patch.setattr(HostOps, "normal", lambda self, like, seed, episode: numbers[0][episode].copy())
    patch.setattr(HostOps, "uniform", lambda self, like, seed, episode: numbers[1][episode])


def run_jax_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, queries: int, patch: Any
) -> Any:
    """The key of a sample is its number here, and the sample is its key."""
    import jax
    import jax.numpy as jnp

    import unsaddle.jax
    from unsaddle.jax.ops import ops

    _same_noise_in_jax(x.size, patch)
    patch.setattr(ops, "key", lambda seed, first: first)
    asked, note = _recorder()

    @jax.custom_vjp
    def value(point: Any, first: Any) -> Any:
        return 0.0 * point.sum()

    def forward(point: Any, first: Any) -> Any:
        note(jnp.append(point, first))
        return 0.0 * point.sum(), answer(point, first)

    value.defvjp(forward, lambda gradient, weight: (weight * gradient, None))
    solution = unsaddle.jax.minimize_stochastic(
        lambda tree, first: value(jnp.concatenate([tree["a"], tree["b"]]), first),
        {"a": jnp.array(x[: x.size // 2]), "b": jnp.array(x[x.size // 2 :])},
        lambda key, size: key,
        method,
        max_samples=queries,
        **given,
    )
    jax.block_until_ready(solution)
    return np.array(asked[:queries])


def run_optax_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, queries: int, patch: Any
) -> Any:
    import jax
    import jax.numpy as jnp
    import optax

    import unsaddle.optax

    _same_noise_in_jax(x.size, patch)
    tx, cut = unsaddle.optax.sampled(method, **given), x.size // 2
    params = {"a": jnp.array(x[:cut]), "b": jnp.array(x[cut:])}
    state = tx.init(params)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        point, first = jnp.append(params["a"], params["b"]), unsaddle.optax.sample(state)
        gradient = answer(point, first)
        updates, state = tx.update({"a": gradient[:cut], "b": gradient[cut:]}, state, params)
        return jnp.append(point, first), optax.apply_updates(params, updates), state

    asked: list[np.ndarray] = []
    while len(asked) < queries and unsaddle.optax.outcome(state) is None:
        point, params, state = step(params, state)
        asked.append(np.array(point))
    return np.array(asked)


def _recorder() -> tuple[list, Any]:
    """List what a compiled function sees, as bits: callbacks run without double precision."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import io_callback

    asked: list[np.ndarray] = []

    def note(point: Any) -> None:
        bits = jax.lax.bitcast_convert_type(point, jnp.uint32)
        keep = lambda p: asked.append(np.array(p).view(np.float64).ravel())  # noqa: E731
        io_callback(keep, None, bits, ordered=True)

    return asked, note
