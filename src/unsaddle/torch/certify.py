"""``certify``: one search where the parameters are."""

from collections.abc import Iterable

from unsaddle.certificate import Certificate, certificate
from unsaddle.core.phases import PROVE
from unsaddle.messages import SEARCHED, knowing
from unsaddle.methods.search import search
from unsaddle.torch.inputs import check_closure, check_parameters, gradient_of, listed, whole
from unsaddle.torch.ops import Vector, ops, torch
from unsaddle.torch.optimizer import Closure
from unsaddle.torch.session import ParameterSession


@knowing({"tol": SEARCHED["tol"], "method": SEARCHED["method"]})
@torch.no_grad()
def certify(
    closure: Closure,
    params: Iterable[torch.Tensor],
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
    gradient_noise: float | None = None,
    probe_radius: float | None = None,
) -> Certificate:
    """Certify that the loss has no curvature below -curvature_tol at the parameters, or find it.

    Args:
        closure: Clears the gradients, computes the loss, and calls ``backward()``.
        params: The parameters, which are the same to the bit afterwards.
        curvature_tol: The gamma to certify; 1e-4 of the curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        smoothness: Bound on the Hessian's norm, if it is known; measured in any case.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise.
        gradient_noise: Length of a gradient's error, where it is more than rounding; measured if
            not given.
        probe_radius: Distance over which gradients are differenced; chosen if not given.

    Returns:
        The certificate; its direction, if any, is a list of tensors, one per parameter.

    Raises:
        ValueError: If an argument is out of range, or no parameter requires a gradient.
    """
    check_closure(closure, "the order is certify(closure, params)")
    at = [p for p in listed(params) if p.requires_grad]
    if not at:
        raise ValueError("params has no parameter that requires a gradient: pass net.parameters()")
    check_parameters([{"params": at}])
    solver, parameters = search(
        "anc",
        ops.size(at),
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        smoothness=smoothness,
        hessian_lipschitz=hessian_lipschitz,
        gradient_noise=gradient_noise,
        probe_radius=probe_radius,
    )
    session, gradients = ParameterSession(at, solver, parameters, whole("seed", seed)), 0
    session.state = session.state._replace(phase=PROVE)
    try:
        while session.ask() is not None:
            session.tell(gradient=_gradient(closure, at))
            gradients += 1
    finally:
        session.settle()
    return certificate(session.claim(gradients))


def _gradient(closure: Closure, at: Vector) -> Vector:
    """Give the gradient where the parameters are, lent."""
    with torch.enable_grad():
        closure()
    if all(p.grad is None for p in at):
        raise RuntimeError("the closure left no gradient: let it call loss.backward()")
    return gradient_of(at)
