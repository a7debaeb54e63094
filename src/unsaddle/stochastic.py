"""``minimize_stochastic``: as ``minimize``, where the gradient is known from samples only."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from unsaddle import practical
from unsaddle.certificate import Certificate
from unsaddle.checkpoint import Checkpoint
from unsaddle.driver import EndError, Look, Run
from unsaddle.hints import recognise
from unsaddle.kernel import SAME, Outcome, Parameters, Solver, State
from unsaddle.methods import STOCHASTIC, override
from unsaddle.minimize import _adapt, resume
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import NotFiniteError, point
from unsaddle.result import CUT_SHORT, STATUS, Request, conclude, interim
from unsaddle.sampling import EXAMINED, Drawn, FiniteSum, SampledOracle
from unsaddle.words import nearest, require

PRESETS = {"practical": False, "printed": True}
COUNTS = {"batch": 1, "search_batch": 1, "check_batch": 1, "window": 1, "probes": 1, "checks": 2}
BATCHES = ("batch", "search_batch", "check_batch")
WORDS = {  # of an outcome's sentence, where gradients are known from samples
    "max_gradients": "max_samples",
    "hessian_lipschitz is too small, or the decrease is below what floating point can see": (
        "hessian_lipschitz is off, or check_batch is too small to show the decrease"
    ),
}


class SampledRun(Run):
    """A run whose looks are at samples, counted one by one."""

    oracle: SampledOracle

    def __init__(self, solver: Solver, parameters: Parameters, oracle: SampledOracle) -> None:
        """Prepare to run.

        Args:
            solver: The method's phases.
            parameters: Its hyperparameters.
            oracle: The user's samples.
        """
        super().__init__(solver, parameters, oracle)
        self.trouble = ""

    def draw(self, state: State, sample: int, size: Callable[[Parameters], int]) -> State:
        """Put the sample that a phase wants in force, unless one is fixed for good.

        Args:
            state: With the number of samples drawn so far.
            sample: NEW or SAME.
            size: How many.

        Returns:
            The state, with the new samples counted.
        """
        if self.oracle.frozen:
            return state
        many = size(self.parameters)
        drawn = state.drawn if sample == SAME else state.drawn + many
        self.oracle.use(state.seed, drawn - many, many, new=sample != SAME)
        return state._replace(drawn=drawn)

    def look(self, point: Vector, needs: int, max_gradients: float, here: bool, name: str) -> None:
        """Look, if all the samples in force are within the budget.

        Args:
            point: Where.
            needs: What for.
            max_gradients: How many gradients of single samples there may be in all.
            here: Whether the point is the iterate.
            name: What for, in the history.

        Raises:
            EndError: If they are not.
            NotFiniteError: If a gradient is NaN or infinite.
        """
        size = self.oracle.size * self.oracle.costs_gradient(needs)
        if self.oracle.gradients + size > max_gradients and size:
            raise EndError(Outcome.BUDGET)
        try:
            super().look(point, needs, math.inf, here, name)
        except NotFiniteError as error:
            self.trouble = str(error)
            raise


def minimize_stochastic(
    grad: Callable[..., Any] | FiniteSum,
    x0: Any,
    sampler: Callable[..., Any] | None = None,
    method: str = "sgd+nc",
    tol: float = 1e-2,  # eps
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_samples: int | None = None,
    callback: Callable[..., Any] | None = None,
    *,
    smoothness: float = math.nan,  # l
    hessian_lipschitz: float = math.nan,  # rho
    stochastic_smoothness: float = math.nan,  # lt
    variance: float = math.nan,  # sigma^2
    decrease_available: float | None = None,  # Delta_f
    preset: str = "practical",
    state: Checkpoint | None = None,
    **options: Any,
) -> OptimizeResult:
    """Find a point with a small gradient and no negative curvature to speak of, from samples.

    Args:
        grad: ``grad(x, batch)``, the mean gradient over a batch of the sampler; or without a
            sampler ``grad(x, rng)``, the gradient of one sample; or a ``FiniteSum``.
        x0: Where to start.
        sampler: ``sampler(rng, size)`` gives a batch of that many independent samples.
        method: ``sgd+nc`` or ``psgd``.
        tol: Gradient norm to reach.
        curvature_tol: Curvature to certify: lambda_min > -curvature_tol. Default sqrt(rho tol).
        failure_probability: Chance of a false certificate, and of an error in each trial.
        seed: All randomness, of noise and samples, is a function of it.
        max_samples: Stop before one gradient of one sample more than this.
        callback: As in ``minimize``.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        stochastic_smoothness: Bound on the norm of every single sample's Hessian.
        variance: Of the gradient of one sample: the mean of |g(x; theta) - g(x)|^2.
        decrease_available: Bound on f(x0) - min f; needed by the printed preset only.
        preset: ``practical``, or ``printed`` for the parameters of the papers.
        state: ``result.state`` of an earlier run, to go on from exactly there instead of from x0.
        **options: Single hyperparameters of the method, in place of the preset's.

    Returns:
        The result of ``minimize``, with ``ndraw``, the samples drawn; ``njev`` counts the gradients
        of single samples, ``fun`` is NaN. ``success`` is True only if a certificate holds at x and
        the gradient is within tol there, both over all the data of a FiniteSum, else over fresh
        samples in a number that the certificate accounts for.

    Raises:
        ValueError: If an argument is out of range; the message names it.
    """
    start = point(x0)
    if isinstance(grad, FiniteSum) and sampler is not None:
        raise ValueError(
            "sampler was given beside a FiniteSum, which draws rows of its data by itself: "
            "leave sampler out, or pass a function as grad"
        )
    source = grad if isinstance(grad, FiniteSum) else Drawn(grad, sampler)
    gamma = curvature_tol or math.sqrt(max(0.0, hessian_lipschitz * tol))
    given = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "stochastic_smoothness": stochastic_smoothness,
        "variance": variance,
        "tol": tol,
        "curvature_tol": gamma,
        "failure_probability": failure_probability,
    }
    if method == "psgd" and max_samples is None:
        raise ValueError("max_samples is missing: psgd never ends by itself; pass max_samples=...")
    parameters = settle(method, preset, start.size, given, decrease_available, options, source)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    if max_samples is not None and not max_samples >= 0:
        raise ValueError(f"max_samples must be >= 0 or None, got {max_samples!r}")
    exact = source.rows is not None
    request = Request(
        method=method,
        start=start.copy(),
        limit=math.inf if max_samples is None else max_samples,
        gamma=gamma if exact else gamma / 2,
        failure_probability=failure_probability if exact else failure_probability / 2,
    )
    oracle, solver = SampledOracle(source, start), STOCHASTIC[method].solver
    run = SampledRun(solver, parameters, oracle)
    if state is None:
        if request.limit >= EXAMINED:
            oracle.examine(start, int(seed) + 1)
        run.state = solver.start(ops, parameters, start, int(seed))
    else:
        resume(run, request, state, start)
    run.iterate = Look(run.state.x.copy(), None, None)
    report = _adapt(callback)
    try:
        outcome = run.go(request.limit, report)
        if outcome is Outcome.TESTED:
            many = source.rows or concentrated(
                stochastic_smoothness, gamma / 2, failure_probability / 2, start.size
            )
            oracle.use(run.state.seed, run.state.drawn, many)
            oracle.frozen = True
        return _judged(run, conclude(run, outcome, request, report), tol, gamma)
    except Exception as error:
        error.unsaddle = interim(run, request)  # type: ignore[attr-defined]
        raise


def concentrated(
    stochastic_smoothness: float, error: float, failure_probability: float, n: int
) -> int:
    """Give how many samples have a mean Hessian within ``error`` of its expectation, from above.

    The matrix Bernstein inequality for H_theta - H, of norm at most 2 lt and variance at most lt^2:
    P(lambda_max >= t) <= n exp(-N t^2/(2 lt^2 + 4 lt t/3)).

    Args:
        stochastic_smoothness: Bound lt on the norm of every sample's Hessian.
        error: The t allowed.
        failure_probability: The chance allowed that it is exceeded.
        n: Number of variables.

    Returns:
        The number of samples N.
    """
    lt = stochastic_smoothness
    bound = (2 * lt**2 + 4 * lt * error / 3) * math.log(n / failure_probability) / error**2
    return max(1, math.ceil(bound))


def settle(
    method: str,
    preset: str,
    n: int,
    given: dict[str, float],
    decrease_available: float | None,
    options: dict[str, Any],
    source: FiniteSum | Drawn | None = None,
) -> Parameters:
    """Give a method's parameters for a function, single ones replaced.

    Args:
        method: ``sgd+nc`` or ``psgd``.
        preset: ``practical`` or ``printed``.
        n: Number of variables.
        given: The constants of the function, and the targets, by name.
        decrease_available: Bound on f(x0) - min f; needed by the printed preset only.
        options: Single hyperparameters, in place of the preset's.
        source: Of the samples, if batches are not to exceed it.

    Returns:
        The parameters.
    """
    parameters = _parameters(method, preset, n, given, decrease_available, options)
    return _replaced(parameters, options, source, given["failure_probability"])


def _parameters(
    method: str,
    preset: str,
    n: int,
    given: dict[str, float],
    decrease: float | None,
    options: dict[str, Any],
) -> Parameters:
    """Give the method's parameters from the constants."""
    for name, known, word in (("method", STOCHASTIC, method), ("preset", PRESETS, preset)):
        if word not in known:
            raise ValueError(f"{name} {word!r} is unknown; {nearest(word, known)}")
    recognise(options, method, STOCHASTIC[method], minimize_stochastic, {})
    missing = [name for name, value in given.items() if value != value]
    require([name for name in missing if name != "curvature_tol"], method)  # it follows from rho
    for name, value in given.items():
        if not 0 <= value < math.inf or (value == 0 and name != "variance"):
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    if PRESETS[preset] and decrease is None:
        raise ValueError(
            "decrease_available is missing: preset='printed' needs a bound on f(x0) - min f; "
            "pass decrease_available=<a number>, or preset='practical'"
        )
    words = {**given, "decrease_available": decrease, "n": n, "printed": PRESETS[preset]}
    return STOCHASTIC[method].theory(**words)


