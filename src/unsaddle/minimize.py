"""``minimize``: SciPy's conventions, a second-order promise."""

import contextlib
import functools
import inspect
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle import asked
from unsaddle.checkpoint import Checkpoint, copied
from unsaddle.descents.given import Memory as Given
from unsaddle.descents.given import given
from unsaddle.driver import Look, Run
from unsaddle.hints import NO_FUNCTION, NOT_CALLED, refuse_words_of_scipy
from unsaddle.kernel import Parameters
from unsaddle.methods import STOCHASTIC, find
from unsaddle.multistart import Starts, from_many
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import Oracle, point, whole
from unsaddle.result import Request, conclude, interim, promise

DRAWS = 10  # starts that a function draws


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    jac: Callable[..., Any] | bool | str | None = None,
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
    descent: Callable[[Vector], Any] | None = None,
    starts: Starts | None = None,
    state: Checkpoint | None = None,
    **options: Any,
) -> OptimizeResult:
    """Find a point with a small gradient and no negative curvature to speak of.

    Args:
        fun: The function ``fun(x, *args)``.
        x0: Where to start; float32 stays float32, everything else becomes float64.
        args: Further arguments of fun and jac.
        method: A name from ``unsaddle methods``.
        jac: The gradient; True if fun returns (value, gradient); or, if there is none, "3-point"
            (the default), "2-point" or "cs" for differences of fun, which can certify less:
            "2-point" takes half the values and certifies a gamma some twenty times as large.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify: lambda_min > -curvature_tol. Default sqrt(rho tol);
            where rho is measured, "auto" keeps it within 1e-4 and 1e-2 of the curvature met at x.
        failure_probability: Chance of a false certificate over the whole run.
        seed: All randomness is a function of it.
        max_gradients: Stop before one gradient more than this.
        callback: ``callback(x)`` or ``callback(intermediate_result=...)``, called after every
            gradient with the iterate; StopIteration stops the run.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        decrease_available: Bound on fun(x0) - min fun; needed by pgd and pagd only.
        descent: Your own minimiser, ``descent(x)`` -> x, in place of the method's: it descends,
            unsaddle escapes or certifies where it stops, until certified. For "auto" only; its own
            calls are not counted.
        starts: Start several times: how many (drawn about x0, as far as x0 is long), the points, or
            a function that draws one from a generator (ten are drawn). The lowest certified run is
            returned, all are in ``runs``.
        state: ``result.state`` of an earlier run, to go on from exactly there instead of from x0.
        **options: Single hyperparameters of the method, in place of the paper's.

    Returns:
        SciPy's result: x, fun, jac, success, status, message, nfev, njev, nit; and ``outcome``,
        ``certificate``, ``history``, ``best``, ``parameters`` and ``state``. ``success`` is True
        only if a certificate holds at x.

    Raises:
        TypeError: If fun cannot be called; a wrong argument is named by the error it gets.
        ValueError: If what is asked for does not go together.
    """
    whole("seed", seed)
    if starts is not None and state is not None:
        raise ValueError("starts and state do not go together: a state goes on from where it was")
    if starts is not None:
        same = {
            "args": args,
            "method": method,
            "jac": jac,
            "tol": tol,
            "curvature_tol": curvature_tol,
            "callback": callback,
            "smoothness": smoothness,
            "hessian_lipschitz": hessian_lipschitz,
            "decrease_available": decrease_available,
            "descent": descent,
            **options,
        }
        solve = functools.partial(minimize, fun, **same)
        shared = (seed, max_gradients, failure_probability)
        return from_many(solve, point(x0), starts, DRAWS, *shared)
    start = point(x0)
    chosen = find(method)
    if method in STOCHASTIC:
        raise ValueError(
            f"method {method!r} takes a gradient that is known from samples only: "
            "call unsaddle.minimize_stochastic instead"
        )
    if descent is not None:
        if method != "auto":
            raise ValueError(f"descent goes with method 'auto', got {method!r}")
        chosen = chosen._replace(descent=given)
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": tol,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "decrease_available": decrease_available,
    }
    parameters = asked.parameters(method, chosen, start.size, constants, options, minimize)
    limit = math.inf if max_gradients is None else whole("max_gradients", max_gradients, " or None")
    if not callable(fun):
        raise TypeError(
            NO_FUNCTION if fun is None else f"fun must be callable, got {type(fun).__name__}"
        )
    if callable(args) or isinstance(args, str):
        raise TypeError(f"args must be a tuple, got {args!r}: pass jac=... and method=... by name")
    oracle = Oracle(fun, jac, args if isinstance(args, tuple) else (args,), start)
    run = Run(chosen.solver, _noisy(parameters, oracle.noise), oracle)
    run.descend = None if descent is None else _checked(descent, start)
    known = float(smoothness or 0.0), float(hessian_lipschitz or 0.0)
    gamma = float(curvature_tol or math.sqrt(known[1] * tol))
    request = Request(method, x0, limit, gamma, float(failure_probability), known)
    if state is None:
        run.state = chosen.solver.start(ops, parameters, start, int(seed))
    else:
        resume(run, request, state, start)
        request = request._replace(start=run.state.x.copy())
    run.iterate = Look(run.state.x.copy(), None, None)
    report = _adapt(callback)
    try:
        return conclude(run, run.go(limit, report), request, report)
    except Exception as error:
        with contextlib.suppress(AttributeError):  # the user's exception may take none
            error.unsaddle = interim(run, request)  # type: ignore[attr-defined]
        raise


