"""From a run that ended to the result a user reads."""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate
from unsaddle.certify import follow, look_around, read_search, search
from unsaddle.checkpoint import Checkpoint
from unsaddle.driver import Best, BudgetError, Look, Run
from unsaddle.escapes import krylov
from unsaddle.escapes.anc import anc
from unsaddle.escapes.stride import MEASURE
from unsaddle.kernel import GRADIENT, VALUE, Outcome
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import NotFiniteError, point

STATUS = {Outcome.CERTIFIED: 0} | {
    outcome: code
    for code, outcome in enumerate((o for o in Outcome if o is not Outcome.CERTIFIED), start=1)
}
CUT_SHORT = (Outcome.NOT_FINITE, Outcome.INTERRUPTED, Outcome.STOPPED, Outcome.BUDGET)

Callback = Callable[[Run], None] | None


class Request(NamedTuple):
    """What the user asked for."""

    method: str
    start: Any  # x0 as it was given, or the x of the state gone on from
    limit: float
    gamma: float  # curvature_tol, or what follows from the constants, or zero
    failure_probability: float


def conclude(run: Run, outcome: Outcome, request: Request, callback: Callback) -> OptimizeResult:
    """Settle what the run has shown, and at which point.

    Args:
        run: Which ended.
        outcome: How.
        request: What was asked for.
        callback: Called after every gradient.

    Returns:
        The result.
    """
    certificate = undecided(request)
    going = outcome is Outcome.TESTED
    while going:
        outcome, certificate = _confirm(run, request, callback)
        going = outcome is Outcome.REFUTED and run.state.phase == MEASURE
        if going:  # a way down: take it
            outcome, certificate = run.go(request.limit, callback), undecided(request)
            going = outcome is Outcome.TESTED
    ended = run.state
    if ended.phase < 0:
        run.gradient = None  # of use to nobody, and as long as x
    if outcome in (Outcome.CERTIFIED, Outcome.JUMP_FAILED) and certificate.holds is None:
        certificate = read_search(ended, request.failure_probability, ended.escape.steps)
    at, outcome = _settle(run, outcome, request)
    if outcome is Outcome.NOT_FINITE:
        certificate = undecided(request)
    if outcome in CUT_SHORT:
        at = _lowest(run, outcome, request)
    return _result(run, request, outcome, certificate, at)


def interim(run: Run, request: Request) -> OptimizeResult:
    """Give what there is so far, without another call of the user's function.

    Args:
        run: That was cut short.
        request: What was asked for.

    Returns:
        The result so far.
    """
    at = _lowest(run, Outcome.INTERRUPTED, request)
    return _result(run, request, Outcome.INTERRUPTED, undecided(request), at)


def undecided(request: Request) -> Certificate:
    """Give the certificate of a run that has shown nothing of the second order."""
    return Certificate(None, request.gamma or math.nan, 1.0, math.nan, None, 0, "")


def _result(
    run: Run, request: Request, outcome: Outcome, certificate: Certificate, at: Best
) -> OptimizeResult:
    x, value = at
    seen = run.iterate
    jac = seen.gradient if seen.x is not None and np.array_equal(seen.x, x) else None
    best = run.best
    if best is None or best.fun > value:
        best = at
    if run.oracle.noise and certificate.holds is not None:
        note = f"{certificate.note} The gradient is numerical, good to {run.oracle.noise:.0e}."
        certificate = dataclasses.replace(certificate, note=note.strip())
    message = outcome.value if certificate.holds is None else f"{outcome.value} {certificate}"
    return OptimizeResult(
        x=x,
        fun=value,
        jac=np.full_like(x, math.nan) if jac is None else jac.copy(),
        success=outcome is Outcome.CERTIFIED,
        status=STATUS[outcome],
        message=message,
        nfev=run.oracle.values,
        njev=run.oracle.gradients,
        nit=run.iterations,
        outcome=outcome,
        certificate=certificate,
        history=run.history,
        best=best,
        parameters=run.parameters,
        state=Checkpoint(request.method, run.state, run.value, run.gradient),
    )


def _confirm(run: Run, request: Request, callback: Callback) -> tuple[Outcome, Certificate]:
    """Put a certificate behind a method's own test, or take over from Lanczos when it is full."""
    tested, own, phases = run.state, run.parameters, run.phases
    before, delta = run.oracle.gradients, request.failure_probability
    full = isinstance(tested.escape, krylov.Memory)
    try:
        if full:
            run.gradient = tested.escape.gradient.copy()
            settings, place = follow(tested, "anc", delta), (tested.x, tested.seed, tested.episode)
            end = search(run, anc, settings, *place, request.limit, callback)
        else:
            run.look(tested.x.copy(), GRADIENT, request.limit, here=True, name="confirm")
            end = look_around(
                run, tested.x, request.gamma, delta, tested.seed, tested.episode, request.limit,
                callback=callback,
            )  # fmt: skip
    except NotFiniteError:
        end = Outcome.NOT_FINITE
    except KeyboardInterrupt:
        end = Outcome.INTERRUPTED
    except BudgetError:
        end = Outcome.BUDGET
    found, run.state, run.parameters, run.phases = run.state, tested, own, phases
    if end in CUT_SHORT:
        return end, undecided(request)
    certificate = read_search(found, delta, run.oracle.gradients - before)
    if full and certificate.holds is False:
        known = tested.escape._replace(
            direction=certificate.direction,
            curvature=certificate.curvature,
            sight=found.escape.sight,
            found=tested.escape.steps,
        )
        run.state = tested._replace(escape=known, phase=MEASURE, episode=found.episode)
    outcomes = {True: Outcome.CERTIFIED, False: Outcome.REFUTED, None: end}
    return outcomes[certificate.holds], certificate


def _settle(run: Run, outcome: Outcome, request: Request) -> tuple[Best, Outcome]:
    """Give the point at which a kernel ended, with its value."""
    if outcome in CUT_SHORT:
        return Best(run.state.x, math.nan), outcome
    x, value = run.state.x.copy(), math.nan
    searched = outcome not in (Outcome.STALLED, Outcome.UNBOUNDED)
    part = run.state.escape if searched else run.state.descent
    known = getattr(part, "gradient", None)
    same = np.array_equal(run.iterate.x, x)
    if known is not None and (run.iterate.gradient is None or not same):
        run.iterate = Look(x, run.iterate.value if same else None, known.copy())
    try:
        value = _value(run, x, request.limit)
    except NotFiniteError:
        outcome = Outcome.NOT_FINITE
    except (BudgetError, KeyboardInterrupt):
        pass
    return Best(x, value), outcome


def _value(run: Run, x: Vector, limit: float) -> float:
    """Give the value at x, from memory where it was seen, else by one more call."""
    for seen, value in (run.iterate[:2], run.best or (None, None)):
        if seen is not None and value is not None and np.array_equal(seen, x):
            return value
    run.look(x.copy(), VALUE, limit, here=False, name="report")
    return run.value


def _lowest(run: Run, outcome: Outcome, request: Request) -> Best:
    """Give the lowest point of a run cut short: of those with values, the iterate and x0."""
    iterate = run.iterate.x
    if outcome is not Outcome.INTERRUPTED and run.oracle.jac is not True:
        for x in (iterate, point(request.start)):
            with contextlib.suppress(NotFiniteError, KeyboardInterrupt):
                _value(run, x, math.inf)
    best = run.best or Best(iterate, math.nan)
    return Best(best.x.copy(), best.fun)
