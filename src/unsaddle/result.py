"""From a run that ended to the result a user reads."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate
from unsaddle.certify import follow, look_around, search
from unsaddle.checkpoint import Checkpoint
from unsaddle.driver import Best, EndError, Look, Run, Within
from unsaddle.escapes import krylov
from unsaddle.escapes.anc import anc
from unsaddle.escapes.stride import MEASURE
from unsaddle.kernel import CERTIFIED, GRADIENT, VALUE, Outcome, State
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import NotFiniteError, point
from unsaddle.search import read

STATUS = {Outcome.CERTIFIED: 0} | {
    outcome: code
    for code, outcome in enumerate((o for o in Outcome if o is not Outcome.CERTIFIED), start=1)
}
IDLE = (
    "The gradient is {:.3g} long where descent has stopped: give it a smaller tolerance of its own."
)
BACK = "What descent returned after a jump is no lower than where it had stopped before."
SUSPECT = "If jac may be wrong, try scipy.optimize.check_grad(fun, jac, x0)."
ROUGH = "The gradient is made of differences of fun: where fun is noisy or has kinks, pass jac."
FELL = "The gradient fell from {:.2g} to {:.2g}: if {} shows no more of it, pass tol={:.0e}."
UNITS = "x0 is only {:.1g} long: if that is for its units, choose some in which x is near 1."
SMALL = 1e-6  # length of x0, below which a step or a probe of the usual length is too long for it
LOST = (Outcome.STALLED, Outcome.BLIND, Outcome.UNBOUNDED, Outcome.JUMP_FAILED)
FAR = 1e-2  # share of the first gradient: below it, jac cannot be all wrong
VISIBLE = 16  # roundoffs of a value that are seen
PATIENCE = 20  # gradients without any descent
CUT_SHORT = (Outcome.NOT_FINITE, Outcome.INTERRUPTED, Outcome.STOPPED, Outcome.BUDGET)

BRIEF: dict[str, Callable[[Any], str]] = {  # how a field is printed
    "message": str,
    "certificate": str,
    "history": lambda it: f"looks: {len(it.phase)}, with .phase, .value and .gradient_norm of each",
    "best": lambda it: f"fun {it.fun:.6g} at best.x",
    "parameters": lambda it: ", ".join(_settings("", it)),
    "runs": lambda it: ", ".join(run.outcome.name for run in it),
}

Callback = Callable[[Run], None] | None


class Result(OptimizeResult):
    """SciPy's result, printed so that it fits a screen."""

    def __repr__(self) -> str:
        """Give SciPy's list of fields, the long ones in brief."""
        once = {"message": str(self.message).replace(f" {self.certificate}", "")}
        fields = OptimizeResult({**self, **once})
        brief = {name: fill(show(fields[name]), 80) for name, show in BRIEF.items() if name in self}
        return repr(OptimizeResult({**fields, **brief}))


class Request(NamedTuple):
    """What the user asked for."""

    method: str
    start: Any  # x0 as it was given, or the x of the state gone on from
    limit: float
    gamma: float  # curvature_tol, or what follows from the constants, or zero
    failure_probability: float
    known: tuple[float, float] = (0.0, 0.0)  # l and rho, or zero


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
    if ended.phase < 0 and not run.within:
        run.gradient = None  # of use to nobody, and as long as x
    searched = run.oracle.gradients - run.begun
    if outcome in (Outcome.CERTIFIED, Outcome.JUMP_FAILED) and certificate.holds is None:
        noise = getattr(run.parameters.escape, "noise", 0.0)
        certificate = read(ops, ended, request.failure_probability, searched, noise)
    at, outcome = _settle(run, outcome, request)
    if outcome is Outcome.NOT_FINITE:
        certificate = undecided(request)
    if outcome in (*CUT_SHORT, Outcome.UNBOUNDED):
        at = _lowest(run, outcome, request)
    lowest, visible = run.best or at, VISIBLE * ops.roundoff(at.x) * abs(at.fun)
    if outcome is Outcome.STALLED and lowest.fun < at.fun - visible:
        at = _copied(lowest)
    run.begun = run.oracle.gradients - searched  # reporting is no part of a search
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


def promise(run: Run, request: Request) -> tuple[float, float, float]:
    """Give what a certificate of this run would promise: tol, gamma and delta."""
    return run.parameters.tolerance, request.gamma, request.failure_probability


def undecided(request: Request) -> Certificate:
    """Give the certificate of a run that has shown nothing of the second order."""
    return Certificate(None, request.gamma or math.nan, 1.0, math.nan, None, 0, "")


def _result(
    run: Run, request: Request, outcome: Outcome, certificate: Certificate, at: Best
) -> OptimizeResult:
    x, value = at
    jac = _gradient(run, at)
    best = run.best
    if best is None or best.fun > value:
        best = at
    spent = run.before + run.oracle.gradients
    share = certificate.gradients / max(spent, 1)
    certificate = dataclasses.replace(certificate, share=share)
    if run.oracle.noise and certificate.holds is not None:
        error = run.oracle.noise * max(1.0, abs(value)) * math.sqrt(x.size)
        beyond = ", which is more than tol" if error > run.parameters.tolerance else ""
        note = f"{certificate.note} The gradient is numerical, good to {error:.0e}{beyond}."
        certificate = dataclasses.replace(certificate, note=note.strip())
    shown = "" if certificate.holds is None else str(certificate)
    says = (outcome.value, shown, _advice(run, request, outcome, x))
    return Result(
        x=x,
        fun=value,
        jac=np.full_like(x, math.nan) if jac is None else jac.copy(),
        success=outcome is Outcome.CERTIFIED,
        status=STATUS[outcome],
        message=" ".join(filter(None, says)),
        nfev=run.oracle.values,
        njev=run.oracle.gradients,
        nit=run.iterations,
        outcome=outcome,
        certificate=certificate,
        history=run.history,
        best=best,
        parameters=run.parameters,
        state=Checkpoint(
            request.method,
            _lightened(run.state),
            run.value,
            run.gradient,
            spent,
            run.oracle.gradients - run.begun,
            None if run.best is None or run.state.phase == CERTIFIED else _copied(run.best),
            *promise(run, request),
            run.within,
        ),
    )


