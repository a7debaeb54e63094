"""From a run that ended to the result a user reads."""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from textwrap import fill as wrapped
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate, certificate, ending, table
from unsaddle.core.evidence import evidence, phase_told, read
from unsaddle.core.outcome import ENDS, STATUS, EndError, Outcome
from unsaddle.core.phases import CERTIFIED, GRADIENT
from unsaddle.core.records import leaves, new
from unsaddle.core.resolution import visible_change
from unsaddle.core.session import NotFiniteError, Query
from unsaddle.descents import progress
from unsaddle.descents.epoch import Memory as Epochs
from unsaddle.escapes import krylov
from unsaddle.numpy.bounded import BoxRun
from unsaddle.numpy.checkpoint import Checkpoint, copied
from unsaddle.numpy.inputs import point
from unsaddle.numpy.loop import Run
from unsaddle.numpy.ops import Vector, ops
from unsaddle.numpy.oracle import Best

IDLE = (
    "The gradient is {:.3g} long where descent has stopped: give it a smaller tolerance of its own."
)
BACK = "What descent returned after a jump is no lower than where it had stopped before."
SUSPECT = "If jac may be wrong, try scipy.optimize.check_grad(fun, jac, x0)."
NOISY = "The gradient is made of differences of fun: where fun is noisy or has kinks, pass jac."
KINK = "{:,} steps have lowered neither the function nor its gradient: is it smooth there?"
SLOW = "The descent takes {:,} steps and no more: start anew from result.x, or with method='auto'."
FELL = "The gradient fell from {:.2g} to {:.2g}: if {} shows no more of it, pass tol={:.0e}."
DROWNED = "The gradient fell from {:.2g} to {:.2g}, where its noise is {:.1g}: pass tol={:.0e}."
GREW = "The gradient grew from {:.2g} to {:.2g} before: smoothness is likely too small; pass more."
UNITS = "x0 is only {:.1g} long: if that is for its units, choose some in which x is near 1."
NUMERICAL = "The gradient is numerical, good to {:.0e}{}."
LOST = (Outcome.STALLED, Outcome.UNRESOLVED, Outcome.UNBOUNDED, Outcome.JUMP_FAILED)
DOUBTED = (Outcome.UNCERTIFIED, Outcome.STALLED)  # whose message says nothing of the certificate
CUT_SHORT = (Outcome.NOT_FINITE, Outcome.INTERRUPTED, Outcome.STOPPED, Outcome.BUDGET)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    small: float = 1e-6  # length of x0, (0, 1): a step or a probe of the usual length is too long
    fell: float = 1e-2  # of the first gradient, (0, 1): below it, jac cannot be all wrong
    grew: float = 1e3  # of the first gradient, above 1: steps that lead so far up are too long
    patience: int = 20  # gradients, 1 to 1000: so many without any descent are no accident


TUNING = Tuning()

BRIEF: dict[str, Callable[[Any], str]] = {  # how a field is printed
    "message": str,
    "certificate": str,
    "history": lambda it: f"queries: {len(it.phase)}, with .phase, .value, .gradient_norm of each",
    "best": lambda it: f"fun {it.fun:.6g} at best.x",
    "parameters": lambda it: ", ".join(_settings(it)),
    "runs": lambda it: ", ".join(run.outcome.name for run in it),
}


class Result(OptimizeResult):
    """SciPy's result, printed so that it fits a screen."""

    def __repr__(self) -> str:
        """Give SciPy's list of fields, the long ones in brief."""
        once = {"message": str(self.message).replace(f" {self.certificate}", "")}
        fields = OptimizeResult({**self, **once})
        brief = {
            name: wrapped(show(fields[name]), 80) for name, show in BRIEF.items() if name in self
        }
        return repr(OptimizeResult({**fields, **brief}))

    def _repr_html_(self) -> str:
        """Give a notebook a small table, and the curve if matplotlib is there."""
        shown = {
            "outcome": self.outcome.value,
            "certificate": self.certificate,
            "fun": f"{self.fun:.10g}",
            "x": np.array2string(self.x, precision=6, threshold=10),
            "|projected gradient|" if self.certificate.free is not None else "|gradient|": (
                f"{_slope(self):.3g}"
            ),
            "gradients, values": f"{self.njev}, {self.nfev}",
        }
        picture = ""
        with contextlib.suppress(ImportError):
            from unsaddle.numpy.plot import as_svg

            picture = as_svg(self) if len(self.history.phase) else ""
        return f"{table(shown)}{picture}"


def _slope(result: Any) -> float:
    """Give the norm of the gradient at x, as far as it counts."""
    within = result.certificate.free is not None
    return result.certificate.gradient_norm if within else float(np.linalg.norm(result.jac))


class End(NamedTuple):
    """How a run ended, and where."""

    outcome: Outcome
    at: Best
    certificate: Certificate
    gradient: Vector | None = None  # at that point, if it is known


