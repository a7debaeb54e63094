"""Searches at points that somebody else finds: what ``certify`` and ``Escape`` run."""

from collections.abc import Callable
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, Solver, compose, then
from unsaddle.core.ops import Ops
from unsaddle.core.phases import GO, START
from unsaddle.descents import wrapped
from unsaddle.descents.batches import BATCH_PHASES
from unsaddle.descents.gd import gd
from unsaddle.escapes.adaptive_anc import adaptive_anc
from unsaddle.escapes.confirmed_jump import confirmed
from unsaddle.escapes.never import never
from unsaddle.escapes.proof import SEARCHES, without_dips
from unsaddle.methods.checks import one_of
from unsaddle.methods.constants import check
from unsaddle.methods.parameters import TUNING as PARAMETERS
from unsaddle.methods.parameters import Problem


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    small: float = 1e-3  # |g|, above 0: the eps of a search around another optimiser, if none given
    finest: float = 1e-3  # of the curvature met, (0, 1): its gamma if none is given: short searches
    block: int = 5  # of patience, 2 to 50: a shorter one sees less, a longer one sees it later


TUNING = Tuning()
SOLVERS = {name: compose(gd, then(never, part)) for name, part in SEARCHES.items()}


def search(
    method: str,  # a name in SOLVERS
    n: int,  # number of variables
    itemsize: int = 8,  # bytes of a number
    **claim: Any,  # the words of _problem; smoothness and hessian_lipschitz are lower bounds
) -> tuple[Solver, Parameters]:
    """Give a search that begins at ``PROVE`` and ends without a jump, and its parameters."""
    one_of("method", method, SOLVERS)
    problem = _problem(n, **claim)._replace(itemsize=itemsize, shared=True)  # there are no pairs
    settings = problem.measured()._replace(finest=PARAMETERS.finest)
    target = problem.curvature_tol, problem.failure_probability
    parameters = Parameters(0.0, gd.settings(0.0), never.settings(), settings, *target)
    return SOLVERS[method], parameters


def around(patience: int, tol: Any = "auto", **claim: Any) -> Parameters:
    """Give the parameters of a search around another optimiser; ``tol`` may be "auto"."""
    if isinstance(tol, str) and tol != "auto":
        raise ValueError(f"tol must be a positive number or 'auto', got {tol!r}")
    auto = isinstance(tol, str)
    problem = _problem(1, tol=TUNING.small if auto else tol, **claim)
    settings = problem.measured()._replace(finest=TUNING.finest, coarsest=1.0)
    target = problem.curvature_tol, problem.failure_probability
    descent = wrapped.Settings(patience, TUNING.block * patience if auto else 0)
    return Parameters(problem.tol, descent, settings, None, *target)


def wrapping(start: Phase, go: Phase, memory: Callable[[Ops, Any, Any], wrapped.Memory]) -> Solver:
    """Give another optimiser, whose steps these phases are, with a search around it."""
    phases: dict[int, Phase] = {**BATCH_PHASES, START: start, GO: go}
    part = Part(phases, wrapped.Settings, memory)
    return compose(part, confirmed(without_dips(adaptive_anc)))


def _problem(n: int, **claim: Any) -> Problem:
    """Check what is known and asked for; only chance and tolerance cannot be left open."""
    given = {k: v for k, v in claim.items() if v is not None or k in ("failure_probability", "tol")}
    return Problem(**{"n": n, "tol": 0.0, **check(given)})
