"""Searches at points that somebody else finds: what ``certify`` and ``Escape`` run."""

from typing import Any

from unsaddle.core.kernel import Parameters, Solver, compose, then
from unsaddle.descents import wrapped
from unsaddle.descents.gd import gd
from unsaddle.escapes.never import never
from unsaddle.escapes.proof import SEARCHES, proof, yielding
from unsaddle.messages import nearest
from unsaddle.methods.constants import check
from unsaddle.methods.parameters import TUNING, Problem


def search(method: str, n: int, noise: float = 0.0, **claim: Any) -> tuple[Solver, Parameters]:
    """Give a search that begins at ``PROVE`` and ends without a jump, and its parameters.

    Args:
        method: A name in ``SEARCHES``.
        n: Number of variables.
        noise: Relative error of a gradient, where it is above the roundoff.
        **claim: ``failure_probability``, and ``curvature_tol``, ``smoothness`` and
            ``hessian_lipschitz`` or None; the last two are lower bounds of what is measured.

    Returns:
        The phases, and the parameters.

    Raises:
        ValueError: If an argument is out of range; the message names it.
    """
    if method not in SEARCHES:
        raise ValueError(f"method {method!r} is unknown; {nearest(method, SEARCHES)}")
    problem = _problem(n, **claim)
    settings = problem.measured()._replace(finest=TUNING.finest, noise=noise)
    target = problem.curvature_tol, problem.failure_probability
    parameters = Parameters(0.0, gd.settings(0.0), never.settings(), settings, *target)
    if method == "lanczos":  # which adaptive ANC follows where the memory is full
        return compose(gd, then(proof, yielding(SEARCHES["lanczos"]))), parameters._replace(
            escape=settings
        )
    return compose(gd, then(never, SEARCHES[method])), parameters


def around(patience: int, **claim: Any) -> Parameters:
    """Give the parameters of a search around another optimiser, by the same words and ``tol``."""
    problem = _problem(1, **claim)
    settings = problem.measured()._replace(finest=wrapped.TUNING.finest, coarsest=1.0)
    target = problem.curvature_tol, problem.failure_probability
    return Parameters(problem.tol, wrapped.Settings(patience), settings, None, *target)


def _problem(n: int, **claim: Any) -> Problem:
    """Check what is known and asked for; only chance and tolerance cannot be left open."""
    given = {k: v for k, v in claim.items() if v is not None or k in ("failure_probability", "tol")}
    return Problem(**{"n": n, "tol": 0.0, **check(given)})
