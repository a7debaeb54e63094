"""``minimize``, ``certify`` and the like as pure functions on pytrees.

Everything here traces: it may stand under ``jax.jit``, and under ``jax.vmap`` over starts and over
seeds. Each phase has a ``while_loop`` of its own inside an outer one, so that no loop carries a
conditional; under ``vmap`` the members of a batch wait for each other phase by phase.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("unsaddle.jax needs JAX: pip install 'unsaddle[jax]'") from error

from unsaddle import asked
from unsaddle.descents.gd import gd
from unsaddle.escapes.nc import SEARCH
from unsaddle.escapes.sounding import FIRST, SOUNDING
from unsaddle.escapes.steady import STEADY
from unsaddle.escapes.window import window
from unsaddle.hints import MANY, SEARCHED, TRACED, knowing
from unsaddle.kernel import (
    BEGIN,
    ENDS,
    Outcome,
    Parameters,
    compose,
)
from unsaddle.loops import (
    Request,
    Solution,
    confirm,
    drive,
    first_state,
    follow,
    rest,
    status,
    unconfirmed,
)
from unsaddle.methods import STOCHASTIC, find
from unsaddle.ops import jax as ops
from unsaddle.result import STATUS
from unsaddle.sampled import minimize_stochastic
from unsaddle.search import (
    SEARCHES,
    mirror,
    refutes,
    steep,
    steps,
    told,
    wanted,
)
from unsaddle.trees import Tree, alike, fixed, function, most, number, several, tree, whole
from unsaddle.verdict import Verdict, read
from unsaddle.words import nearest

__all__ = [
    "Many", "Solution", "Verdict", "certify", "find_negative_curvature", "minimize",
    "minimize_many", "minimize_stochastic",
]  # fmt: skip

ENDED = (*ENDS.values(), Outcome.REFUTED)  # where x is the run's, whatever its value


class Many(NamedTuple):
    """All runs of a batch, and the best of them."""

    all: Solution
    best: Solution


def minimize(
    fun: Callable[..., Any],
    x0: Tree,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    tol: float = 1e-5,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: Any = 0,
    max_gradients: Any = None,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
    decrease_available: float | None = None,  # Delta_f
    **options: float,
) -> Solution:
    """Find a point with a small gradient and no negative curvature to speak of.

    Args:
        fun: The function ``fun(x, *args)``, which JAX can differentiate.
        x0: Where to start: any pytree of floats.
        args: Further arguments of fun: any pytrees; new ones of the same shapes do not recompile.
        method: A name from ``unsaddle methods``; "auto" needs no constants.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify: lambda_min > -curvature_tol. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate over the whole run.
        seed: All randomness is a function of it; may be traced.
        max_gradients: Stop before one gradient more than this; may be traced.
        smoothness: Bound on the Hessian's norm; the ``auto`` ones can do without.
        hessian_lipschitz: Lipschitz constant of the Hessian; the ``auto`` ones can do without.
        decrease_available: Bound on fun(x0) - min fun; needed by pgd and pagd only.
        **options: Single hyperparameters of the method, in place of the paper's.

    Returns:
        The solution. Where the run did not end by itself (budget, or NaN), x is the lower of the
        last iterate and x0, and of these the finite one.
    """
    x0 = tree(x0, "x0")
    request = _request(
        TRACED, method, x0, smoothness, hessian_lipschitz,
        tol, curvature_tol, failure_probability, decrease_available, **options,
    )  # fmt: skip
    return _solve(function(fun), request, x0, several(args), whole(seed), most(max_gradients))


def minimize_many(
    fun: Callable[..., Any],
    starts: Tree,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    seeds: Any = None,
    max_gradients: Any = None,
    **given: Any,
) -> Many:
    """Run ``minimize`` from many starts, or with many seeds, in one compiled call.

    Args:
        fun: As for ``minimize``.
        starts: Start points, stacked along a first axis; of length one to use one for all seeds.
        args: As for ``minimize``, the same for all runs.
        method: As for ``minimize``.
        seeds: One per start, or any number for one start; 0, 1, 2, ... if not given.
        max_gradients: As for ``minimize``, of each run.
        **given: What else ``minimize`` takes, such as smoothness.

    Returns:
        All solutions, with a first axis, and the best: the lowest of the certified ones, or of all
        where none is certified.

    Raises:
        ValueError: If the numbers of starts and seeds do not fit.
    """
    starts = tree(starts, "starts")
    counts = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves(starts)}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(
            f"starts must be stacked along a first axis, got lengths {sorted(counts)}; "
            "pass jax.tree.map(lambda *leaves: jnp.stack(leaves), x0, x1, ...)"
        )
    (count,) = counts
    seeds = jnp.arange(count) if seeds is None else jnp.asarray(seeds)
    if seeds.ndim != 1 or (count not in (1, seeds.size)):
        raise ValueError(
            f"seeds must be one per start, got shape {seeds.shape} for {count} starts; "
            f"pass seeds=jnp.arange({count})"
        )
    if count != seeds.size:
        starts = jax.tree.map(lambda u: jnp.broadcast_to(u, (seeds.size, *u.shape[1:])), starts)
    request = _request(MANY, method, jax.tree.map(lambda u: u[0], starts), **given)
    return _solve_many(function(fun), request, starts, several(args), seeds, most(max_gradients))


@knowing(SEARCHED)
def certify(
    grad: Callable[..., Tree],
    x: Tree,
    args: tuple[Any, ...] = (),
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: Any = 0,
    max_gradients: Any = None,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
) -> Verdict:
    """Certify that the Hessian at x has no eigenvalue below -curvature_tol, or find one.

    Args:
        grad: The gradient ``grad(x, *args)``, such as ``jax.grad(fun)``, made once: another
            function, as every call of ``jax.grad`` gives one, is compiled anew.
        x: Any point; that the gradient is small there is for the caller to see.
        args: Further arguments of grad.
        curvature_tol: The gamma to certify; 1e-4 of the curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it; may be traced.
        max_gradients: Stop before one gradient more than this; may be traced.
        smoothness: Bound on the Hessian's norm, if it is known.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise; both are then trusted.

    Returns:
        The verdict; ``.certificate()`` gives it in words.
    """
    return find_negative_curvature(
        grad, x, args, "anc", curvature_tol, failure_probability, seed, max_gradients,
        smoothness=smoothness, hessian_lipschitz=hessian_lipschitz,
    )  # fmt: skip


@knowing(SEARCHED)
def find_negative_curvature(
    grad: Callable[..., Tree],
    x: Tree,
    args: tuple[Any, ...] = (),
    method: str = "anc",
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: Any = 0,
    max_gradients: Any = None,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
) -> Verdict:
    """Search for a direction of negative curvature at x with a search of one's choice.

    Args:
        grad: The gradient ``grad(x, *args)``, such as ``jax.grad(fun)``.
        x: Any point.
        args: Further arguments of grad.
        method: ``anc`` (accelerated) or ``nc``.
        curvature_tol: The search ends at half of this, or when there is none; see ``certify``.
        failure_probability: Chance that "there is none" is wrong.
        seed: All randomness is a function of it; may be traced.
        max_gradients: Stop before one gradient more than this; may be traced.
        smoothness: Bound on the Hessian's norm, if it is known.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise; both are then trusted.

    Returns:
        The verdict, with ``direction`` where negative curvature was found.

    Raises:
        ValueError: If an argument is out of range; the message names it.
    """
    if method not in SEARCHES:
        raise ValueError(f"method {method!r} is unknown; {nearest(method, SEARCHES)}")
    failure_probability = fixed("failure_probability", failure_probability)
    if not 0 < failure_probability <= 1:
        raise ValueError(f"failure_probability must be in (0, 1], got {failure_probability!r}")
    words = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "curvature_tol": curvature_tol,
    }
    words = {name: fixed(name, given) for name, given in words.items()}
    for name, given in words.items():
        if given is not None and not given > 0:
            raise ValueError(f"{name} must be positive or None, got {given!r}")
    constants = (*words.values(), failure_probability)
    given = tree(x, "x"), several(args), whole(seed), most(max_gradients)
    return _find(function(grad, "grad"), method, constants, *given)


@partial(jax.jit, static_argnums=(0, 1))
def _solve(
    fun: Callable[..., Any], request: Request, x0: Tree, args: Any, seed: Any, limit: Any
) -> Solution:
    solver, parameters = find(request.method).solver, request.parameters
    state = first_state(solver, parameters, x0, seed)

    def value(x: Tree) -> Any:
        return number(fun(x, *args), state.tolerance.dtype)

    grad = jax.grad(value)
    ran = drive(solver.phases, parameters, value, grad, rest(state), limit)
    x = ran.state.x
    checked, verdict = confirm(request, grad, ran, limit)
    if hasattr(ran.state.escape, "sight"):
        claim = request.curvature_tol, request.failure_probability
        own = read(ran.state, *claim, steps(ran.state.escape))
        later = unconfirmed(ran.state)
        verdict = jax.tree.map(lambda u, v: jnp.where(later, u, v), verdict, own)
    outcome = status(ran, checked, verdict.holds)
    here, there = value(x), value(x0)
    ended = jnp.isin(outcome, jnp.array([STATUS[outcome] for outcome in ENDED]))
    keep = ended | jnp.isfinite(here) & jnp.isfinite(ops.norm(x)) & ~(there < here)
    at, best = ops.switch(keep, x, x0), jnp.where(keep, here, there)
    return Solution(at, best, outcome, verdict, ran.values + 2, checked.gradients)


@partial(jax.jit, static_argnums=(0, 1))
def _solve_many(
    fun: Callable[..., Any], request: Request, starts: Tree, args: Any, seeds: Any, limit: Any
) -> Many:
    runs = jax.vmap(lambda x, seed: _solve(fun, request, x, args, seed, limit))(starts, seeds)
    value = jnp.where(jnp.isnan(runs.fun), jnp.inf, runs.fun)
    among = jnp.where(runs.success.any(), jnp.where(runs.success, value, jnp.inf), value)
    best = jnp.argmin(among)
    return Many(runs, jax.tree.map(lambda leaf: leaf[best], runs))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _find(
    grad: Callable[..., Tree], method: str, constants: Any, x: Tree, args: Any, seed: Any,
    limit: Any,
) -> Verdict:  # fmt: skip
    smoothness, hessian_lipschitz, curvature_tol, failure_probability = constants

    def look(point: Tree) -> Tree:
        return alike(grad(point, *args), x)

    given = curvature_tol, failure_probability, smoothness, hessian_lipschitz
    part, sought, codes = window, wanted(*given), (BEGIN, *SOUNDING)
    if smoothness and hessian_lipschitz:
        part, sought = SEARCHES[method], told(ops, method, x, *given)
        codes = (BEGIN, SEARCH)
    elif method == "anc":
        codes += (FIRST, SEARCH, *STEADY)
    parameters, solver = Parameters(0.0, None, sought), compose(gd, part)
    state = first_state(solver, parameters, x, seed, phase=BEGIN)
    carry = rest(state)._replace(gradient=look(x), gradients=jnp.array(1))
    phases = {code: solver.phases[code] for code in codes}
    ran = drive(phases, parameters, None, look, carry, limit)
    if method == "nc" and part is window:
        ran = follow(ran, look, carry.gradient, constants, seed, limit)
    bent, ends = refutes(ran.state), ran.gradients + 2 <= limit
    state = jax.lax.cond(bent & ends, lambda s: mirror(ops, look, s), lambda s: s, ran.state)
    state = state._replace(phase=jnp.where(bent & ~ends, SEARCH, state.phase))
    spent = ran.gradients + jnp.where(bent & ends, 2, 0)
    found = read(state, sought.curvature_tol, failure_probability, spent)
    return found._replace(steep=steep(ops, found.gradient_norm, found.largest, x))


def _request(
    hints: Mapping[str, str],
    method: str,
    x: Tree,
    smoothness: float | None = None,
    hessian_lipschitz: float | None = None,
    tol: float = 1e-5,
    curvature_tol: float | None = None,
    failure_probability: float = 1e-3,
    decrease_available: float | None = None,
    **options: float,
) -> Request:
    if method in STOCHASTIC:
        raise ValueError(
            f"method {method!r} takes a function that is known from samples only: "
            f"call unsaddle.jax.minimize_stochastic(fun, x0, samples, method={method!r}, ...)"
        )
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "decrease_available": decrease_available,
    }
    constants = {name: fixed(name, given) for name, given in constants.items()}
    smoothness, hessian_lipschitz, tol, curvature_tol, failure_probability, _ = constants.values()
    words = method, find(method), ops.size(x), constants, options, minimize, hints
    parameters = asked.parameters(*words)
    known = float(smoothness or 0.0), float(hessian_lipschitz or 0.0)
    gamma = curvature_tol or math.sqrt(known[1] * tol)
    return Request(method, parameters, *known, gamma, failure_probability)
