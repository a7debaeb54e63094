"""The contract between an algorithm and the loop that runs it. Read this page first.

A *method* is a **descent** and an **escape**. While the gradient is large it descends. Where the
gradient is small it escapes, which ends in a jump or in a certificate. Both are written as
**phases**. A phase never calls the objective. It says where it wants to query it (``at``), what it
needs to know there (``needs``), and how the state changes once the answer is in (``update``).
Whoever owns the loop answers the queries::

    session = Session(ops, solver, parameters, solver.start(ops, parameters, x, seed))
    while (query := session.ask()) is not None:
        session.tell(value(query.point), gradient(query.point))

Rules for an ``update``, which let one kernel run on NumPy, PyTorch and JAX:

1. It branches on scalars only, through ``ops.where`` and ``ops.switch``; never in Python on data.
2. Vectors change only through ``ops`` (see :mod:`unsaddle.core.ops`), and a consumed one is not
   read again. The gradient is lent until the next query. A gradient at the iterate may only be
   read. One at another point may be consumed, unless the update makes that point the iterate: then
   the next phase is lent it as well.
3. What was not asked for is the latest answer there is: a phase that needs a value at a point
   whose gradient was just computed is given both, and one that needs nothing is given both again.
   So a descent that reports because the gradient is small does so right after an answer at x.
4. Every phase has its own number in ``PhaseName``: those below ``BEGIN`` belong to descents, those
   from ``BEGIN`` on to escapes, and negative ones end the run.
5. A descent has the phases ``START`` (from rest) and ``GO`` (with the momentum there is). It hands
   over to phase ``state.report`` when ``|g(x)| <= state.tolerance`` or after ``state.left`` steps,
   whichever comes first. Where it cannot go on, it goes to ``GIVE_UP``. Every step goes to ``GO``,
   which a front end takes for the end of an iteration; a trial that is not taken is no step. A
   perturbation moves x before it goes back to ``GO``: a descent that is to work with one queries x
   there again.
6. An escape has the phase ``BEGIN``. Where its own test has passed but nothing is proved, it goes
   to ``PROVE``: there the search begins that ``then`` has put behind it, if there is one.
7. Where the function is a mean over samples, a phase also says which ``sample`` it wants: a ``NEW``
   one, of ``size(parameters)``, or the ``SAME`` as in the query before, which has to be of the same
   size. Samples are numbered through: a new one takes the numbers from ``state.drawn`` on, and the
   loop, not the kernel, counts. So a sample is a function of (seed, drawn, size), like all draws.
8. A phase that queries x + d only to know H d marks its gradient as a ``PROBE``, and keeps g(x) as
   ``gradient`` of its memory. Where ``parameters.products`` says that there are exact products, the
   loop answers g(x) + H d. Then d need not be short, and ``core/resolution.py`` knows that nothing
   but rounding is between the answer and the truth.
"""

from collections.abc import Callable, Mapping
from functools import cache
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import (
    BEGIN,
    EXACT,
    GO,
    GRADIENT,
    NEW,
    NOTHING,
    PROOF,
    PROVE,
    SAME,
    START,
    UNCERTIFIED,
    PhaseName,
)
from unsaddle.core.records import new


class State(NamedTuple):
    """All that a method knows. Immutable: an update returns the next one."""

    phase: Scalar  # the next phase; negative when finished
    x: Vector  # the iterate: x_t while descending, x~ while searching
    left: Scalar  # steps to take before the descent reports
    descent: Any  # what the descent remembers
    escape: Any  # what the escape remembers
    proof: Any  # what the proof behind it remembers; None if there is none
    tolerance: Scalar  # gradient norm at which the descent reports
    report: Scalar  # phase to which it reports
    stalled: Scalar  # whether the descent had to give up before the gradient was small
    proving: Scalar  # whether the proof is at work, or was the last to be
    episode: Scalar  # searches and perturbations begun so far, j
    seed: Scalar
    drawn: Scalar = 0  # samples drawn so far
    noise: Scalar = 0.0  # error of a gradient, as the descent or a search has last measured it

    @property
    def last_search(self) -> Any:
        """The memory of the search at work, or of the last one: the proof's, if that is."""
        return self.proof if self.proving and self.proof is not None else self.escape

    def descended(self, phase: Scalar, x: Vector, left: Scalar, descent: Any) -> "State":
        """Give the state after a step of the descent; faster than ``_replace``."""
        return new(State, (
            phase, x, left, descent, self.escape, self.proof, self.tolerance, self.report,
            self.stalled, self.proving, self.episode, self.seed, self.drawn,
            self.noise,
        ))  # fmt: skip

    def searched(self, phase: Scalar, escape: Any) -> "State":
        """Give the state after a step of a search; faster than ``_replace``."""
        return new(State, (
            phase, self.x, self.left, self.descent, escape, self.proof, self.tolerance, self.report,
            self.stalled, self.proving, self.episode, self.seed, self.drawn,
            self.noise,
        ))  # fmt: skip


At = Callable[[Ops, Any, State], Vector]
Update = Callable[[Ops, Any, State, Scalar, Vector], State]


class Phase(NamedTuple):
    """One query of the objective and what follows from the answer."""

    at: At
    needs: int
    update: Update
    sample: int = EXACT
    size: Callable[[Any], int] = lambda p: 1


class Parameters(NamedTuple):
    """Hyperparameters of a method: those of its parts, and the target."""

    tolerance: float  # eps
    descent: Any  # the settings of the descent
    escape: Any  # those of the escape
    proof: Any = None  # those of the search behind the escape, if there is one
    curvature_tol: float = 0.0  # gamma, or zero where it is to be measured
    failure_probability: float = 1e-3  # delta, of the whole run
    proof_sample: int = 1  # samples over which a proof runs, where f is a mean over samples
    products: bool = False  # whether probes are answered by exact products with the Hessian


