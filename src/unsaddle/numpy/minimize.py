"""``minimize``: SciPy's conventions, a second-order promise."""

import functools
import os
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any, Unpack

from scipy.optimize import OptimizeResult

from unsaddle.core.events import log
from unsaddle.core.kernel import Parameters, Solver
from unsaddle.descents.external import Memory as External
from unsaddle.escapes import krylov
from unsaddle.messages import ELSEWHERE
from unsaddle.methods.checks import number, shown, whole, yes_or_no
from unsaddle.methods.constants import DEFAULTS, Given, spelled
from unsaddle.methods.table import AROUND, BOUNDED, STOCHASTIC, find, parameters_of
from unsaddle.numpy import differences
from unsaddle.numpy.bounded import BoxRun
from unsaddle.numpy.box import Box, box_of, moved_in
from unsaddle.numpy.callback import adapted
from unsaddle.numpy.checkpoint import Checkpoint, copied
from unsaddle.numpy.inputs import count_of, point, progress_stream, seconds
from unsaddle.numpy.loop import Run, Seen
from unsaddle.numpy.ops import Vector, first_ops
from unsaddle.numpy.oracle import HessianProduct, Oracle, TrialErrors, products_of
from unsaddle.numpy.progress import Progress
from unsaddle.numpy.result import conclude
from unsaddle.numpy.scaled import in_scaled_variables, scale_of
from unsaddle.numpy.starts import Around, Starts, from_many
from unsaddle.numpy.workers import Workers


