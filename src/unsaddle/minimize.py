"""``minimize``: SciPy's conventions, a second-order promise."""

import contextlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.checkpoint import Checkpoint
from unsaddle.driver import Look, Run
from unsaddle.methods import find, override
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import Oracle, point, whole
from unsaddle.result import Request, conclude, interim
from unsaddle.theory import check

OPTIONAL = ("smoothness", "hessian_lipschitz", "curvature_tol", "decrease_available")


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    jac: Callable[..., Any] | bool | None = None,
    tol: float = 1e-5,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    callback: Callable[..., Any] | None = None,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
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
        TypeError: If fun cannot be called; a wrong argument is named by the error it gets.
    """
    start = point(x0)
    chosen = find(method)
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "decrease_available": decrease_available,
    }
    check({k: v for k, v in constants.items() if v is not None or k not in OPTIONAL})
    parameters = override(chosen.from_theory(**constants, n=start.size), options)
    whole("seed", seed)
    limit = math.inf if max_gradients is None else whole("max_gradients", max_gradients, " or None")
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {type(fun).__name__}")
    oracle = Oracle(fun, jac, args if isinstance(args, tuple) else (args,), start)
    run = Run(chosen.solver, parameters, oracle)
    if state is None:
        run.state = chosen.solver.start(ops, parameters, start, int(seed))
    else:
        _, run.state, run.value, run.gradient = _own(_resumed(state, method, start))
    run.iterate = Look(run.state.x.copy(), None, None)
    gamma = curvature_tol or math.sqrt((hessian_lipschitz or 0.0) * tol)
    request = Request(method, run.state.x.copy(), limit, gamma, failure_probability)
    report = _adapt(callback)
    try:
        return conclude(run, run.go(limit, report), request, report)
    except Exception as error:
        with contextlib.suppress(AttributeError):  # the user's exception may take none
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
            if given is not None and not (isinstance(given, tuple | list) and not given):
                raise ValueError(f"{name} are not supported by unsaddle's {method}: leave them out")
        return minimize(fun, x0, args, method, jac, callback=callback, **{**parameters, **options})

    return solve


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
    if checkpoint.state.x.dtype != x0.dtype:
        raise ValueError(f"state is of {checkpoint.state.x.dtype} and x0 of {x0.dtype}")
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
        x = run.state.x.copy()
        if modern:
            seen = (run.iterate[:2], run.best or (x, None))
            known = [value for at, value in seen if value is not None and np.array_equal(at, x)]
            fun = known[0] if known else math.nan
            callback(intermediate_result=OptimizeResult(x=x, fun=fun, nit=run.iterations))
        else:
            callback(x)

    return call
