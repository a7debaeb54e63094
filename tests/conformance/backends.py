"""How to run a method on each backend and list where it looks. One function per backend."""

from typing import Any

import numpy as np

from tests import sampled
from tests.drive import trace
from unsaddle.methods import find, override
from unsaddle.ops import numpy as numpy_ops
from unsaddle.stochastic import settle

DRAWS = 200  # of noise, that are shared
THEORY = ("smoothness", "hessian_lipschitz", "tol", "decrease_available")


def draws(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the noise that every backend is to use."""
    like = np.zeros(n)
    normal = np.array([numpy_ops.noise(like, 0, j) for j in range(DRAWS)])
    return normal, np.array([numpy_ops.uniform(like, 0, j) for j in range(DRAWS)])


def run_numpy(method: str, f: Any, x: np.ndarray, given: dict, looks: int, patch: Any) -> Any:
    theory = {name: value for name, value in given.items() if name in THEORY}
    options = {name: value for name, value in given.items() if name not in THEORY}
    parameters = override(find(method).from_theory(n=x.size, **theory), options)
    solver = find(method).solver
    start = solver.start(numpy_ops, parameters, x.copy(), 0)
    return trace(solver, parameters, start, f, looks)[0]


def run_torch(method: str, f: Any, x: np.ndarray, given: dict, looks: int, patch: Any) -> Any:
    import torch

    import unsaddle.torch

    parts = _torch_parts(x, patch)
    opt = unsaddle.torch.OPTIMISERS[method]([{"params": [part]} for part in parts], **given)
    asked: list[np.ndarray] = []

    def closure() -> Any:
        point = torch.cat([part.detach() for part in parts])
        asked.append(point.numpy().copy())
        _give(parts, f.gradient(point))
        return f.value(point)

    while opt.outcome is None and len(asked) < looks:
        opt.step(closure)
    return np.array(asked[:looks])


def run_jax(method: str, f: Any, x: np.ndarray, given: dict, looks: int, patch: Any) -> Any:
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
        max_gradients=looks,
        **given,
    )
    jax.block_until_ready(solution)
    return np.array(asked[:looks])


def run_optax(method: str, f: Any, x: np.ndarray, given: dict, looks: int, patch: Any) -> Any:
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
    while len(asked) < looks and unsaddle.optax.outcome(state) is None:
        point, params, state = step(params, state)
        asked.append(np.array(point))
    return np.array(asked)


def _same_noise_in_jax(n: int, patch: Any) -> None:
    import jax.numpy as jnp

    from unsaddle.ops import jax as ops

    normal, radius = map(jnp.array, draws(n))
    cut = n // 2

    def noise(like: Any, seed: Any, episode: Any) -> Any:
        return {"a": normal[episode, :cut], "b": normal[episode, cut:]}

    patch.setattr(ops, "noise", noise)
    patch.setattr(ops, "uniform", lambda like, seed, episode: radius[episode])


def run_numpy_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, looks: int, patch: Any
) -> Any:
    parameters = settle(method, "practical", x.size, *_constants(given))
    solver = find(method).solver
    start = solver.start(numpy_ops, parameters, x.copy(), 0)
    seen = sampled.trace(solver, parameters, start, None, looks, answer=answer)[0]
    return np.array([np.append(point, first) for point, first, _ in seen])


def run_torch_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, looks: int, patch: Any
) -> Any:
    """A step takes one minibatch, whose number is how many were drawn before it."""
    import torch

    import unsaddle.torch

    parts = _torch_parts(x, patch)
    opt = unsaddle.torch.OPTIMISERS[method](parts, **given)
    asked: list[np.ndarray] = []
    while opt.outcome is None and len(asked) < looks:
        first = opt.drawn

        def closure(first: int = first) -> None:
            point = torch.cat([part.detach() for part in parts])
            asked.append(np.append(point.numpy(), first))
            _give(parts, torch.as_tensor(answer(point.numpy(), first)))

        opt.step(closure)
    return np.array(asked[:looks])


def run_jax_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, looks: int, patch: Any
) -> Any:
    """The key of a sample is its number here, and the sample is its key."""
    import jax
    import jax.numpy as jnp

    import unsaddle.jax
    from unsaddle.ops import jax as ops

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
        max_samples=looks,
        **given,
    )
    jax.block_until_ready(solution)
    return np.array(asked[:looks])


def run_optax_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, looks: int, patch: Any
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
    while len(asked) < looks and unsaddle.optax.outcome(state) is None:
        point, params, state = step(params, state)
        asked.append(np.array(point))
    return np.array(asked)


def _constants(given: dict) -> tuple[dict, None, dict]:
    """Take the constants of a function and the options of a method apart."""
    names = ("radius", "window", "probes", "batch", "search_batch", "check_batch")
    options = {name: given[name] for name in names if name in given}
    rest = {name: value for name, value in given.items() if name not in options}
    rho, tol = rest["hessian_lipschitz"], rest["tol"]
    return {"curvature_tol": (rho * tol) ** 0.5, "failure_probability": 1e-3, **rest}, None, options


def _torch_parts(x: np.ndarray, patch: Any) -> list:
    """Two parameters, and the noise that NumPy has."""
    import torch

    from unsaddle.ops import torch as ops

    normal, radius = draws(x.size)
    cut = x.size // 2

    def noise(like: Any, seed: int, episode: int) -> Any:
        drawn = torch.tensor(normal[episode])
        return [drawn[:cut].clone(), drawn[cut:].clone()]

    patch.setattr(ops, "noise", noise)
    patch.setattr(ops, "uniform", lambda like, seed, episode: float(radius[episode]))
    return [torch.nn.Parameter(torch.tensor(part)) for part in (x[:cut], x[cut:])]


def _give(parts: list, gradient: Any) -> None:
    cut = parts[0].numel()
    parts[0].grad, parts[1].grad = gradient[:cut].clone(), gradient[cut:].clone()


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
