"""``certify`` and ``find_negative_curvature``: a search at one point, from any optimiser."""

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from unsaddle.certificate import Certificate, certificate, ending
from unsaddle.core.events import log
from unsaddle.core.evidence import phase_told, read
from unsaddle.core.outcome import ENDS, Outcome
from unsaddle.core.phases import CERTIFIED, PROVE, PhaseName
from unsaddle.core.session import NotFiniteError
from unsaddle.messages import SEARCHED, knowing
from unsaddle.methods.checks import whole
from unsaddle.methods.constants import spelled
from unsaddle.methods.search import search
from unsaddle.numpy.bounded import BoxRun, within
from unsaddle.numpy.box import box_of
from unsaddle.numpy.inputs import point, seconds
from unsaddle.numpy.loop import Run
from unsaddle.numpy.ops import Vector, ops
from unsaddle.numpy.oracle import HessianProduct, Oracle
from unsaddle.numpy.result import doubted
from unsaddle.numpy.scaled import Scaled


class SearchOptions(TypedDict, total=False):
    """The words of a search at one point that are given by name only."""

    max_seconds: float | None
    gradient_noise: float | None
    probe_radius: float | None
    bounds: Any
    x_scale: Any
    hessp: HessianProduct | None
    max_memory: float | None


@knowing(SEARCHED)
@spelled()
def certify(
    grad: Callable[[Vector], Any],
    x: Any,
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    **options: Unpack[SearchOptions],
) -> Certificate:
    """Certify that the Hessian at x has no eigenvalue below -curvature_tol, or find one.

    Args:
        grad: The gradient.
        x: Any point. Whether the gradient is small there is no part of the claim.
        curvature_tol: The gamma to certify; 1e-4 of the largest curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        max_gradients: The search stops before it takes more gradients and products than this.
        max_seconds: The search stops at the first query after so many seconds.
        gradient_noise: Length of a gradient's error, in the gradient's units, where it is more
            than rounding; measured if not given.
        probe_radius: Distance over which gradients are differenced, in x's units; chosen if not
            given.
        bounds: Of the variables, as SciPy takes them: the claim is about those that are free.
        x_scale: The size that each variable typically has: the claim is then one of x / x_scale.
        hessp: The Hessian at x times a vector, ``hessp(x, p)``, in place of differences.
        max_memory: Bytes that the vectors of the search may take; a quarter of what is free if not
            given, and no more than 35 vectors where they are long.

    Returns:
        The certificate; ``holds`` is True, False, or None where the search could not decide.
    """
    target = curvature_tol, failure_probability
    return find_negative_curvature(grad, x, "lanczos", *target, seed, max_gradients, **options)


@knowing(SEARCHED)
@spelled()
def find_negative_curvature(
    grad: Callable[[Vector], Any],
    x: Any,
    method: str = "lanczos",
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    **options: Unpack[SearchOptions],
) -> Certificate:
    """Search for a direction of negative curvature at x with a search that you name.

    Args:
        grad: The gradient.
        x: Any point.
        method: ``lanczos`` (fewest gradients), or the paper's ``anc`` and ``nc``, which keep a few
            vectors however long they take; what they have to know is measured on the way.
        curvature_tol: gamma. The search ends when it has found curvature below -gamma/2, or ruled
            out curvature below -gamma; see ``certify``.
        failure_probability: Chance that "there is none" is wrong.
        seed: All randomness is a function of it.
        max_gradients: The search stops before it takes more gradients and products than this.
        max_seconds: The search stops at the first query after so many seconds.
        gradient_noise: Length of a gradient's error, see ``certify``.
        probe_radius: Distance over which gradients are differenced, see ``certify``.
        bounds: Of the variables, see ``certify``.
        x_scale: Of the variables, see ``certify``.
        hessp: The Hessian at x times a vector, ``hessp(x, p)``, in place of differences.
        max_memory: Bytes that the vectors of the search may take, see ``certify``.

    Returns:
        The certificate, with ``direction`` where negative curvature was found.

    Raises:
        NotFiniteError: If the gradient is NaN or infinite.
        KeyboardInterrupt: If that came while searching.
    """
    seed = whole("seed", seed)
    limit, x = whole("max_gradients", max_gradients, none=True), point(x, "x")
    time = seconds("max_seconds", options.pop("max_seconds", None))
    x_scale, hessp = options.pop("x_scale", None), options.pop("hessp", None)
    bounds = options.pop("bounds", None)
    way = None if x_scale is None else Scaled(x_scale, x, bounds)
    if way is not None:
        grad, hessp, bounds = way.gradient(grad), way.product(hessp), way.bounds()
        x = way.to_y(x)
    claim = {"curvature_tol": curvature_tol, "failure_probability": failure_probability, **options}
    solver, p = search(method, x.size, x.itemsize, **claim)
    oracle = Oracle(None, grad, x, limit=limit, name="grad", hessp=hessp)
    p = p._replace(products=hessp is not None)
    state = solver.start(ops, p, x, seed)._replace(phase=PROVE)
    box = box_of(bounds, x)
    run = Run(solver, p, state, oracle) if box is None else within(box, solver, p, state, oracle)
    run.timed(time)
    cut = run.go()
    if cut is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if cut is Outcome.NOT_FINITE:
        hessian = "hessp" in run.trouble
        raise NotFiniteError(run.trouble if hessian else "grad returned NaN or infinity")
    if cut is Outcome.BUDGET and run.state.phase == CERTIFIED:  # and the check is not done
        run.state = run.state._replace(phase=PhaseName.SEARCH)
    claim = read(ops, p, run.state, oracle.gradients, oracle.products)
    outcome, shown = cut or ENDS[phase_told(ops, run.state, claim.coarser)], certificate(claim)
    shown = run.restricted(shown) if isinstance(run, BoxRun) else shown
    shown = doubted(shown, run.doubt)
    shown = shown if way is None else way.certificate(shown)
    log.info(ending(outcome.name.lower(), shown))
    return shown