@spelled()
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    jac: Callable[..., Any] | bool | str | None = None,
    *,
    hess: Callable[..., Any] | None = None,
    hessp: HessianProduct | None = None,
    x_scale: Any = None,
    seed: int = 0,
    max_gradients: int | None = None,
    max_seconds: float | None = None,
    certificate_budget: float | None = None,
    disp: Any = False,
    history: bool = True,
    bounds: Any = None,
    callback: Callable[..., Any] | None = None,
    descent: Callable[[Vector], Any] | None = None,
    starts: Starts | None = None,
    workers: Workers = 1,
    state: Checkpoint | None = None,
    trial_errors: TrialErrors | None = None,
    **given: Unpack[Given],
) -> OptimizeResult:
    """Find a point with a small gradient and no curvature below -curvature_tol.

    Args:
        fun: The function ``fun(x, *args)``.
        x0: Where to start; float32 stays float32, everything else becomes float64.
        args: Further arguments of fun, jac and hessp.
        method: A name from ``unsaddle methods``.
        jac: The gradient; True if fun returns (value, gradient); or, if there is none, "3-point"
            (the default), "2-point" or "cs" for differences of fun, which can certify less:
            "2-point" takes half the values and certifies a gamma some twenty times as large.
        hess: The Hessian ``hess(x, *args)``, if there is one; its products with vectors are used.
            SciPy's words for differences, such as "2-point", are ignored.
        hessp: The Hessian at x times a vector, ``hessp(x, p, *args)``, if there is one: searches
            take it in place of differences of gradients, and are then exact but for rounding.
        x_scale: The size that each variable typically has: a number, or one for each. The run is
            then one in x / x_scale, and so are tol, curvature_tol and the certificate.
        seed: All randomness is a function of it.
        max_gradients: The run stops before it takes more gradients and products than this.
        max_seconds: The run stops at the first query after so many seconds.
        certificate_budget: Share of the run's gradients, between 0 and 1, that a search for the
            certificate may take. When they are spent, the certificate is for the least
            curvature_tol that was shown by then; if none was, the search goes on until one is. No
            limit if not given. For "auto" only.
        disp: True shows the progress, as one line that is kept up to date in a terminal and in a
            notebook; or the stream to show it on, where the line of the end is left out.
        history: Whether to keep every query in ``result.history``: 18 bytes each. Switch it off
            for runs of many millions of queries.
        bounds: Bounds of the variables, as SciPy takes them: ``Bounds(lb, ub)``, or pairs with None
            for no bound. No query leaves them. For "auto" only, whose descent is then L-BFGS-B.
        callback: ``callback(x)`` or ``callback(intermediate_result=...)``, called after every
            gradient with the iterate; StopIteration stops the run.
        descent: Your own minimiser, ``descent(x)`` -> x, in place of the method's: it descends,
            unsaddle escapes or certifies where it stops, until certified. For "auto" only; its own
            calls are not counted.
        starts: Start several times. A number: that many starts, at x0 and at random points whose
            distance from it is about |x0|, in units of x_scale. An array: the points. A function:
            it draws a point from a generator, ten times. The lowest certified run is returned, and
            all are in ``runs``. An exception in one of them is raised when all are over, with the
            result so far as its attribute ``unsaddle``.
        workers: How many starts to run at once, in processes of their own; -1 for one a processor;
            or a map that runs them, such as ``pool.map``. The result does not depend on it.
        state: ``result.state`` of an earlier run, to go on from exactly there instead of from x0.
        trial_errors: Exceptions of fun and jac that give a trial point an infinite value instead
            of ending the run: a class, a tuple of classes, or a function that takes an exception
            and says whether it is one. At points that are not trials they end the run.
        **given: Constants of the function and targets, see ``unsaddle.Constants``; and single
            hyperparameters of the method, in place of theory's.

    Returns:
        SciPy's result: x, fun, jac, success, status, message, nfev, njev, nit; and ``nhvp``, the
        products taken, ``outcome``, ``certificate``, ``history``, ``best``, ``parameters`` and
        ``state``. ``success`` is True only if a certificate holds at x.

    Raises:
        ValueError: If what is asked for does not go together.
    """
    seed, history = whole("seed", seed), yes_or_no("history", history)
    if starts is None and count_of(workers) != 1:
        raise ValueError("workers run several starts: pass starts= as well, such as starts=64")
    if starts is not None and state is not None:
        raise ValueError("starts and state do not go together: a state goes on from where it was")
    hessp = products_of(hess) if callable(hess) and hessp is None else hessp
    words = {"args": args, "method": method, "jac": jac, "callback": callback, "hessp": hessp}
    words |= {"trial_errors": trial_errors, "bounds": bounds, "disp": disp, "descent": descent}
    words |= {"history": history, "certificate_budget": certificate_budget, **given}
    if starts is not None:
        deadline = monotonic() + seconds("max_seconds", max_seconds)
        solve = functools.partial(_by, deadline, fun, x_scale=x_scale, **words)
        first = point(x0)
        around = Around(first, scale_of(x_scale, first), box_of(bounds, first))
        most = whole("max_gradients", max_gradients, none=True)
        budget = None if most == inf else most
        delta = given.get("failure_probability", DEFAULTS["failure_probability"])
        return from_many(solve, around, starts, seed, budget, delta, workers)
    if x_scale is not None:
        words |= {"seed": seed, "max_gradients": max_gradients, "max_seconds": max_seconds}
        return in_scaled_variables(minimize, x_scale, fun, x0, state=state, **words)
    start = point(x0)
    solver, box = _solver(method, descent, bounds, start)
    start = start if box is None else moved_in(box, start)
    sizes = {"itemsize": start.itemsize, "shared": method == "auto"}
    parameters = parameters_of(method, start.size, given, minimize, ELSEWHERE, **sizes)
    limit = whole("max_gradients", max_gradients, none=True)
    oracle = Oracle(fun, jac, start, args, limit, trial_errors=trial_errors, hessp=hessp)
    parameters = parameters._replace(products=hessp is not None)
    if oracle.noise and hessp is None:
        parameters = _noisy(parameters, oracle.noise)
    call = None if callback is None else adapted(callback)
    descend = None if descent is None else _checked(descent, start)
    begun = solver.start(first_ops(parameters, start), parameters, start, seed)
    run = (
        Run(solver, parameters, begun, oracle, call, descend, history)
        if box is None
        else BoxRun(solver, parameters, begun, oracle, box, call, history)
    )
    del begun  # its vectors are let go as the run replaces them
    if certificate_budget is not None:
        run.certificate_budget = _share(certificate_budget, method, descent)
    if state is not None:
        resume(run, method, state)
        x0 = run.state.x.copy()
    return _shown(run, method, x0, seconds("max_seconds", max_seconds), progress_stream(disp))


def _solver(method: str, descent: Any, bounds: Any, x0: Vector) -> tuple[Solver, Box | None]:
    """Choose who descends: the method, the user's own minimiser, or L-BFGS-B within bounds."""
    solver = find(method).solver
    if method in STOCHASTIC:
        raise ValueError(
            f"method {method!r} takes a gradient that is known from samples only: "
            "call unsaddle.minimize_stochastic instead"
        )
    if descent is not None and method != "auto":
        raise ValueError(f"descent goes with method 'auto', got {method!r}")
    box = box_of(bounds, x0)
    if box is None:
        return (solver if descent is None else AROUND), None
    if method != "auto":
        raise ValueError(f"bounds go with method 'auto', got {method!r}: pass method='auto'")
    if descent is not None:
        raise ValueError(
            "bounds and descent do not go together: leave out descent, L-BFGS-B takes its place, "
            "or certify where yours has stopped with certify(jac, x, bounds=bounds)"
        )
    return BOUNDED, box


