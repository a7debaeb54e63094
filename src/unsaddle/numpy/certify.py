"""``certify`` and ``find_negative_curvature``: a search at one point, from any optimiser."""

from collections.abc import Callable
from typing import Any

from unsaddle.certificate import Certificate, certificate
from unsaddle.core.evidence import read
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import PROVE
from unsaddle.core.session import NotFiniteError
from unsaddle.messages import SEARCHED, knowing
from unsaddle.methods.search import search
from unsaddle.numpy.bounded import BoxRun, within
from unsaddle.numpy.box import box_of
from unsaddle.numpy.inputs import point, whole
from unsaddle.numpy.loop import Run
from unsaddle.numpy.ops import Vector, ops
from unsaddle.numpy.oracle import Oracle


@knowing(SEARCHED)
def certify(
    grad: Callable[[Vector], Any],
    x: Any,
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    *,
    gradient_noise: float | None = None,
    probe_radius: float | None = None,
    bounds: Any = None,
) -> Certificate:
    """Certify that the Hessian at x has no eigenvalue below -curvature_tol, or find one.

    Args:
        grad: The gradient.
        x: Any point; that the gradient is small there is for the caller to see.
        curvature_tol: The gamma to certify; 1e-4 of the largest curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        max_gradients: The search stops before it takes more gradients than this.
        gradient_noise: Length of a gradient's error, in the gradient's units, where it is more
            than rounding; measured if not given.
        probe_radius: Distance over which gradients are differenced, in x's units; chosen if not
            given.
        bounds: Of the variables, as SciPy takes them: the claim is about those that are free.

    Returns:
        The certificate; ``holds`` is True, False, or None where the budget did not suffice.
    """
    return find_negative_curvature(
        grad,
        x,
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        seed=seed,
        max_gradients=max_gradients,
        gradient_noise=gradient_noise,
        probe_radius=probe_radius,
        bounds=bounds,
    )


@knowing(SEARCHED)
def find_negative_curvature(
    grad: Callable[[Vector], Any],
    x: Any,
    method: str = "lanczos",
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    *,
    gradient_noise: float | None = None,
    probe_radius: float | None = None,
    bounds: Any = None,
) -> Certificate:
    """Search for a direction of negative curvature at x with a search of one's choice.

    Args:
        grad: The gradient.
        x: Any point.
        method: ``lanczos`` (fewest gradients), or the paper's ``anc`` and ``nc``, which keep a few
            vectors however long they take; what they have to know is measured on the way.
        curvature_tol: The search ends at half of this, or when there is none; see ``certify``.
        failure_probability: Chance that "there is none" is wrong.
        seed: All randomness is a function of it.
        max_gradients: The search stops before it takes more gradients than this.
        gradient_noise: Length of a gradient's error, see ``certify``.
        probe_radius: Distance over which gradients are differenced, see ``certify``.
        bounds: Of the variables, see ``certify``.

    Returns:
        The certificate, with ``direction`` where negative curvature was found.

    Raises:
        NotFiniteError: If the gradient is NaN or infinite.
        KeyboardInterrupt: If that came while searching.
    """
    whole("seed", seed)
    limit, x = whole("max_gradients", max_gradients, none=True), point(x, "x")
    claim = {
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "gradient_noise": gradient_noise,
        "probe_radius": probe_radius,
    }
    solver, p = search(method, x.size, **claim)
    state = solver.start(ops, p, x, int(seed))._replace(phase=PROVE)
    oracle, box = Oracle(None, grad, x, limit=limit, name="grad"), box_of(bounds, x)
    run = Run(solver, p, state, oracle) if box is None else within(box, solver, p, state, oracle)
    outcome = run.go()
    if outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if outcome is Outcome.NOT_FINITE:
        raise NotFiniteError("grad returned NaN or infinity")
    shown = certificate(read(ops, p, run.state, run.oracle.gradients))
    return run.restricted(shown) if isinstance(run, BoxRun) else shown
