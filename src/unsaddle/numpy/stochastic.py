"""``minimize_stochastic``: as ``minimize``, where the gradient is known from samples only."""

import dataclasses
from collections.abc import Callable
from typing import Any, Unpack

from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate, of_minibatches
from unsaddle.core.outcome import STATUS, Outcome
from unsaddle.methods.checks import one_of, whole, yes_or_no
from unsaddle.methods.constants import SampledGiven, spelled
from unsaddle.methods.table import STOCHASTIC, parameters_of
from unsaddle.numpy.callback import adapted
from unsaddle.numpy.checkpoint import Checkpoint
from unsaddle.numpy.inputs import point, seconds
from unsaddle.numpy.loop import Run
from unsaddle.numpy.minimize import resume
from unsaddle.numpy.ops import ops
from unsaddle.numpy.result import CUT_SHORT, conclude
from unsaddle.numpy.sampling import EXAMINED, Drawn, FiniteSum, SampledOracle

BATCHES = ("batch", "first_batch", "search_batch", "check_batch")
WORDS = {  # of an outcome's sentence, where gradients are known from samples
    "max_gradients": "max_samples",
    "hessian_lipschitz is too small, or the decrease is below what floating point can show": (
        "hessian_lipschitz is off, or check_batch is too small to show the decrease"
    ),
}


@spelled(tol=1e-2)
def minimize_stochastic(
    grad: Callable[..., Any] | FiniteSum,
    x0: Any,
    sampler: Callable[..., Any] | None = None,
    method: str = "sgd+nc",
    *,
    seed: int = 0,
    max_samples: int | None = None,
    max_seconds: float | None = None,
    history: bool = True,
    callback: Callable[..., Any] | None = None,
    state: Checkpoint | None = None,
    **given: Unpack[SampledGiven],
) -> OptimizeResult:
    """Find a point with a small gradient and no curvature below -curvature_tol, from samples.

    Args:
        grad: ``grad(x, batch)``, the mean gradient over a batch of the sampler; or without a
            sampler ``grad(x, rng)``, the gradient of one sample; or a ``FiniteSum``.
        x0: Where to start.
        sampler: ``sampler(rng, size)`` gives a batch of that many independent samples.
        method: ``sgd+nc``, ``neon2-online``, ``spider+``, ``sharp-sgd`` or ``psgd``.
        seed: All randomness, of noise and samples, is a function of it.
        max_samples: The run stops before it takes more gradients of single samples than this.
        max_seconds: The run stops at the first query after so many seconds.
        history: Whether to keep every query in ``result.history``.
        callback: As in ``minimize``.
        state: ``result.state`` of an earlier run, to go on from exactly there instead of from x0.
        **given: Constants of the function and targets, see ``unsaddle.SampledConstants``; and
            single hyperparameters of the method, in place of the preset's.

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
    one_of("method", method, STOCHASTIC)
    if method == "psgd" and max_samples is None and max_seconds is None:
        raise ValueError("max_samples is missing: psgd never ends by itself; pass max_samples=...")
    source = grad if isinstance(grad, FiniteSum) else Drawn(grad, sampler)
    words = {"tol": 1e-2, **given}
    data = source.rows or 0
    parameters = parameters_of(method, start.size, words, minimize_stochastic, {}, data)
    for name in [name for name in BATCHES if name in given]:
        source.check(int(given[name]))
    seed, limit = whole("seed", seed), whole("max_samples", max_samples, none=True)
    oracle, solver = SampledOracle(source, start, seed, limit), STOCHASTIC[method].solver
    call = None if callback is None else adapted(callback)
    begun, history = solver.start(ops, parameters, start, seed), yes_or_no("history", history)
    run = Run(solver, parameters, begun, oracle, call, remembers=history)
    del begun  # its vectors are let go as the run replaces them
    run.timed(seconds("max_seconds", max_seconds))
    if state is not None:
        resume(run, method, state)
        oracle.seed = run.state.seed
    elif limit >= EXAMINED:
        oracle.examine(start)
    return _judged(run, oracle, conclude(run, method, start.copy()), float(words["tol"]))


def _judged(run: Run, oracle: SampledOracle, result: OptimizeResult, tol: float) -> OptimizeResult:
    """Say what a result over samples means for the function itself."""
    result.ndraw = oracle.draws
    claim, proved = result.certificate, bool(run.state.proving)
    if result.outcome is Outcome.JUMP_FAILED:
        claim = of_minibatches(claim, run.parameters.escape)
    elif proved and result.outcome not in CUT_SHORT:
        claim = _widened(run, oracle, claim)
        if claim.holds and not claim.gradient_norm <= tol:
            claim = dataclasses.replace(
                claim, holds=None, note=f"{claim.note} The gradient there is not within tol."
            )
        coarser = result.outcome is Outcome.COARSER
        result.outcome = {
            True: Outcome.COARSER if coarser else Outcome.CERTIFIED,
            False: Outcome.NEGATIVE_CURVATURE,
            None: Outcome.UNCERTIFIED,
        }[claim.holds]
    result.certificate = claim
    result.success = result.outcome is Outcome.CERTIFIED
    result.status = STATUS[result.outcome]
    says = result.outcome.value
    for exact_word, sampled_word in WORDS.items():
        says = says.replace(exact_word, sampled_word)
    shown = str(claim) if proved or claim.holds is not None else ""
    result.message = " ".join(filter(None, (says, shown, oracle.trouble)))
    return result


def _widened(run: Run, oracle: SampledOracle, claim: Certificate) -> Certificate:
    """Turn a certificate over a fixed sample into one of the function that it was drawn from."""
    exact, many = oracle.source.rows is not None, run.parameters.proof_sample
    error = 0.0 if exact else run.parameters.curvature_tol
    curvature, gamma = claim.curvature + error, claim.curvature_tol + error
    holds = claim.holds
    if holds is False and not curvature <= -gamma / 2:
        holds = None
    whom = f"all {many} rows of the data" if exact else f"{many} fresh samples"
    bound = "" if exact else "; the matrix Bernstein inequality bounds how far they may mislead"
    size = f"Measured over {whom}{bound}. The gradient's norm over them is "
    size += f"{claim.gradient_norm:.3g}."
    return dataclasses.replace(
        claim,
        holds=holds,
        curvature_tol=gamma,
        failure_probability=min(1.0, claim.failure_probability * (1 if exact else 2)),
        curvature=curvature,
        direction=claim.direction if holds is False else None,
        note=f"{claim.note} {size}".strip(),
    )
