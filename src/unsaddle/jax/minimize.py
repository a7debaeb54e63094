"""``minimize`` and ``minimize_many`` as pure functions on pytrees."""

import logging
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Unpack

import jax
import jax.numpy as jnp

from unsaddle import messages
from unsaddle.certificate import ending
from unsaddle.core import evidence
from unsaddle.core.events import log
from unsaddle.core.kernel import Parameters
from unsaddle.core.outcome import ENDS, STATUS
from unsaddle.jax import host, inputs
from unsaddle.jax.compiled import compiled
from unsaddle.jax.inputs import Tree
from unsaddle.jax.loop import Oracle, Run, first_state, rest, status
from unsaddle.jax.ops import ops
from unsaddle.jax.processes import agree
from unsaddle.jax.solution import Many, Solution, Verdict
from unsaddle.methods.constants import Given, spelled
from unsaddle.methods.table import STOCHASTIC, find, parameters_of


@spelled()
def minimize(
    fun: Callable[..., Any],
    x0: Tree,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    seed: Any = 0,
    max_gradients: Any = None,
    hessp: bool = False,
    **given: Unpack[Given],
) -> Solution:
    """Find a point with a small gradient and no curvature below -curvature_tol.

    Args:
        fun: The function ``fun(x, *args)``, which JAX can differentiate.
        x0: Where to start: any pytree of floats.
        args: Further arguments of fun: any pytrees; new ones of the same shapes do not recompile.
        method: A name from ``unsaddle methods``; "auto" needs no constants.
        seed: All randomness is a function of it; may be traced.
        max_gradients: The run stops before it takes more gradients than this; may be traced.
        hessp: Whether searches take exact products with the Hessian, by forward-over-reverse, in
            place of differences; each costs two to three gradients, and counts as one.
        **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
            hyperparameters of the method, in place of the paper's; all of them are compiled in.

    Returns:
        The solution. Where the run did not end by itself (budget, NaN, or Ctrl-C), x is the lower
        of the last iterate and x0, and of these the finite one.
    """
    x0 = inputs.tree(x0, "x0")
    parameters = _parameters(method, x0, given, minimize, messages.TRACED)
    parameters = parameters._replace(products=inputs.switch("hessp", hessp))
    limit = inputs.most("max_gradients", max_gradients)
    settings = inputs.function(fun), method, parameters, inputs.on_one_device()
    problem = x0, inputs.several(args), inputs.whole(seed), limit
    same = {"method": method, "settings": parameters, "seed": seed, "max_gradients": limit}
    agree(problem[:2], fun, **same)
    solution = host.either(_solve_on_host, _solve, settings, problem)
    if log.isEnabledFor(logging.INFO) and not isinstance(solution.status, inputs.Tracer):
        log.info(ending(solution.outcome.name.lower(), solution.certificate))
    return solution


@spelled()
def minimize_many(
    fun: Callable[..., Any],
    starts: Tree,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    seeds: Any = None,
    max_gradients: Any = None,
    **given: Unpack[Given],
) -> Many:
    """Run ``minimize`` from many starts, or with many seeds, in one compiled call.

    Args:
        fun: As for ``minimize``.
        starts: Start points, stacked along a first axis; of length one to use one for all seeds.
        args: As for ``minimize``, the same for all runs.
        method: As for ``minimize``.
        seeds: One per start, or any number for one start; 0, 1, 2, ... if not given.
        max_gradients: As for ``minimize``, of each run.
        **given: As for ``minimize``.

    Returns:
        All solutions, with a first axis, and the best: the lowest of the certified ones, or of all
        where none is certified.

    Raises:
        ValueError: If the numbers of starts and seeds do not fit.
    """
    starts = inputs.tree(starts, "starts")
    counts = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves(starts)}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(
            f"starts must be stacked along a first axis, got lengths {sorted(counts)}; "
            "pass jax.tree.map(lambda *leaves: jnp.stack(leaves), x0, x1, ...)"
        )
    (count,) = counts
    seeds = inputs.several_seeds(seeds, count)
    if count != seeds.size:
        starts = jax.tree.map(lambda u: jnp.broadcast_to(u, (seeds.size, *u.shape[1:])), starts)
    one = jax.tree.map(lambda u: u[0], starts)
    parameters = _parameters(method, one, given, minimize_many, messages.MANY)
    limit = inputs.most("max_gradients", max_gradients)
    settings = inputs.function(fun), method, parameters, inputs.on_one_device()
    args = inputs.several(args)
    same = {"method": method, "settings": parameters, "seeds": seeds, "max_gradients": limit}
    agree((starts, args), fun, **same)
    return _solve_many(*settings, starts, args, seeds, limit)


