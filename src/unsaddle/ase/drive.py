"""A session on atoms: one force call for each query, and the atoms always at the iterate."""

from collections.abc import Iterator
from math import copysign, inf, nan, sqrt
from typing import NamedTuple

import numpy as np
from ase.calculators.calculator import CalculationFailed, SCFError

from unsaddle.ase.space import AtomsOps, Space
from unsaddle.ase.vibration import (
    VibrationCertificate,
    in_words_of_vibrations,
    nothing_vibrates,
    vibration,
)
from unsaddle.ase.words import in_words
from unsaddle.certificate import certificate
from unsaddle.core.events import JUMP_BEGIN, JUMPING, log
from unsaddle.core.evidence import evidence, last_phase, read
from unsaddle.core.kernel import Parameters, Part, Phase, Solver, State, compose, go_to, iterate
from unsaddle.core.outcome import ENDS, Outcome
from unsaddle.core.phases import BEGIN, CERTIFIED, NOTHING, PROOF, TRIAL, PhaseName, phase_of
from unsaddle.core.session import InterruptsHeldBack, Query, Session
from unsaddle.escapes.never import never
from unsaddle.numpy.ops import Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    least: float = 1e-50  # eV/Å, above 0: what stands for a tolerance of zero, which nothing meets


TUNING = Tuning()
LINE_SEARCH = PhaseName.LINE_SEARCH
JUMPS = {PhaseName.JUMP: "escape", PhaseName.JUMP + PROOF: "proof"}  # and whose they are


STILL = never._replace(phases={BEGIN: Phase(iterate, NOTHING, go_to(CERTIFIED))})


def solver_of(space: Space, descent: Part, solver: Solver) -> Solver:
    """Give the solver; one that does not search where there is nothing that could vibrate."""
    return solver if space.dimension(space.start) else compose(descent, STILL)


class Seen(NamedTuple):
    """A point, and what was computed there."""

    y: Vector
    value: float
    gradient: Vector  # ASE's, of x


