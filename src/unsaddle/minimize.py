"""``minimize``: SciPy's conventions, a second-order promise."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.checkpoint import Checkpoint
from unsaddle.driver import Run
from unsaddle.kernel import Parameters
from unsaddle.methods import STOCHASTIC, find, override
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import Oracle, point
from unsaddle.result import Request, conclude, interim


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "ancgd",
    jac: Callable[..., Any] | bool | None = None,
    tol: float = 1e-5,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    callback: Callable[..., Any] | None = None,
    *,
    smoothness: float = math.nan,  # l
    hessian_lipschitz: float = math.nan,  # rho
    decrease_available: float | None = None,  # Delta_f
    state: Checkpoint | None = None,
    **options: Any,
) -> OptimizeResult:
    """Find a point with a small gradient and no negative curvature to speak of.

    Args:
        fun: The function ``fun(x, *args)``.
        x0: Where to start; float32 stays float32, everything else becomes float64.
        args: Further arguments of fun and jac.
        method: A name from ``unsaddle methods``.
        jac: The gradient, or True if fun returns (value, gradient).
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify: lambda_min > -curvature_tol. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate over the whole run.
        seed: All randomness is a function of it.
        max_gradients: Stop before one gradient more than this.
        callback: ``callback(x)`` or ``callback(intermediate_result=...)``, called after every
            gradient with the iterate; StopIteration stops the run.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        decrease_available: Bound on fun(x0) - min fun; needed by pgd and pagd only.
        state: ``result.state`` of an earlier run, to go on from exactly there instead of from x0.
        **options: Single hyperparameters of the method, in place of the paper's.

    Returns:
        SciPy's result: x, fun, jac, success, status, message, nfev, njev, nit; and ``outcome``,
        ``certificate``, ``history``, ``best``, ``parameters`` and ``state``. ``success`` is True
        only if a certificate holds at x.

    Raises:
        ValueError: If an argument is out of range; the message names it.
    """
    start = point(x0)
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "decrease_available": decrease_available,
    }
    parameters = _parameters(method, start, constants, options)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    if max_gradients is not None and not max_gradients >= 0:
        raise ValueError(f"max_gradients must be >= 0 or None, got {max_gradients!r}")
    request = Request(
        method=method,
        start=start.copy(),
        limit=math.inf if max_gradients is None else max_gradients,
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        smoothness=smoothness,
        hessian_lipschitz=hessian_lipschitz,
        tol=tol,
    )
    solver = find(method).solver
    oracle = Oracle(fun, jac, args if isinstance(args, tuple) else (args,), start)
    run = Run(solver, parameters, oracle)
    if state is None:
        run.state = solver.start(ops, parameters, start, int(seed))
    else:
        _, run.state, run.value, run.gradient = _own(_resumed(state, method, start))
    try:
        return conclude(run, run.go(request.limit, _adapt(callback)), request)
    except Exception as error:
        error.unsaddle = interim(run, request)  # type: ignore[attr-defined]
        raise


def scipy_method(method: str, **parameters: Any) -> Callable[..., OptimizeResult]:
    """Give a method in the form that ``scipy.optimize.minimize(..., method=...)`` takes.

    Args:
        method: A name from ``unsaddle methods``.
        **parameters: Arguments of ``unsaddle.minimize``, such as ``smoothness``; SciPy's own
            ``tol`` and ``options`` come after them and win.

    Returns:
        A callable with SciPy's signature for custom methods.
    """
    find(method)

    def solve(
        fun: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...] = (),
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
        bounds: Any = None,
        constraints: Any = (),
        callback: Any = None,
        **options: Any,
    ) -> OptimizeResult:
        for name, given in (("bounds", bounds), ("constraints", constraints)):
            if given is not None and given != ():
                raise ValueError(f"{name} are not supported by unsaddle's {method}: leave them out")
        return minimize(fun, x0, args, method, jac, callback=callback, **{**parameters, **options})

    return solve


def _parameters(
    method: str, x0: Vector, constants: dict[str, Any], options: dict[str, Any]
) -> Parameters:
    """Give the method's parameters from the constants, with single ones replaced."""
    chosen = find(method)
    if method in STOCHASTIC:
        raise ValueError(
            f"method {method!r} takes a gradient that is known from samples only: "
            f"call unsaddle.minimize_stochastic(grad, x0, ..., method={method!r})"
        )
    for name in ("smoothness", "hessian_lipschitz"):
        if constants[name] is None or constants[name] != constants[name]:
            raise ValueError(f"{name} is missing: {method} needs it; pass {name}=<a bound>")
    return override(chosen.from_theory(**constants, n=x0.size), options)


def _resumed(checkpoint: Checkpoint, method: str, x0: Vector) -> Checkpoint:
    """Check that a checkpoint fits the call that is to go on from it."""
    if not isinstance(checkpoint, Checkpoint):
        raise TypeError(f"state must be result.state, got {type(checkpoint).__name__}")
    if checkpoint.method != method:
        raise ValueError(
            f"state is of method {checkpoint.method!r}: pass method={checkpoint.method!r}"
        )
    if checkpoint.state.x.shape != x0.shape:
        raise ValueError(
            f"state has {checkpoint.state.x.size} variables and x0 has {x0.size}: pass the same x0"
        )
    return checkpoint


def _own(tree: Any) -> Any:
    """Copy the vectors of a checkpoint, which the run will write into."""
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, tuple):
        return type(tree)(*map(_own, tree))
    return tree


def _adapt(callback: Callable[..., Any] | None) -> Callable[[Run], None] | None:
    """Call either kind of SciPy callback: ``callback(xk)`` or ``callback(intermediate_result)``."""
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    try:
        modern = set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except ValueError:  # a builtin without a signature
        modern = False

    def call(run: Run) -> None:
        seen = run.iterate
        x = np.array(seen.x)
        if modern:
            fun = math.nan if seen.value is None else seen.value
            callback(intermediate_result=OptimizeResult(x=x, fun=fun, nit=run.iterations))
        else:
            callback(x)

    return call
