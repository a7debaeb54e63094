"""``minimize_stochastic`` on JAX: the same key gives the same sample again.

The samples from number ``first`` on have the key ``ops.key(seed, first)``, whatever was drawn
before: to look at the same sample at another point is to use the same key.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from unsaddle.kernel import JUMP_FAILED
from unsaddle.loops import Request, Solution, confirm, drive, first_state, rest, status
from unsaddle.methods import find
from unsaddle.ops import jax as ops
from unsaddle.sampling import FiniteSum
from unsaddle.stochastic import BATCHES, concentrated, settle
from unsaddle.trees import Tree, function, most, number, tree, whole
from unsaddle.verdict import Verdict, read

MOST = 2**31 - 1  # samples that can be counted


def minimize_stochastic(
    fun: Callable[..., Any],
    x0: Tree,
    samples: Any,
    method: str = "sgd+nc",
    tol: float = 1e-2,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: Any = 0,
    max_samples: Any = None,
    *,
    smoothness: float = math.nan,  # l
    hessian_lipschitz: float = math.nan,  # rho
    stochastic_smoothness: float = math.nan,  # lt
    variance: float = math.nan,  # sigma^2
    decrease_available: float | None = None,  # Delta_f
    preset: str = "practical",
    **options: float,
) -> Solution:
    """Find a point with a small gradient and no negative curvature to speak of, from samples.

    Args:
        fun: ``fun(x, batch)``, the mean over a batch, which JAX can differentiate.
        x0: Where to start: any pytree of floats.
        samples: ``samples(key, size)`` gives a batch of that many independent samples; or the data
            themselves, a pytree of arrays with one row per sample, drawn with replacement.
        method: ``sgd+nc`` or ``psgd``.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify: lambda_min > -curvature_tol. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate, and of an error in each trial.
        seed: All randomness, of noise and samples, is a function of it; may be traced.
        max_samples: Stop before one gradient of one sample more than this; may be traced.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        stochastic_smoothness: Bound on the norm of every single sample's Hessian.
        variance: Of the gradient of one sample: the mean of |g(x; theta) - g(x)|^2.
        decrease_available: Bound on f(x0) - min f; needed by the printed preset only.
        preset: ``practical``, or ``printed`` for the parameters of the papers.
        **options: Single hyperparameters of the method, in place of the preset's.

    Returns:
        The solution; ``gradients`` counts those of single samples. ``fun`` and ``verdict`` are over
        all the data, or over fresh samples in a number that the verdict accounts for; ``success``
        is true only if the gradient over them is within tol too.

    Raises:
        ValueError: If an argument is out of range; the message names it.
    """
    x0 = tree(x0, "x0")
    if method == "psgd" and max_samples is None:
        raise ValueError("max_samples is missing: psgd never ends by itself; pass max_samples=...")
    n, gamma = ops.size(x0), curvature_tol or math.sqrt(max(hessian_lipschitz * tol, 0.0))
    given = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "stochastic_smoothness": stochastic_smoothness,
        "variance": variance,
        "tol": tol,
        "curvature_tol": gamma,
        "failure_probability": failure_probability,
    }
    source = None if callable(samples) else FiniteSum(fun, *jax.tree.leaves(samples))
    parameters = settle(method, preset, n, given, decrease_available, options, source)
    rows = None if source is None else source.rows
    many = rows or concentrated(stochastic_smoothness, gamma / 2, failure_probability / 2, n)
    sizes = {**parameters.descent._asdict(), **parameters.escape._asdict(), "certificate": many}
    for name in (*BATCHES, "certificate"):
        if sizes.get(name, 0) > MOST:
            raise ValueError(
                f"{name} takes {sizes[name]:.3g} samples, more than can be counted on JAX "
                f"({MOST}): pass a larger tol or curvature_tol, or preset='practical'"
            )
    exact = rows is not None
    request = Request(
        method,
        parameters,
        float(smoothness),
        float(hessian_lipschitz),
        gamma if exact else gamma / 2,
        failure_probability if exact else failure_probability / 2,
    )
    drawer, data = (samples, None) if callable(samples) else (rows, samples)
    given = x0, data, whole(seed), most(max_samples)
    return _solve(function(fun), request, drawer, int(many), float(tol), *given)


@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _solve(
    fun: Callable[..., Any], request: Request, drawer: Any, many: int, tol: float, x0: Tree,
    data: Any, seed: Any, limit: Any,
) -> Solution:  # fmt: skip
    solver, exact = find(request.method).solver, not callable(drawer)
    state = first_state(solver, request.parameters, x0, seed)

    def value(x: Tree, batch: Any) -> Any:
        return number(fun(x, batch), state.tolerance.dtype)

    def draw(seed: Any, first: Any, size: int) -> Any:
        if callable(drawer):
            return drawer(ops.key(seed, first), size)
        if size == drawer:
            return data
        chosen = jax.random.randint(ops.key(seed, first), (size,), 0, drawer)
        return jax.tree.map(lambda rows: rows[chosen], data)

    grad = jax.grad(value)
    ran = drive(solver.phases, request.parameters, None, grad, rest(state), limit, draw)
    frozen = draw(seed, ran.state.drawn, many)
    checked, verdict = confirm(request, grad, ran, limit, (many, frozen))
    verdict = _widened(verdict, 0.0 if exact else request.curvature_tol, 1 if exact else 2)
    arrived = (verdict.holds != 1) | (ops.norm(checked.state.escape.gradient) <= tol)
    verdict = verdict._replace(holds=jnp.where(arrived, verdict.holds, -1))
    if hasattr(ran.state.escape, "sight"):
        asked = request.parameters.escape
        claim = asked.curvature_tol, asked.failure_probability
        own = read(ran.state, *claim, ran.state.escape.steps)
        own = own._replace(failure_probability=jnp.full_like(own.failure_probability, claim[1]))
        failed = ran.state.phase == JUMP_FAILED
        verdict = jax.tree.map(lambda u, v: jnp.where(failed, u, v), own, verdict)
    here, outcome = value(ran.state.x, frozen), status(ran, checked, verdict.holds)
    return Solution(ran.state.x, here, outcome, verdict, ran.values + 1, checked.gradients)


def _widened(claim: Verdict, error: float, times: int) -> Verdict:
    """Turn a verdict over a fixed sample into one of the function that it was drawn from."""
    bend, tol = claim.curvature + error, claim.curvature_tol + error
    holds = jnp.where((claim.holds == 0) & (bend > -tol / 2), -1, claim.holds)
    return claim._replace(
        holds=holds,
        curvature_tol=tol,
        asked=claim.asked + error,
        failure_probability=jnp.minimum(1.0, claim.failure_probability * times),
        curvature=bend,
        direction=ops.scale(jnp.where(holds == 0, 1.0, 0.0), claim.direction),
    )
