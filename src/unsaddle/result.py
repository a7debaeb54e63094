"""From a run that ended to the result a user reads."""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate
from unsaddle.certify import SEARCHES, read_search, search, search_settings
from unsaddle.checkpoint import Checkpoint
from unsaddle.driver import Best, BudgetError, Run
from unsaddle.kernel import GRADIENT, VALUE, Outcome
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import NotFiniteError

STATUS = {Outcome.CERTIFIED: 0} | {
    outcome: code
    for code, outcome in enumerate((o for o in Outcome if o is not Outcome.CERTIFIED), start=1)
}


class Request(NamedTuple):
    """What the user asked for."""

    method: str
    start: Vector
    limit: float
    curvature_tol: float | None
    failure_probability: float
    smoothness: float
    hessian_lipschitz: float
    tol: float

    @property
    def gamma(self) -> float:
        """Curvature to certify."""
        return self.curvature_tol or math.sqrt(self.hessian_lipschitz * self.tol)


def conclude(run: Run, outcome: Outcome, request: Request) -> OptimizeResult:
    """Settle what the run has shown, and at which point.

    Args:
        run: Which ended.
        outcome: How.
        request: What was asked for.

    Returns:
        The result.
    """
    certificate, ended = _undecided(request), run.state
    if outcome is Outcome.TESTED:
        outcome, certificate = _confirm(run, request)
    elif outcome in (Outcome.CERTIFIED, Outcome.JUMP_FAILED):
        certificate = read_search(
            ended, request.gamma, request.failure_probability, ended.escape.steps
        )
    if outcome in (Outcome.CERTIFIED, Outcome.TESTED, Outcome.REFUTED, Outcome.JUMP_FAILED):
        at = Best(ended.x, _value(run, ended.x))
    else:
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
    return _result(run, request, Outcome.INTERRUPTED, _undecided(request), at)


def _result(
    run: Run, request: Request, outcome: Outcome, certificate: Certificate, at: Best
) -> OptimizeResult:
    x, value = at
    seen = run.iterate
    jac = seen.gradient if seen.x is not None and np.array_equal(seen.x, x) else None
    best = run.best
    if best is None or not best.fun < value:
        best = Best(x, value)
    message = outcome.value if certificate.holds is None else f"{outcome.value} {certificate}"
    return OptimizeResult(
        x=x,
        fun=value,
        jac=np.full_like(x, math.nan) if jac is None else jac,
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


def _confirm(run: Run, request: Request) -> tuple[Outcome, Certificate]:
    """Put the growth certificate behind a method's own termination test."""
    tested, method_parameters = run.state, run.parameters
    before = run.oracle.gradients
    settings = search_settings(
        "anc",
        request.smoothness,
        request.hessian_lipschitz,
        request.gamma,
        request.failure_probability,
        tested.x,
    )
    try:
        run.look(tested.x.copy(), GRADIENT, request.limit, here=True, name="confirm")
    except (BudgetError, NotFiniteError):
        return Outcome.TESTED, _undecided(request)
    search(run, SEARCHES["anc"], settings, tested.x, tested.seed, tested.episode, request.limit)
    certificate = read_search(
        run.state, request.gamma, request.failure_probability, run.oracle.gradients - before
    )
    run.state, run.parameters = tested, method_parameters
    outcomes = {True: Outcome.CERTIFIED, False: Outcome.REFUTED, None: Outcome.TESTED}
    return outcomes[certificate.holds], certificate


def _undecided(request: Request) -> Certificate:
    return Certificate(None, request.gamma, 1.0, math.nan, None, 0, "")


def _value(run: Run, x: Vector) -> float:
    """Give the value at x, from memory where it was seen, else by one more call."""
    for seen, value in (run.iterate[:2], run.best or (None, None)):
        if seen is not None and value is not None and np.array_equal(seen, x):
            return value
    try:
        run.look(x.copy(), VALUE, math.inf, here=False, name="report")
    except NotFiniteError:
        return math.nan
    return run.value


def _lowest(run: Run, outcome: Outcome, request: Request) -> Best:
    """Give the lowest point of an unfinished run: of those with values, the iterate and x0."""
    iterate = request.start if run.iterate.x is None else run.iterate.x
    if outcome is Outcome.INTERRUPTED or run.oracle.jac is True:
        known = run.best or Best(iterate, math.nan)
        return known if run.iterate.value is not None or run.best else Best(iterate, math.nan)
    for x in (iterate, request.start):
        _value(run, x)
    return run.best or Best(iterate, math.nan)