class Part(NamedTuple):
    """A descent or an escape: its phases, the record of its settings, and its first memory.

    A descent's memory owes ``kinetic_energy(ops, settings)`` and ``constants_met()``, an escape's
    ``evidence(ops, x)``. Where the settings say how many vectors it may keep, it has room for them.
    """

    phases: Mapping[int, Phase]
    settings: type
    memory: Callable[[Ops, Vector, Any], Any]  # of the settings
    proof: "Part | None" = None


class NoSettings(NamedTuple):
    """The settings of a part that has no hyperparameters."""


class Solver(NamedTuple):
    """A method, ready to run: descent x escape."""

    phases: Mapping[int, Phase]
    start: Callable[..., State]


def compose(descent: Part, escape: Part) -> Solver:
    """Make a solver of a descent and an escape: their phases, and the first state."""
    proof = escape.proof

    def start(ops: Ops, parameters: Parameters, x: Vector, seed: Scalar) -> State:
        return State(
            phase=START,
            x=x,
            left=inf,
            descent=descent.memory(ops, x, parameters.descent),
            escape=escape.memory(ops, x, parameters.escape),
            proof=None if proof is None else proof.memory(ops, x, parameters.proof),
            tolerance=parameters.tolerance,
            report=BEGIN,
            stalled=False,
            proving=False,
            episode=0,
            seed=seed,
        )

    shared = {
        PhaseName.GIVE_UP: Phase(iterate, GRADIENT, give_up),
        PROVE: Phase(iterate, NOTHING, go_to(UNCERTIFIED)),
    }
    return Solver(MappingProxyType({**shared, **descent.phases, **escape.phases}), start)


def then(escape: Part, proof: Part, sampled: bool = False) -> Part:
    """Put a search behind an escape, to prove or to disprove what the escape's own test says.

    The search has phases and a memory of its own, and knows nothing of the escape. It begins where
    the escape goes to ``PROVE``, with the gradient at x~, and its ends are the run's. Where the
    descent queries samples, or the escape, all queries of the proof are of one, which is drawn at
    ``PROVE``.

    Returns:
        The escape, with the search behind it.
    """
    first, again = (NEW, SAME) if sampled or samples(escape) else (EXACT, EXACT)
    lifted = {code + PROOF: _lift(phase, again) for code, phase in proof.phases.items()}
    prove = Phase(iterate, GRADIENT, go_to(BEGIN + PROOF), first, proof_sample)
    return escape._replace(phases={**escape.phases, PROVE: prove, **lifted}, proof=proof)


def samples(part: Part) -> bool:
    """Say whether a part queries samples."""
    return any(phase.sample != EXACT for phase in part.phases.values())


def proof_sample(p: Parameters) -> int:
    """Samples over which a proof runs."""
    return p.proof_sample


def give_up(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Report from x, though its gradient is not small."""
    return s._replace(phase=s.report, stalled=True)


def go_to(phase: int) -> Update:
    """Give the update that changes nothing but the phase."""
    return lambda ops, p, s, value, gradient: s._replace(phase=phase)


def _lift(phase: Phase, sample: int) -> Phase:
    """Give a phase of a proof that works on ``state.proof`` and in the proof's phase numbers."""
    place = iterate if phase.at is iterate else _lifted_at(phase.at)
    drawn = sample if phase.needs else EXACT
    return Phase(place, phase.needs, _lifted_update(phase.update), drawn, proof_sample)


def _alone(p: Parameters, s: State) -> tuple[Parameters, State]:
    return p._replace(escape=p.proof), s._replace(escape=s.proof, phase=s.phase - PROOF)


@cache  # phases that share an update or a place share the lifted one too: it is compiled once
def _lifted_at(place: At) -> At:
    return lambda ops, p, s: place(ops, *_alone(p, s))


@cache
def _lifted_update(update: Update) -> Update:
    def lifted(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        after = update(ops, *_alone(p, s), value, gradient)
        code = ops.where(after.phase >= BEGIN, after.phase + PROOF, after.phase)
        return after._replace(phase=code, escape=s.escape, proof=after.escape, proving=True)

    return lifted


def iterate(ops: Ops, p: Parameters, s: State) -> Vector:
    """Query at the iterate itself."""
    return s.x


@cache
def probing(share: float) -> At:
    """Query at x~ + share r e, where r is the radius of a search and e its direction."""
    return lambda ops, p, s: ops.add(s.x, share * s.escape.resolution.radius, s.escape.direction)


def watch(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Go on descending until the gradient is small; x has been left, stalled or not."""
    return s._replace(phase=GO, left=inf, tolerance=p.tolerance, report=BEGIN, stalled=False)


def begin_search(s: State) -> State:
    """Count one more search, which makes fresh draws and takes its share of delta."""
    return s._replace(episode=s.episode + 1, proving=False)


def on_sphere(ops: Ops, s: State) -> Vector:
    """Draw xi, uniform on the unit sphere, a function of (seed, episode)."""
    xi = ops.normal(s.x, s.seed, s.episode)
    return ops.scale(1 / ops.norm(xi), xi)


def ball(ops: Ops, s: State) -> Vector:
    """Draw from Unif(B(1)): U^(1/n) w/|w| with w normal, a function of (seed, episode)."""
    w = ops.normal(s.x, s.seed, s.episode)
    radius = ops.uniform(s.x, s.seed, s.episode) ** (1.0 / ops.size(s.x))
    return ops.scale(radius / ops.norm(w), w)