def scipy_method(
    method: str = "auto", *misplaced: Any, **parameters: Any
) -> Callable[..., OptimizeResult]:
    """Give a method in the form that ``scipy.optimize.minimize(..., method=...)`` takes.

    Args:
        method: A name from ``unsaddle methods``; "auto" needs no parameters.
        *misplaced: What comes if ``method=unsaddle.scipy_method`` is passed, which is an error.
        **parameters: Arguments of ``unsaddle.minimize``, such as ``smoothness``; SciPy's own
            ``tol`` and ``options`` come after them and win.

    Returns:
        A callable with SciPy's signature for custom methods; its option ``disp`` prints the end.

    Raises:
        TypeError: If it is passed to SciPy without being called.
    """
    if misplaced or callable(method):
        raise TypeError(NOT_CALLED)
    find(method)

    def solve(
        fun: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...] = (),
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
        disp: Any = False,
        **options: Any,
    ) -> OptimizeResult:
        refuse_words_of_scipy(options, minimize)
        given = {k: v for k, v in {"jac": jac, **options}.items() if v is not None}
        result = minimize(fun, x0, args, method, **{**parameters, **given})
        if disp:
            print(result.message)
        return result

    return solve


def _noisy(parameters: Parameters, noise: float) -> Parameters:
    """Tell a search that can use it how far the gradient is to be trusted."""
    if not noise:
        return parameters
    if not hasattr(parameters.escape, "noise"):
        raise TypeError(
            "jac is missing: this method needs the gradient; for numerical ones use method='auto'"
        )
    noise = max(noise, parameters.escape.noise)
    return parameters._replace(escape=parameters.escape._replace(noise=noise))


def _checked(descent: Callable[[Vector], Any], x0: Vector) -> Callable[[Vector], Vector]:
    """Check what the user's own minimiser returns."""
    if not callable(descent):
        raise TypeError(f"descent must be callable, got {type(descent).__name__}")

    def call(x: Vector) -> Vector:
        answer = point(descent(x), "what descent returned")
        if answer.shape != x0.shape:
            raise ValueError(f"descent returned {answer.size} numbers, expected {x0.size} like x0")
        return answer

    return call


def resume(run: Run, request: Request, checkpoint: Checkpoint, x0: Vector) -> None:
    """Go on from a checkpoint, if it fits the call.

    Args:
        run: That is to go on.
        request: What is asked for.
        checkpoint: Of a run that was asked for the same.
        x0: A point of the same kind.

    Raises:
        TypeError: If it is no checkpoint.
        ValueError: If it is of a run that was asked for something else.
    """
    if not isinstance(checkpoint, Checkpoint):
        path = isinstance(checkpoint, str | os.PathLike)
        raise TypeError(
            f"state must be a checkpoint, got {type(checkpoint).__name__}: "
            f"pass state={'unsaddle.load(path)' if path else 'result.state'}"
        )
    if checkpoint.method != request.method:
        raise ValueError(
            f"state is of method {checkpoint.method!r}: pass method={checkpoint.method!r}"
        )
    if checkpoint.state.x.shape != x0.shape:
        raise ValueError(
            f"state has {checkpoint.state.x.size} variables and x0 has {x0.size}: pass the same x0"
        )
    if checkpoint.state.x.dtype != x0.dtype:
        raise ValueError(f"state is of {checkpoint.state.x.dtype} and x0 of {x0.dtype}")
    theirs = isinstance(checkpoint.state.descent, Given)
    if theirs != (run.descend is not None):
        raise ValueError(
            f"state is of a run {'with' if theirs else 'without'} descent=: "
            f"{'pass the same' if theirs else 'leave it out'}, or start anew from result.x"
        )
    names = ("tol", "curvature_tol", "failure_probability")
    for name, wanted in zip(names, promise(run, request), strict=True):
        kept = getattr(checkpoint, name)
        if kept != wanted:
            raise ValueError(
                f"state is of a run with {name} {kept:.3g}, and {wanted:.3g} is asked for: "
                f"pass the same {name}, or start anew from result.x without state"
            )
    own = copied(checkpoint)
    run.state, run.value, run.gradient, run.before = own[1:5]
    run.begun, run.best, run.within = -own.searched, own.best, own.within


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