class Drive(Session[Vector]):
    """A run on atoms, one force call at a time."""

    def __init__(
        self,
        space: Space,
        solver: Solver,
        parameters: Parameters,
        state: State,
        maxstep: float = inf,  # Å that an atom may go in one step
    ) -> None:
        """Take a run up."""
        super().__init__(AtomsOps(space), solver, parameters, state)
        self.space, self.maxstep, self.fmax = space, maxstep, 0.0
        self.calls = 0  # so far
        self.begun = 0  # of these before the last search
        self.seen: Seen | None = None  # at the iterate
        self.last: Seen | None = None  # the last of all
        self.phase = 0  # that asked for it
        self.interruptible = self.interrupted = False  # by a Ctrl-C
        self._jumping = self._told = False  # whether it jumps, and whether its end was logged

    def aim(self, fmax: float) -> None:
        """Ask for forces of at most fmax; |g| is that of as many coordinates."""
        self.fmax = fmax
        limit = max(fmax, TUNING.least) * sqrt(self.space.scale.size)
        self.parameters = self.parameters._replace(tolerance=limit)

    def next(self) -> Query | None:
        """Give the next query that takes a force call, however often it is asked for."""
        with InterruptsHeldBack(self):
            while (query := self._within_reach()) is not None:
                if self.seen is None or not np.array_equal(query.point, self.seen.y):
                    break
                self._take(query, self.seen)
        if query is None and not self._told:
            ended = "" if self.outcome is None else f"{self.outcome.name.lower()}: "
            log.info("%s%s", ended, self.certificate())
        self._told = query is None
        return query

    def answer(self, query: Query) -> None:
        """Compute forces and take them in; whatever is raised, the atoms are at the iterate."""
        with InterruptsHeldBack(self):
            try:
                seen = self._computed(query.point.copy(), bool(query.needs & TRIAL))
                self._take(query, seen)
            finally:
                self.space.place(self.state.x)
            self.last, self.phase = seen, query.phase
            self.calls += 1

    def _computed(self, point: Vector, trial: bool) -> Seen:
        """Let the calculator compute; where it fails at a trial, the energy is NaN."""
        try:
            self.interruptible = True
            return Seen(point, *self.space.query(point))
        except (CalculationFailed, SCFError):
            if not trial:
                raise
            return Seen(point, nan, np.full(point.size, nan))
        finally:
            self.interruptible = False

    def _within_reach(self) -> Query | None:
        """Ask, and shorten a trial that is further than ``maxstep`` from what is known."""
        query = self.ask()
        if query is not None and query.searches:
            self.begun = self.calls
            self._notice_search()
        if query is None or query.phase not in (LINE_SEARCH, *JUMPS):
            return query
        self.state = shortened(self.space, self.state, self.maxstep)
        return self.ask()

    def _take(self, query: Query, seen: Seen) -> None:
        """Tell the answer; the descent reports where ASE calls the forces converged."""
        space, here = self.space, self.state.x if query.phase >= BEGIN else seen.y
        gradient = space.without_rigid(seen.gradient / space.scale, here)
        converged = space.optimizable.converged(seen.gradient, self.fmax)
        tolerance = 2 * self.ops.norm(gradient) if converged else 0.0
        self.state = self.state._replace(tolerance=tolerance)
        self._notice(query.phase)
        self.tell(seen.value, gradient)
        self._notice_landing()
        if np.array_equal(seen.y, self.state.x):
            self.seen = seen

    def _notice_search(self) -> None:
        """Log a search that begins, with the largest force where that is known."""
        known = None if self.seen is None else self.largest(self.seen.gradient)
        force = "" if known is None else f": largest force {known:.3g} eV/Å"
        log.info("search %d%s", max(self.state.episode, 1), force)

    def _notice(self, asks: int) -> None:
        """Log curvature that was found."""
        self._notice_landing()
        if phase_of(asks) == JUMP_BEGIN:
            search, place = self.state.last_search, self.state.episode
            bend = self.space.by_mass(float(search.curvature), search.direction)
            log.info("%s found in search %d", vibration(bend, self.space.mass_weighted), place)
        self._jumping = phase_of(asks) in JUMPING

    def _notice_landing(self) -> None:
        """Log a jump that is over."""
        if self._jumping and 0 <= self.state.phase < BEGIN:
            jump = self.state.last_search.jump
            values = self.state.episode, jump.value, jump.lowest
            log.info("jump %d: energy %.6f -> %.6f eV", *values)
            self._jumping = False

    def largest(self, gradient: Vector) -> float:
        """The largest force on an atom, as ASE measures it."""
        return float(self.space.optimizable.gradient_norm(gradient))

    @property
    def arrived(self) -> bool:
        """Say whether the last force call was at the iterate, and no probe or trial."""
        return self.last is not None and self.last is self.seen

    @property
    def outcome(self) -> Outcome | None:
        """How the run has ended, if it has."""
        over = last_phase(self.ops, self.parameters, self.state) if self.over else 0
        return ENDS.get(over)

    def certificate(self) -> VibrationCertificate:
        """Say what the last search has shown; a dip too shallow to contradict it has a mode too."""
        if not self.space.dimension(self.state.x):
            return nothing_vibrates(self.parameters.curvature_tol / float(min(self.space.ratio)))
        claim = read(self.ops, self.parameters, self.state, self.calls - self.begun)
        found, asked = evidence(self.ops, self.state), self.parameters.curvature_tol
        dips = claim.holds == 1 and found.krylov and found.resolution.shows(found.curvature, 0.0)
        way = found.direction if dips or claim.holds == 0 else None
        return in_words_of_vibrations(certificate(claim), self.space, asked, way)

    @property
    def lowest(self) -> float:
        """The lowest curvature that a search has met where it is, infinite if there is none."""
        if self.phase < BEGIN:
            return inf
        found = evidence(self.ops, self.state)
        return self.space.by_mass(found.curvature, found.direction)


def shortened(space: Space, s: State, maxstep: float) -> State:
    """Bring a trial of the line search, or the first ones of a jump, within ``maxstep``."""
    if s.phase == LINE_SEARCH:
        d = s.descent
        most = d.line.low.t + maxstep / space.longest(d.direction)
        return s._replace(descent=d._replace(line=d.line._replace(t=min(d.line.t, most))))
    name = JUMPS[s.phase]
    search = getattr(s, name)
    jump, most = search.jump, maxstep / space.longest(search.direction)
    if jump.lowest < inf or abs(jump.reach) <= most:
        return s
    jump = jump._replace(reach=copysign(most, jump.reach))
    return s._replace(**{name: search._replace(jump=jump)})


class Driven:
    """What ``Minimum`` and ``Escape`` say of how far their drive has come."""

    drive: Drive

    @property
    def outcome(self) -> Outcome | None:
        """How the run has ended; None while it can go on."""
        return self.drive.outcome

    @property
    def message(self) -> str:
        """How the run has ended, in a sentence."""
        return in_words(self.outcome)

    @property
    def certified(self) -> bool:
        """Whether it has ended at a minimum."""
        return self.outcome is Outcome.CERTIFIED

    def _through(self, steps: Iterator[bool]) -> bool:
        """Go through all steps, and say whether the run has ended at a minimum."""
        for _ in steps:
            pass
        self.drive.space.forget_probe()
        return self.certified

    @property
    def certificate(self) -> VibrationCertificate:
        """What is known of the vibrations at the structure."""
        return self.drive.certificate()
