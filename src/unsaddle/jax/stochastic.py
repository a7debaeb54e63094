"""``minimize_stochastic`` on JAX: the same key gives the same sample again.

The samples from number ``first`` on have the key ``ops.key(seed, first)``, whatever was drawn
before: to query the same sample at another point is to use the same key.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple, Unpack

import jax
import jax.numpy as jnp

from unsaddle import messages
from unsaddle.core import evidence
from unsaddle.core.evidence import Claim
from unsaddle.core.kernel import Parameters
from unsaddle.core.phases import CERTIFIED, EXACT, START, UNCERTIFIED, PhaseName
from unsaddle.jax import inputs
from unsaddle.jax.compiled import compiled
from unsaddle.jax.inputs import BATCHES, LARGEST, Tree
from unsaddle.jax.loop import Carry, Oracle, Run, first_state, rest, status
from unsaddle.jax.ops import ops
from unsaddle.jax.processes import agree
from unsaddle.jax.solution import Solution, Verdict
from unsaddle.methods.checks import one_of
from unsaddle.methods.constants import DEFAULTS, SampledGiven, spelled
from unsaddle.methods.stochastic_theory import concentrated
from unsaddle.methods.table import STOCHASTIC, find, parameters_of

TOL = 1e-2  # if it is not given


class Request(NamedTuple):
    """What is fixed when a run is compiled."""

    method: str
    parameters: Parameters
    tol: float  # eps
    beyond: float  # the part of gamma that goes to what the proof's sample does not show
    times: float  # delta, in those that the proof has
    samples: int  # that the value at the end is taken over


@spelled(tol=TOL)
def minimize_stochastic(
    fun: Callable[..., Any],
    x0: Tree,
    samples: Any,
    method: str = "sgd+nc",
    seed: Any = 0,
    max_samples: Any = None,
    **given: Unpack[SampledGiven],
) -> Solution:
    """Find a point with a small gradient and no curvature below -curvature_tol, from samples.

    Args:
        fun: ``fun(x, batch)``, the mean over a batch, which JAX can differentiate.
        x0: Where to start: any pytree of floats.
        samples: ``samples(key, size)`` gives a batch of that many independent samples; or the data
            themselves, a pytree of arrays with one row per sample, drawn with replacement.
        method: ``sgd+nc``, ``neon2-online``, ``spider+``, ``sharp-sgd`` or ``psgd``.
        seed: All randomness, of noise and samples, is a function of it; may be traced.
        max_samples: The run stops before it takes more gradients of single samples; may be traced.
        **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
            hyperparameters of the method, in place of the preset's; all of them are compiled in.

    Returns:
        The solution; ``gradients`` counts those of single samples. ``fun`` and ``verdict`` are over
        all the data, or over fresh samples in a number that the verdict accounts for; ``success``
        is true only if the gradient over them is within tol too.

    Raises:
        ValueError: If an argument is out of range; the message names it.
    """
    x0 = inputs.tree(x0, "x0")
    one_of("method", method, STOCHASTIC)
    if method == "psgd" and max_samples is None:
        raise ValueError("max_samples is missing: psgd never ends by itself; pass max_samples=...")
    words: dict[str, Any] = {"tol": TOL, **inputs.fixed(**given)}
    rows = 0 if callable(samples) else inputs.rows_of(samples, words)
    drawer, data = (samples, None) if callable(samples) else (rows, samples)
    request = _request(method, ops.size(x0), words, rows)
    limit = inputs.most("max_samples", max_samples)
    fun, seed = inputs.function(fun), inputs.whole(seed)
    agree((x0, data), fun, settings=request, seed=seed, max_samples=limit)
    return _solve(fun, request, drawer, x0, data, seed, limit)


def _request(method: str, n: int, words: dict[str, Any], rows: int) -> Request:
    """Turn words into parameters, and refuse what cannot be counted."""
    parameters = parameters_of(method, n, words, minimize_stochastic, messages.TRACED, rows)
    gamma = words.get("curvature_tol") or sqrt(words["hessian_lipschitz"] * words["tol"])
    delta = words.get("failure_probability", DEFAULTS["failure_probability"])
    smoothness = words["stochastic_smoothness"]
    many = rows or concentrated(smoothness, gamma / 2, delta / 2, n)
    sizes = {**parameters.descent._asdict(), **parameters.escape._asdict(), "certificate": many}
    for name in (*BATCHES, "certificate"):
        if sizes.get(name, 0) > LARGEST:
            raise ValueError(
                f"{name} takes {sizes[name]:.3g} samples, more than can be counted on JAX "
                f"({LARGEST}): pass a larger tol or curvature_tol, or preset='practical'"
            )
    beyond = gamma - parameters.curvature_tol
    times = delta / parameters.failure_probability
    return Request(method, parameters, float(words["tol"]), beyond, times, many)


@compiled(static=3)
def _solve(
    fun: Callable[..., Any], request: Request, drawer: Any, x0: Tree, data: Any, seed: Any,
    limit: Any,
) -> Solution:  # fmt: skip
    solver, parameters = find(request.method).solver, request.parameters
    state = first_state(solver, parameters, x0, seed)

    def value(x: Tree, batch: Any) -> Any:
        return inputs.number(fun(x, batch), state.tolerance.dtype)

    def draw(seed: Any, first: Any, size: int) -> Any:
        if callable(drawer):
            return drawer(ops.key(seed, first), size)
        if size == drawer:
            return data
        chosen = jax.random.randint(ops.key(seed, first), (size,), 0, drawer)
        return jax.tree.map(lambda rows: rows[chosen], data)

    sampled = {
        code: phase
        for code, phase in solver.phases.items()
        if phase.sample != EXACT or not phase.needs  # all that a function of samples can answer
    }
    oracle = Oracle(gradient=jax.grad(value), draw=draw)
    ran = Run(sampled, parameters, oracle, limit).drive(rest(state))
    claim = evidence.read(ops, parameters, ran.state, ran.gradients - ran.began)
    ran, claim = _judged(request, ran, claim)
    drawn = ran.state.drawn - jnp.where(ran.state.proving, request.samples, 0)
    here = value(ran.state.x, draw(seed, drawn, request.samples))
    verdict, end = Verdict(*claim), status(ran, claim)
    return Solution(ran.state.x, here, end, verdict, ran.values + 1, ran.gradients)


def _judged(request: Request, ran: Carry, claim: Claim) -> tuple[Carry, Claim]:
    """Turn a claim over the sample of the proof into one of the function it was drawn from."""
    own = (claim.phase != START) & ~ran.state.proving  # of the search itself: it is one already
    error = jnp.where(own, 0.0, request.beyond)
    risk = jnp.minimum(1.0, claim.failure_probability * request.times)
    tested = request.parameters.failure_probability * request.times
    curvature, gamma = claim.curvature + error, claim.curvature_tol + error
    lost = ~own & (claim.holds == 0) & (curvature > -gamma / 2)
    steep = (claim.holds == 1) & ~(claim.gradient_norm <= request.tol)
    holds = jnp.where(lost | steep, -1, claim.holds)
    phase = ran.state.phase
    decided = (phase == CERTIFIED) | (phase == PhaseName.NEGATIVE_CURVATURE)
    end = jnp.where(decided & (holds < 0), UNCERTIFIED, phase)
    claim = claim._replace(
        holds=holds,
        curvature_tol=gamma,
        asked=claim.asked + error,
        failure_probability=jnp.where(own & (holds == 0), tested, risk),
        curvature=curvature,
        direction=ops.scale(jnp.where(holds == 0, 1.0, 0.0), claim.direction),
    )
    return ran._replace(state=ran.state._replace(phase=end)), claim