def _parameters(
    method: str,
    x: Tree,
    given: Mapping[str, Any],
    caller: Callable[..., Any],
    elsewhere: Mapping[str, str],
) -> Parameters:
    """Give the parameters of a method that takes the function itself."""
    find(method)
    if method in STOCHASTIC:
        raise ValueError(
            f"method {method!r} takes a function that is known from samples only: "
            f"call unsaddle.jax.minimize_stochastic(fun, x0, samples, method={method!r}, ...)"
        )
    return parameters_of(method, ops.size(x), inputs.fixed(**given), caller, elsewhere)


def _solve_on_host(
    fun: Callable[..., Any], method: str, parameters: Parameters, packs: bool, x0: Tree, args: Any,
    seed: Any, limit: Any,
) -> Solution:  # fmt: skip
    oracle = host.of_function(fun, args)
    run = host.Run(find(method).solver, parameters, x0, seed, oracle, limit)
    cut = run.go()
    x, start, known = run.state.x, run.start, run.known
    here, there = run.value_at(x), run.value_at(start)
    stays = run.over or (isfinite(here) and known.finite(x) and not there < here)
    searched = run.gradients - run.began, run.products - run.began_products
    claim = evidence.read(known, parameters, run.state, *searched)
    outcome = cut or ENDS[evidence.phase_told(known, run.state, claim.coarser)]
    claim = claim._replace(direction=host.unpacked(claim.direction, x0))
    best, value = (x, here) if stays else (start, there)
    counts = run.values + 2, run.gradients, run.products
    solution = host.unpacked(best, x0), value, STATUS[outcome], Verdict(*claim), *counts
    return host.arrays(Solution(*solution), x.dtype)


@compiled(static=4)
def _solve(
    fun: Callable[..., Any], method: str, parameters: Parameters, packs: bool, x0: Tree, args: Any,
    seed: Any, limit: Any,
) -> Solution:  # fmt: skip
    solver = find(method).solver
    start, _, unpack = inputs.packed(x0, packs)
    state = first_state(solver, parameters, start, seed)

    def value(x: Tree) -> Any:
        return inputs.number(fun(unpack(x), *args), state.tolerance.dtype)

    run = Run(solver.phases, parameters, Oracle(value, jax.grad(value)), limit)
    ran = run.drive(rest(state))
    x = ran.state.x
    here, there = jax.lax.map(value, jax.tree.map(lambda *u: jnp.stack(u), x, start))
    ended = ran.finite & (ran.state.phase < 0)
    stays = ended | jnp.isfinite(here) & jnp.isfinite(ops.norm(x)) & ~(there < here)
    searched = ran.gradients - ran.began, ran.products - ran.began_products
    claim = evidence.read(ops, parameters, ran.state, *searched)
    claim = claim._replace(direction=unpack(claim.direction))
    return Solution(
        x=unpack(ops.switch(stays, x, start)),
        fun=jnp.where(stays, here, there),
        status=status(ran, claim),
        verdict=Verdict(*claim),
        values=ran.values + 2,
        gradients=ran.gradients,
        products=ran.products,
    )


@compiled(static=4)
def _solve_many(
    fun: Callable[..., Any], method: str, parameters: Parameters, packs: bool, starts: Tree,
    args: Any, seeds: Any, limit: Any,
) -> Many:  # fmt: skip
    def one(x: Tree, seed: Any) -> Solution:
        return _solve(fun, method, parameters, packs, x, args, seed, limit)

    runs = jax.vmap(one)(starts, seeds)
    value = jnp.where(jnp.isnan(runs.fun), jnp.inf, runs.fun)
    among = jnp.where(runs.success.any(), jnp.where(runs.success, value, jnp.inf), value)
    best = jnp.argmin(among)
    return Many(runs, jax.tree.map(lambda leaf: leaf[best], runs))
