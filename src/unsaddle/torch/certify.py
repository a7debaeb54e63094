"""``certify``: one search where the parameters are."""

from collections.abc import Iterable
from functools import partial
from math import inf
from typing import Any

from unsaddle.certificate import Certificate, certificate
from unsaddle.core.events import log
from unsaddle.core.kernel import Parameters
from unsaddle.core.phases import PROVE, name_of
from unsaddle.core.records import leaves
from unsaddle.messages import CLOCKS, SEARCHED, knowing
from unsaddle.methods.checks import whole
from unsaddle.methods.search import search
from unsaddle.torch.closures import asked_twice, clearing
from unsaddle.torch.inputs import (
    check_closure,
    check_parameters,
    gradient_of,
    is_sharded,
    listed,
    tensor,
)
from unsaddle.torch.ops import Vector, torch
from unsaddle.torch.optimizer import Closure
from unsaddle.torch.products import Loss, alone, check_loss, product
from unsaddle.torch.ranks import Ranks
from unsaddle.torch.session import ParameterSession
from unsaddle.torch.shards import must_agree


@knowing(
    {word: SEARCHED[word] for word in ("noise", "gamma", "delta", "tol", "method")}
    | {"max_seconds": CLOCKS}
)
@torch.no_grad()
def certify(
    closure: Closure,
    params: Iterable[torch.Tensor],
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    *,
    max_gradients: int | None = None,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
    gradient_noise: float | None = None,
    probe_radius: float | None = None,
    hessp: Loss | None = None,
    group: Any = None,
) -> Certificate:
    """Certify that the loss has no curvature below -curvature_tol at the parameters, or find it.

    Args:
        closure: Clears the gradients, computes the loss, and calls ``backward()``.
        params: The parameters, which are the same to the bit afterwards.
        curvature_tol: The gamma to certify; 1e-4 of the curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        max_gradients: The search stops before it takes more gradients than this.
        smoothness: Bound on the Hessian's norm, if it is known; measured in any case.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise.
        gradient_noise: Length of a gradient's error, where it is more than rounding; measured if
            not given.
        probe_radius: Distance over which gradients are differenced; chosen if not given.
        hessp: The loss as a function that returns it, without ``backward()``: curvature is then
            measured by double backward, and not by differences of gradients.
        group: The process group whose ranks answer together, each with its own data; all processes
            if None.

    Returns:
        The certificate; its direction, if any, is a list of tensors, one per parameter.

    Raises:
        ValueError: If an argument is out of range, or no parameter requires a gradient.
    """
    check_closure(closure, "the order is certify(closure, params)")
    check_loss(hessp)
    at = [p for p in map(tensor, listed(params)) if p.requires_grad]
    if not at:
        raise ValueError("params has no parameter that requires a gradient: pass net.parameters()")
    check_parameters([{"params": at}])
    solver, parameters = search(
        "anc",
        sum(p.numel() for p in at),
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        smoothness=smoothness,
        hessian_lipschitz=hessian_lipschitz,
        gradient_noise=gradient_noise,
        probe_radius=probe_radius,
    )
    parameters = parameters._replace(products=hessp is not None)
    limit = whole("max_gradients", max_gradients, none=True)
    ranks, gradients, products = Ranks(group), 0, 0
    session = ParameterSession(at, solver, parameters, whole("seed", seed), ranks=ranks)
    session.state = session.state._replace(phase=PROVE)
    run = _run(seed, limit, parameters)
    clears = partial(clearing, closure, at)
    try:
        while (query := session.ask()) is not None and gradients + products < limit:
            if query.along is not None:
                alone(ranks, session)
                session.tell(gradient=product(hessp, session, query))
                products += 1
                continue
            ask = clears if gradients == 1 and not ranks.several else closure
            same = {"query": f"{gradients}, {name_of(query.phase)}", **run}
            run = {}  # is compared once
            with ranks.watched():
                session.tell(gradient=_gradient(ask, at, ranks, same))
            gradients += 1
    finally:
        session.settle()
    shown = certificate(session.claim(gradients, products))
    if shown.holds is None and limit == inf and gradient_noise is None and not ranks.several:
        with torch.enable_grad():
            asked_twice(closure, at)  # why is it undecided?
    log.info("%s", shown)
    return shown


def _run(seed: int, limit: float, parameters: Parameters) -> dict[str, Any]:
    """Say what ranks compare at first."""
    own = {"optimiser": "certify", "seed": seed, "max_gradients": str(limit)}
    return {**own, "settings": dict(leaves(parameters))}


def _gradient(closure: Closure, at: Vector, ranks: Ranks, same: dict[str, Any]) -> Vector:
    """Give the gradient where the parameters are, lent; if there are ranks, the mean of theirs."""
    with torch.enable_grad():
        closure()
    if ranks.several:
        there = [i for i, p in enumerate(at) if p.grad is not None]
        plain = [at[i] for i in there if not is_sharded(at[i])]
        begins = must_agree(at, ranks) if "seed" in same else {}
        ranks.together(None, plain, at[0].device, {**same, **begins, "gradients": there})
    if all(p.grad is None for p in at):
        raise RuntimeError("the closure left no gradient: let it call loss.backward()")
    return gradient_of(at)