def conclude(run: Run, method: str, start: Any) -> OptimizeResult:
    """Run to the end; an exception of the user's function has the result so far as ``unsaddle``."""
    try:
        end = _settled(run, run.go(), start)
    except Exception as error:
        at = _lowest(run, Outcome.INTERRUPTED, start)
        with contextlib.suppress(AttributeError):  # the user's exception may take none
            so_far = End(Outcome.INTERRUPTED, at, _undecided(run), _gradient(run, at.x))
            error.unsaddle = _result(run, method, start, so_far)  # type: ignore[attr-defined]
        raise
    return _result(run, method, start, end)


def _settled(run: Run, cut: Outcome | None, start: Any) -> End:
    """Settle what the run has shown, and at which point; ``cut`` is what ended it from outside."""
    settings, x, value = run.parameters.escape, run.state.x.copy(), math.nan
    searched = run.oracle.gradients - run.begun
    products = run.oracle.products - run.begun_products
    noise = settings.unit if isinstance(settings, krylov.Settings) else 0.0
    claim = read(ops, run.parameters, run.state, searched, products)
    outcome = cut or ENDS[phase_told(ops, run.state, claim.coarser)]
    shown = certificate(claim, noise, settled=run.settled)
    if isinstance(run, BoxRun):
        shown = run.restricted(shown)
    shown = doubted(shown, run.doubt)
    if outcome in CUT_SHORT and run.state.phase == CERTIFIED:
        shown = _undecided(run)  # before the claim was checked
    if outcome not in CUT_SHORT:
        try:
            value = run.value_at(x)
        except NotFiniteError:
            outcome = Outcome.NOT_FINITE
        except KeyboardInterrupt:
            outcome, shown = Outcome.INTERRUPTED, _undecided(run)
        except EndError:  # with jac=True a value takes a gradient, and there is none left
            pass
    at, best = Best(x, value), run.oracle.best
    if outcome in (*CUT_SHORT, Outcome.UNBOUNDED):
        at = _lowest(run, outcome, start)
    elif outcome is Outcome.STALLED and best is not None and best.fun < value:
        explained = 4 * shown.gradient_noise * float(np.linalg.norm(x - best.x))
        fell = value - best.fun > max(visible_change(ops, x, value, value), explained)
        at = copied(best) if fell else at
    if outcome is Outcome.NOT_FINITE or not np.array_equal(at.x, x):
        shown = _undecided(run)  # what was shown is not of this point
    gradient = _gradient(run, at.x)
    if outcome is Outcome.STALLED and gradient is None:  # a trial was the lowest
        try:
            gradient = _asked(run, at.x)
        except KeyboardInterrupt:
            outcome = Outcome.INTERRUPTED
        except EndError:  # none is left
            pass
    run.begun = run.oracle.gradients - searched  # reporting is no part of a search
    return End(outcome, at, shown, gradient)


def _asked(run: Run, x: Vector) -> Vector | None:
    """Ask for the gradient at x when the run is over; None where it is not finite."""
    gradient = run.oracle.answer(x.copy(), Query(x, GRADIENT))[1]
    run.report(math.nan, math.nan if gradient is None else ops.norm(gradient))
    return gradient if gradient is not None and ops.finite(gradient) else None


def doubted(shown: Certificate, doubt: str) -> Certificate:
    """Say in a certificate what it is doubted for; where nothing is claimed, that alone."""
    note = doubt if shown.holds is None else f"{shown.note} {doubt}"
    return dataclasses.replace(shown, note=note) if doubt else shown


def _undecided(run: Run) -> Certificate:
    """Give the certificate of a run that has shown nothing of the second order."""
    gamma = run.parameters.curvature_tol or math.nan
    return Certificate(None, gamma, 1.0, math.nan, None, 0, "")


def _result(run: Run, method: str, start: Any, end: End) -> OptimizeResult:
    """Write down where a run ended, what that shows, and what it has cost."""
    outcome, (x, value), shown, jac = end
    oracle, note = run.oracle, shown.note
    if oracle.noise and shown.holds is not None:
        error = oracle.noise * max(1.0, abs(value)) * math.sqrt(x.size)
        beyond = ", which is more than tol" if error > run.parameters.tolerance else ""
        note = f"{note} {NUMERICAL.format(error, beyond)}".strip()
    spent = run.earlier + oracle.gradients + oracle.products
    share = (shown.gradients + shown.products) / max(spent, 1)
    shown = dataclasses.replace(shown, share=share, note=note)
    after = f" after {oracle.gradients} gradients"
    run.happened("end", shown.curvature, ending(outcome.name.lower(), shown, after))
    said = str(shown) if shown.holds is not None else ""
    advice = _advice(run, start, outcome, x, shown.gradient_noise)
    return Result(
        x=x,
        fun=value,
        jac=np.full_like(x, math.nan) if jac is None else jac.copy(),
        success=outcome is Outcome.CERTIFIED,
        status=STATUS[outcome],
        message=" ".join(filter(None, (outcome.value, said, advice))),
        nfev=oracle.values,
        njev=oracle.gradients,
        nit=run.iterations,
        nhvp=oracle.products,
        outcome=outcome,
        certificate=shown,
        history=run.history,
        best=end.at if oracle.best is None or oracle.best.fun > value else oracle.best,
        parameters=run.parameters,
        state=_checkpoint(run, method),
    )


