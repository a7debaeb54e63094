"""``certify`` and ``find_negative_curvature`` as pure functions on pytrees."""

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import jax.numpy as jnp

from unsaddle import messages
from unsaddle.core import evidence
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import PROVE, START, PhaseName
from unsaddle.jax import host, inputs
from unsaddle.jax.compiled import compiled
from unsaddle.jax.inputs import Tree
from unsaddle.jax.loop import Oracle, Run, first_state, rest
from unsaddle.jax.ops import ops
from unsaddle.jax.processes import agree
from unsaddle.jax.solution import Verdict
from unsaddle.methods.constants import spelled
from unsaddle.methods.search import search


class SearchOptions(TypedDict, total=False):
    """The words of a search at one point that are given by name only."""

    smoothness: float | None  # l
    hessian_lipschitz: float | None  # rho
    gradient_noise: float | None
    probe_radius: float | None
    hessp: bool


@messages.knowing(messages.SEARCHED_TRACED)
@spelled(hessp=False)
def certify(
    grad: Callable[..., Tree],
    x: Tree,
    args: tuple[Any, ...] = (),
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: Any = 0,
    max_gradients: Any = None,
    **options: Unpack[SearchOptions],
) -> Verdict:
    """Certify that the Hessian at x has no eigenvalue below -curvature_tol, or find one.

    Args:
        grad: The gradient ``grad(x, *args)``, such as ``jax.grad(fun)``, made once: another
            function, and every call of ``jax.grad`` gives one, is compiled again.
        x: Any point. Whether the gradient is small there is no part of the claim.
        args: Further arguments of grad.
        curvature_tol: The gamma to certify; 1e-4 of the curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it; may be traced.
        max_gradients: The run stops before it takes more gradients than this; may be traced.
        smoothness: Bound on the Hessian's norm, if it is known; measured in any case.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise.
        gradient_noise: Length of a gradient's error, where it is more than rounding; measured if
            not given.
        probe_radius: Distance over which gradients are differenced; chosen if not given.
        hessp: Whether to take exact products with the Hessian, derivatives of grad by forward
            mode, in place of differences.

    Returns:
        The verdict; ``.certificate()`` gives it in words.
    """
    target = curvature_tol, failure_probability
    return find_negative_curvature(grad, x, args, "anc", *target, seed, max_gradients, **options)


@messages.knowing(messages.SEARCHED_TRACED)
@spelled(hessp=False)
def find_negative_curvature(
    grad: Callable[..., Tree],
    x: Tree,
    args: tuple[Any, ...] = (),
    method: str = "anc",
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: Any = 0,
    max_gradients: Any = None,
    **options: Unpack[SearchOptions],
) -> Verdict:
    """Search for a direction of negative curvature at x with a search that you name.

    Args:
        grad: The gradient ``grad(x, *args)``, such as ``jax.grad(fun)``.
        x: Any point.
        args: Further arguments of grad.
        method: ``anc`` (accelerated), ``nc``, or ``lanczos``, which takes the fewest gradients and
            keeps a vector for each of them.
        curvature_tol: gamma. The search ends when it has found curvature below -gamma/2, or ruled
            out curvature below -gamma; see ``certify``.
        failure_probability: Chance that "there is none" is wrong.
        seed: All randomness is a function of it; may be traced.
        max_gradients: The run stops before it takes more gradients than this; may be traced.
        smoothness: Bound on the Hessian's norm, see ``certify``.
        hessian_lipschitz: Lipschitz constant of the Hessian, see ``certify``.
        gradient_noise: Length of a gradient's error, see ``certify``.
        probe_radius: Distance over which gradients are differenced, see ``certify``.
        hessp: Whether to take exact products with the Hessian, see ``certify``.

    Returns:
        The verdict, with ``direction`` where negative curvature was found.
    """
    exact = inputs.switch("hessp", options.pop("hessp", False))
    named = dict.fromkeys(word for word in SearchOptions.__annotations__ if word != "hessp")
    target = {"curvature_tol": curvature_tol, "failure_probability": failure_probability}
    words = inputs.fixed(**target, **named | options)
    x, limit = inputs.tree(x, "x"), inputs.most("max_gradients", max_gradients)
    _, parameters = search(method, ops.size(x), **words)  # complain now, not when tracing
    claim = method, tuple(words.items()), exact, inputs.on_one_device()
    grad = inputs.function(grad, "grad")
    given = x, inputs.several(args), inputs.whole(seed), limit
    settings = parameters._replace(products=exact)
    same = {"method": method, "settings": settings, "seed": seed, "max_gradients": limit}
    agree(given[:2], grad, **same)
    return host.either(_find_on_host, _find, (grad, *claim), given)


def _find_on_host(
    grad: Callable[..., Tree], method: str, words: Any, exact: bool, packs: bool, x: Tree,
    args: Any, seed: Any, limit: Any,
) -> Verdict:  # fmt: skip
    solver, parameters = search(method, ops.size(x), **dict(words))
    parameters = parameters._replace(products=exact)
    run = host.Run(solver, parameters, x, seed, host.of_gradient(grad, args), limit)
    run.state = run.state._replace(phase=PROVE)
    cut = run.go()
    if cut is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    claim = evidence.read(run.known, parameters, run.state, run.gradients, run.products)
    phase = START if cut is Outcome.NOT_FINITE else claim.phase
    claim = claim._replace(phase=phase, direction=host.unpacked(claim.direction, x))
    return host.arrays(Verdict(*claim), run.start.dtype)


@compiled(static=5)
def _find(
    grad: Callable[..., Tree], method: str, words: Any, exact: bool, packs: bool, x: Tree,
    args: Any, seed: Any, limit: Any,
) -> Verdict:  # fmt: skip
    solver, parameters = search(method, ops.size(x), **dict(words))
    parameters = parameters._replace(products=exact)
    start, pack, unpack = inputs.packed(x, packs)

    def gradient(point: Tree) -> Tree:
        return pack(inputs.alike(grad(unpack(point), *args), x))

    phases = {code: phase for code, phase in solver.phases.items() if code >= PhaseName.GIVE_UP}
    state = first_state(solver, parameters, start, seed, PROVE)
    ran = Run(phases, parameters, Oracle(gradient=gradient), limit).drive(rest(state))
    claim = evidence.read(ops, parameters, ran.state, ran.gradients, ran.products)
    phase = jnp.where(ran.finite, claim.phase, START)
    return Verdict(*claim._replace(phase=phase, direction=unpack(claim.direction)))