def _replaced(
    parameters: Parameters,
    options: dict[str, Any],
    source: FiniteSum | Drawn | None,
    failure_probability: float,
) -> Parameters:
    """Replace single parameters, and let no batch that was not asked for exceed the data."""
    if "checks" in options and "quantile" not in options:
        options = {**options, "quantile": 0.0}
    parameters = override(parameters, options)
    fields = {**parameters.descent._asdict(), **parameters.escape._asdict()}
    for name, least in COUNTS.items():
        if name in fields and not (fields[name] >= least and fields[name] == int(fields[name])):
            raise ValueError(
                f"option {name} must be a whole number >= {least}, got {fields[name]!r}"
            )
    if options.get("quantile") == 0.0:
        options = {**options, "quantile": practical.quantile(fields["checks"], failure_probability)}
    rows = None if source is None else source.rows
    for name in BATCHES:
        if name in options and source is not None:
            source.check(int(options[name]))
        elif name in fields and rows is not None:
            options = {**options, name: min(int(fields[name]), rows)}
    whole = {name: int(fields[name]) for name in COUNTS if name in fields}
    return override(parameters, {**whole, **options})


def _judged(run: SampledRun, result: OptimizeResult, tol: float, gamma: float) -> OptimizeResult:
    """Say what a result over samples means for the function itself."""
    result.ndraw = run.oracle.draws
    claim, many = result.certificate, run.oracle.size
    exact = run.oracle.source.rows is not None
    if result.outcome is Outcome.JUMP_FAILED:
        claim = dataclasses.replace(
            claim,
            failure_probability=run.parameters.escape.failure_probability,
            note=f"{claim.note} Upper end of Student's interval over "
            f"{run.parameters.escape.checks} minibatches.".strip(),
        )
    elif run.oracle.frozen and result.outcome not in CUT_SHORT:
        claim = _widened(claim, 0.0 if exact else gamma / 2, many, exact, result.jac)
        norm = float(np.linalg.norm(result.jac))
        if claim.holds and not norm <= tol:
            claim = dataclasses.replace(
                claim, holds=None, note=f"{claim.note} The gradient there is not within tol."
            )
        outcomes = {True: Outcome.CERTIFIED, False: Outcome.REFUTED, None: Outcome.TESTED}
        result.outcome = outcomes[claim.holds]
    result.certificate = claim
    result.success, result.status = (
        result.outcome is Outcome.CERTIFIED,
        STATUS[result.outcome],
    )
    says = result.outcome.value
    for exact_word, sampled_word in WORDS.items():
        says = says.replace(exact_word, sampled_word)
    shown = "" if claim.holds is None and not run.oracle.frozen else str(claim)
    result.message = " ".join(filter(None, (says, shown, run.trouble)))
    return result


def _widened(
    claim: Certificate, error: float, many: int, exact: bool, gradient: Vector
) -> Certificate:
    """Turn a certificate over a fixed sample into one of the function that it was drawn from."""
    bend = claim.curvature + error
    holds = claim.holds
    if holds is False and not bend <= -(claim.curvature_tol + error) / 2:
        holds = None
    whom = f"all {many} rows of the data" if exact else f"{many} fresh samples"
    bound = "" if exact else ", and the matrix Bernstein inequality for the rest"
    size = f"Over {whom}{bound}; |gradient| {float(np.linalg.norm(gradient)):.3g} over them."
    return dataclasses.replace(
        claim,
        holds=holds,
        curvature_tol=claim.curvature_tol + error,
        failure_probability=min(1.0, claim.failure_probability * (1 if exact else 2)),
        curvature=bend,
        direction=claim.direction if holds is False else None,
        note=f"{claim.note} {size}".strip(),
    )
