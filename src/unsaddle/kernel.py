"""The contract between an algorithm and the loop that runs it. Read this page first.

A *method* is a **descent** and an **escape**: while the gradient is large it descends, and when it
is small it escapes, which ends in a jump or in a certificate. Both are written as **phases**. A
phase never calls the objective: it says where it wants to look (``at``), what it needs to know
there (``needs``), and how the state changes once the answer is in (``update``). Whoever owns the
loop, this package's drivers or you, does the looking::

    while state.phase >= 0:
        phase = solver.phases[state.phase]
        point = phase.at(ops, parameters, state)
        value, gradient = ...               # what phase.needs asks for, else the last one known
        state = phase.update(ops, parameters, state, value, gradient)

Rules for an ``update``, which let one kernel run on NumPy, PyTorch and JAX:

1. It branches on scalars only, through ``ops.where`` and ``ops.switch``; never in Python on data.
2. Vectors change only through ``ops`` (see :mod:`unsaddle.ops`), and a consumed one is not read
   again. The gradient it is given is lent until the next look: that at the iterate may be read
   only, others may be consumed.
3. What was not asked for is the latest answer there is: a phase that needs a value at a point
   whose gradient was just seen is given both, and one that needs nothing is given both again.
4. Phases 0 to 15 belong to the descent, 16 and up to the escape. A negative phase ends the run.
   Phase ``START`` descends from rest, phase ``GO`` goes on with the momentum there is; the descent
   hands over to phase ``state.report`` when ``|g(x)| <= state.tolerance`` or after ``state.left``
   steps, whichever comes first.
5. Where the function is a mean over samples, a phase also says which ``sample`` it wants: a ``NEW``
   one, of ``size(parameters)``, or the ``SAME`` as in the look before, which has to be of the same
   size. Samples are numbered through: a new one takes the numbers from ``state.drawn`` on, and the
   loop, not the kernel, counts. So a sample is a function of (seed, drawn, size), like all noise.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

Vector = Any
Scalar = Any
Ops = Any

NOTHING, VALUE, GRADIENT, BOTH = 0, 1, 2, 3  # what a phase needs
TRIAL = 4  # ... and that it can do with an infinite value, if there is none
NEW, SAME = 0, 1  # which sample it wants

START, GO = 0, 1  # the phases every descent has
BEGIN = 16  # the phase every escape has: the descent reports here

# how a kernel can end a run
CERTIFIED, TESTED, JUMP_FAILED, STALLED, UNBOUNDED, BLIND = -1, -2, -3, -4, -5, -6


def one(p: "Parameters") -> int:
    """A sample of one."""
    return 1


class Phase(NamedTuple):
    """One look at the objective and what follows from it."""

    at: Callable[[Ops, Any, Any], Vector]
    needs: int
    update: Callable[[Ops, Any, Any, Scalar, Vector], Any]
    sample: int = NEW
    size: Callable[[Any], int] = one


class State(NamedTuple):
    """All that a method knows. Immutable: an update returns the next one."""

    phase: Scalar  # the next phase; negative when finished
    x: Vector  # the iterate: x_t while descending, x~ while searching
    left: Scalar  # steps to take before the descent reports
    descent: Any  # what the descent remembers
    escape: Any  # what the escape remembers
    tolerance: Scalar  # gradient norm at which the descent reports
    report: Scalar  # phase to which it reports
    episode: Scalar  # escapes begun so far, j
    seed: Scalar
    drawn: Scalar = 0  # samples drawn so far


class Parameters(NamedTuple):
    """Hyperparameters of a method: those of its two parts, and the target."""

    tolerance: float  # eps
    descent: Any
    escape: Any


class Part(NamedTuple):
    """A descent or an escape: its phases, the record of its settings, and its first memory."""

    phases: Mapping[int, Phase]
    settings: type
    memory: Callable[[Ops, Vector], Any]


class Solver(NamedTuple):
    """A method, ready to run: descent x escape."""

    phases: Mapping[int, Phase]
    start: Callable[..., State]


def compose(descent: Part, escape: Part) -> Solver:
    """Make a solver of a descent and an escape.

    Args:
        descent: Where the gradient is large.
        escape: Where it is small.

    Returns:
        The phases of both, and ``start(ops, parameters, x, seed)`` for the first state.
    """

    def start(ops: Ops, parameters: Parameters, x: Vector, seed: Scalar) -> State:
        return State(
            phase=START,
            x=x,
            left=inf,
            descent=descent.memory(ops, x),
            escape=escape.memory(ops, x),
            tolerance=parameters.tolerance,
            report=BEGIN,
            episode=0,
            seed=seed,
        )

    return Solver(MappingProxyType({**descent.phases, **escape.phases}), start)


def iterate(ops: Ops, p: Parameters, s: State) -> Vector:
    """Look at the iterate itself."""
    return s.x


def watch(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Go on descending until the gradient is small."""
    return s._replace(phase=GO, left=inf, tolerance=p.tolerance, report=BEGIN)


def ball(ops: Ops, s: State) -> Vector:
    """Draw from Unif(B(1)): U^(1/n) w/|w| with w normal, a function of (seed, episode)."""
    w = ops.noise(s.x, s.seed, s.episode)
    radius = ops.uniform(s.x, s.seed, s.episode) ** (1.0 / ops.size(s.x))
    return ops.scale(radius / ops.norm(w), w)


class Outcome(Enum):
    """How a run ended: each value is the sentence a user reads.

    Where several hold at once the first in this order is reported. Only ``CERTIFIED`` is a success.
    """

    NOT_FINITE = "The function or its gradient was NaN or infinite; the best finite point is x."
    CERTIFIED = "Second-order point: the gradient is within tol and the curvature is certified."
    TESTED = (
        "The method's own termination test passed, but no certificate was reached: "
        "the second-order status of x is unknown."
    )
    JUMP_FAILED = (
        "Negative curvature was found, but no jump along it lowered the function enough: "
        "hessian_lipschitz is too small, or the decrease is below what floating point can see."
    )
    REFUTED = (
        "The method's own termination test passed, but there is negative curvature at x: "
        "certificate.direction shows where."
    )
    STALLED = "No further progress: the gradient is above tol, but the descent goes no further."
    BLIND = (
        "The gradient is within tol, but its differences show no curvature that could be told from "
        "their error: the second-order status of x is unknown; pass the curvature_tol that will do."
    )
    UNBOUNDED = "The function falls without end: it seems to have no minimum in this direction."
    INTERRUPTED = "Interrupted from the keyboard; the best point so far is x."
    STOPPED = "The callback asked to stop; the best point so far is x."
    BUDGET = "max_gradients was reached before a second-order point was certified."


ENDS = {
    CERTIFIED: Outcome.CERTIFIED,
    TESTED: Outcome.TESTED,
    JUMP_FAILED: Outcome.JUMP_FAILED,
    STALLED: Outcome.STALLED,
    UNBOUNDED: Outcome.UNBOUNDED,
    BLIND: Outcome.BLIND,
}