def _shown(run: Run, method: str, x0: Any, most: float, disp: Any) -> OptimizeResult:
    """Run to the end within so many seconds, and show the progress if that is wanted."""
    progress = Progress(disp if hasattr(disp, "write") else None) if disp else None
    run.timed(most, progress)
    if run.oracle.noise:
        scheme, n = run.oracle.scheme, run.state.x.size
        cost = differences.cost(differences.values_of(scheme, n), scheme)
        log.info(cost)
        if progress is not None:
            progress.say(cost)
    try:
        result = conclude(run, method, x0)
    except BaseException:
        if progress is not None:
            progress.close()
        raise
    if progress is not None:
        progress.close(result.message)
    return result


def _by(deadline: float, fun: Callable[..., Any], start: Any, **words: Any) -> OptimizeResult:
    """Run from one of several starts, in the time that is left."""
    left = None if deadline == inf else max(deadline - monotonic(), 0.0)
    return minimize(fun, start, max_seconds=left, **words)


def _noisy(parameters: Parameters, noise: float) -> Parameters:
    """Tell a search that can use it how far the gradient is to be trusted."""
    if not isinstance(parameters.escape, krylov.Settings):
        raise TypeError(
            "jac is missing: this method needs the gradient; for numerical ones use method='auto'"
        )
    escape = parameters.escape._replace(unit=max(noise, parameters.escape.unit))
    proof = None if parameters.proof is None else parameters.proof._replace(unit=escape.unit)
    descent: Any = parameters.descent
    if "unit" in descent._fields:
        descent = descent._replace(unit=escape.unit)
    return parameters._replace(descent=descent, escape=escape, proof=proof)


def _share(certificate_budget: float, method: str, descent: Any) -> float:
    """Check the share of the run that a search may take."""
    if not 0 < number(certificate_budget) < 1:
        raise ValueError(
            "certificate_budget must be a share between 0 and 1, such as 0.25, or None, got "
            f"{shown(certificate_budget)}"
        )
    if method != "auto" or descent is not None:
        raise ValueError(
            "certificate_budget goes with method 'auto' and its own descent: leave it out, "
            "or pass the curvature_tol that will do"
        )
    return number(certificate_budget)


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


def resume(run: Run, method: str, checkpoint: Checkpoint) -> None:
    """Go on from a checkpoint, if it fits the call."""
    if not isinstance(checkpoint, Checkpoint):
        path = isinstance(checkpoint, str | os.PathLike)
        raise TypeError(
            f"state must be a checkpoint, got {type(checkpoint).__name__}: "
            f"pass state={'unsaddle.load(path)' if path else 'result.state'}"
        )
    if checkpoint.method != method:
        raise ValueError(
            f"state is of method {checkpoint.method!r}: pass method={checkpoint.method!r}"
        )
    kept, x0 = checkpoint.state.x, run.state.x
    if kept.shape != x0.shape:
        raise ValueError(f"state has {kept.size} variables and x0 has {x0.size}: pass the same x0")
    if kept.dtype != x0.dtype:
        raise ValueError(f"state is of {kept.dtype} and x0 of {x0.dtype}")
    theirs = isinstance(checkpoint.state.descent, External)
    if theirs != (run.descend is not None):
        raise ValueError(
            f"state is of a run {'with' if theirs else 'without'} descent=: "
            f"{'pass the same' if theirs else 'leave it out'}, or start anew from result.x"
        )
    if checkpoint.scale is not None:
        raise ValueError("state is of a run with x_scale: pass the same, or start anew")
    within = isinstance(run, BoxRun)
    if within != (checkpoint.within is not None):
        raise ValueError(
            f"state is of a run {'without' if within else 'with'} bounds: "
            f"{'leave them out' if within else 'pass the same'}, or start anew from result.x"
        )
    if checkpoint.products != run.parameters.products:
        raise ValueError(
            f"state is of a run {'with' if checkpoint.products else 'without'} hessp=: "
            f"{'pass the same' if checkpoint.products else 'leave it out'}, "
            "or start anew from result.x"
        )
    _same_promise(run, checkpoint)
    run.state, run.value = copied(checkpoint.state), checkpoint.value
    run.gradient, run.iterate = copied(checkpoint.gradient), Seen(run.state.x.copy())
    run.earlier, run.begun = checkpoint.gradients, -checkpoint.searched
    if isinstance(run, BoxRun) and checkpoint.within is not None:
        run.go_on(*checkpoint.within)
    if checkpoint.best is not None:
        run.oracle.lowest_at, run.oracle.lowest = copied(checkpoint.best)


def _same_promise(run: Run, checkpoint: Checkpoint) -> None:
    """Refuse a state whose certificate would promise something else than is asked for now."""
    p = run.parameters
    wanted = {
        "tol": p.tolerance,
        "curvature_tol": p.curvature_tol,
        "failure_probability": p.failure_probability,
    }
    for name, now in wanted.items():
        then = checkpoint._asdict()[name]
        if then != now:
            raise ValueError(
                f"state is of a run with {name} {then:.3g}, and {now:.3g} is asked for: "
                f"pass the same {name}, or start anew from result.x without state"
            )