def _gradient(run: Run, at: Best) -> Vector | None:
    """Give the gradient at a point, if it was seen at an iterate or is kept by the method."""
    if np.array_equal(run.iterate.x, at.x):
        return run.iterate.gradient
    norms = {norm for value, norm in zip(run.values, run.norms, strict=True) if value == at.fun}
    for part in (run.state.descent, run.state.escape):
        kept = getattr(part, "gradient", None)
        if kept is not None and np.array_equal(run.state.x, at.x) and ops.norm(kept) in norms:
            return kept
    return None


def _copied(best: Best) -> Best:
    return Best(best.x.copy(), best.fun)


def _lightened(state: State) -> State:
    """Let go of what a run that is certified does not need again: all arrays of vectors."""

    def shed(tree: Any) -> Any:
        if isinstance(tree, np.ndarray):
            return tree[:0].copy() if tree.ndim > 1 else tree
        return type(tree)(*map(shed, tree)) if isinstance(tree, tuple) else tree

    return shed(state) if state.phase == CERTIFIED else state


def _settings(name: str, tree: Any) -> Iterator[str]:
    """Write every setting as name=value, but for those that are zero: not given, or off."""
    if isinstance(tree, tuple):
        for field, part in zip(tree._fields, tree, strict=True):  # type: ignore[attr-defined]
            yield from _settings(field, part)
    elif tree:
        yield f"{name}={tree:.3g}"


def _advice(run: Run, request: Request, outcome: Outcome, x: Vector) -> str:
    """Say what may be amiss: units, tol, or jac, if it leads down where fun does not fall."""
    if outcome is Outcome.STALLED and run.descend is not None:
        idle = run.iterate.norm > run.parameters.tolerance
        return IDLE.format(run.iterate.norm) if idle else BACK
    size, norm = ops.norm(point(request.start)) if outcome in LOST else 0.0, run.iterate.norm
    if 0 < size < SMALL:
        return UNITS.format(size)
    began = run.norms[0] if len(run.norms) > PATIENCE else 0.0
    if outcome is Outcome.STALLED and not run.oracle.noise and norm < FAR * began:
        return FELL.format(began, norm, x.dtype, 2 * norm)
    waits = (
        outcome not in (Outcome.CERTIFIED, Outcome.UNBOUNDED) and began > run.parameters.tolerance
    )
    climbs = waits and np.array_equal(x, np.ravel(request.start))
    doubted = ROUGH if run.oracle.noise else SUSPECT
    return doubted if climbs or outcome in (Outcome.STALLED, Outcome.JUMP_FAILED) else ""


def _confirm(run: Run, request: Request, callback: Callback) -> tuple[Outcome, Certificate]:
    """Put a certificate behind a method's own test, or take over from Lanczos when it is full."""
    tested, full = run.state, isinstance(run.state.escape, krylov.Memory)
    before = run.begun if full or run.within else run.oracle.gradients
    try:
        end, found = _search(run, request, callback, full)
    finally:
        run.begun = before
    if end in CUT_SHORT:
        return end, undecided(request)
    certificate = read(ops, found, request.failure_probability, run.oracle.gradients - before)
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


def _search(run: Run, request: Request, callback: Callback, full: bool) -> tuple[Outcome, State]:
    """Search where the run has ended, which stays as it was; cut short, the search is kept."""
    tested, own, phases = run.state, run.parameters, run.phases
    x, seed, episode = place = tested.x, tested.seed, tested.episode
    delta, end = request.failure_probability, Outcome.STOPPED
    try:
        if full:
            run.gradient = run.gradient if run.within else tested.escape.gradient.copy()
            settings = follow(tested, "anc", delta)
            end = search(run, anc, settings, *place, request.limit, callback)
        else:
            if run.within:
                known = run.within.state.escape.gradient.copy()
                run.iterate = Look(x.copy(), None, known, ops.norm(known))
            else:
                run.look(x.copy(), GRADIENT, request.limit, here=True, name="confirm")
            end = look_around(
                run, x, request.gamma, delta, seed, episode, request.limit,
                callback=callback, known=request.known,
            )  # fmt: skip
    except NotFiniteError:
        end = Outcome.NOT_FINITE
    except KeyboardInterrupt:
        end = Outcome.INTERRUPTED
    except EndError as short:
        end = short.outcome
    finally:
        found, settings = run.state, run.parameters.escape
        run.state, run.parameters, run.phases = tested, own, phases
        if found is not tested and end in CUT_SHORT:
            run.within = Within(found, settings)
    return end, found


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
        run.iterate = Look(x, run.iterate.value if same else None, known.copy(), ops.norm(known))
    try:
        value = _value(run, x, request.limit)
    except NotFiniteError:
        outcome = Outcome.NOT_FINITE
    except (EndError, KeyboardInterrupt):
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
    futile = outcome is Outcome.NOT_FINITE and not run.names  # x0 itself is not to be had
    if not (futile or outcome is Outcome.INTERRUPTED or run.oracle.jac is True):
        for x in (iterate, point(request.start)):
            with contextlib.suppress(NotFiniteError, KeyboardInterrupt):
                _value(run, x, math.inf)
    return _copied(run.best or Best(iterate, math.nan))