def _checkpoint(run: Run, method: str) -> Checkpoint:
    """Keep what another call needs to go on; of a certified run nothing but where it ended."""
    state, p, oracle = run.state, run.parameters, run.oracle
    certified = state.phase == CERTIFIED
    if certified:
        state = _without_blocks(state)
    return Checkpoint(
        method=method,
        state=state,
        value=run.value,
        gradient=None if state.phase < 0 or run.gradient is None else run.gradient.copy(),
        gradients=run.earlier + oracle.gradients,
        searched=oracle.gradients - run.begun,
        best=None if oracle.best is None or certified else copied(oracle.best),
        tol=p.tolerance,
        curvature_tol=p.curvature_tol,
        failure_probability=p.failure_probability,
        within=run.kept() if isinstance(run, BoxRun) else None,
        products=p.products,
    )


def _without_blocks(part: Any) -> Any:
    """Give a part of a record whose blocks of vectors are empty; a certified run needs none."""
    if isinstance(part, tuple):
        return new(type(part), map(_without_blocks, part))
    return part[:0].copy() if isinstance(part, np.ndarray) and part.ndim > 1 else part


def _gradient(run: Run, x: Vector) -> Vector | None:
    """Give the gradient at x, if it was seen there or is kept by the search."""
    if isinstance(run, BoxRun):
        return run.gradient_at(x)
    for at in (run.iterate, run.lowest):
        own = at.gradient is not None and ops.norm(at.gradient) == at.norm
        if own and np.array_equal(at.x, x):
            return at.gradient
    kept = not math.isnan(read(ops, run.parameters, run.state, 0).gradient_norm)
    return evidence(ops, run.state).gradient if kept and np.array_equal(run.state.x, x) else None


def _settings(parameters: Any) -> list[str]:
    """Write every setting as name=value, but for those that are zero: not given, or off."""
    own = parameters._replace(proof=None, proof_sample=0)
    known = {name.rpartition(".")[2]: leaf for name, leaf in leaves(own)}
    return [f"{name}={leaf:.3g}" for name, leaf in known.items() if leaf and leaf < math.inf]


def _advice(run: Run, start: Any, outcome: Outcome, x: Vector, noise: float) -> str:
    """Say what may be amiss: units, tol, or jac, if it leads down where fun does not fall."""
    norm, tolerance = run.iterate.norm, run.parameters.tolerance
    if outcome is Outcome.NOT_FINITE and "hessp" in run.trouble:
        return f"It was {run.trouble.replace('returned', 'that returned')}."
    norms = [*filter(math.isfinite, run.norms)]
    steps = getattr(run.parameters.descent, "step", 0.0)  # 1/smoothness, or a share of it
    if outcome is Outcome.NOT_FINITE and steps and norms and max(norms) > TUNING.grew * norms[0]:
        return GREW.format(norms[0], max(norms))
    if run.doubt and outcome in DOUBTED:
        return run.doubt
    theirs = run.descend is not None and not isinstance(run, BoxRun)
    if outcome is Outcome.STALLED and theirs:
        return IDLE.format(norm) if norm > tolerance else BACK
    descent = run.state.descent
    if outcome is Outcome.STALLED and isinstance(descent, Epochs) and descent.progress.stuck:
        return _stuck(descent.progress.steps)
    size = ops.norm(point(start)) if outcome in LOST else 0.0
    if 0 < size < TUNING.small:
        return UNITS.format(size)
    began = run.norms[0] if len(run.norms) > TUNING.patience else 0.0
    if outcome is Outcome.STALLED and not run.oracle.noise and norm < TUNING.fell * began:
        if noise > tolerance:
            return DROWNED.format(began, norm, noise, 2 * max(norm, noise))
        return FELL.format(began, norm, x.dtype, 2 * norm)
    waits = outcome not in (Outcome.CERTIFIED, Outcome.UNBOUNDED) and began > tolerance
    climbs = waits and np.array_equal(x, np.ravel(start))
    doubted = NOISY if run.oracle.noise else SUSPECT
    return doubted if climbs or outcome in (Outcome.STALLED, Outcome.JUMP_FAILED) else ""


def _stuck(steps: int) -> str:
    """Say why parameter-free accelerated descent has given up."""
    lap, most = progress.TUNING.lap, progress.TUNING.most
    return SLOW.format(most) if steps >= most else KINK.format(lap)


def _lowest(run: Run, outcome: Outcome, start: Any) -> Best:
    """Give the lowest point of a run cut short: of those with values, the iterate and x0."""
    iterate = run.iterate.x
    futile = outcome is Outcome.NOT_FINITE and not run.codes  # x0 itself is not to be had
    if not (futile or outcome is Outcome.INTERRUPTED or run.oracle.together):
        run.oracle.limit = math.inf
        for x in (iterate, point(start)):
            with contextlib.suppress(NotFiniteError, KeyboardInterrupt):
                run.value_at(x)
    return copied(run.oracle.best or Best(iterate, math.nan))
