"""``Minimum``: an ASE optimiser that ends at a minimum, and says how sure that is."""

import time
from collections.abc import Iterator
from math import inf, isfinite
from typing import IO, Any, NamedTuple, Unpack

import numpy as np
from ase.optimize.optimize import DEFAULT_MAX_STEPS, Optimizer, RestartError
from ase.parallel import world

from unsaddle.ase.drive import Drive, Driven, Seen, solver_of
from unsaddle.ase.inputs import Words, asked_of, claim, positive, run_words, structure
from unsaddle.ase.restart import Saved, entries, restored, save
from unsaddle.ase.space import Space
from unsaddle.ase.vibration import frequency_of
from unsaddle.core.phases import START, name_of
from unsaddle.methods.table import find
from unsaddle.numpy.ops import ops

AUTO = find("auto")


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    stiffness: float = 70.0  # eV/Å^2, 1 to 1000: of a bond, for the first step; as in ASE's BFGS
    power: float = 0.4  # of masses, 0 to 1/2: descents are shortest at 1/4, certificates at 1/2


TUNING = Tuning()
_Optimizer: Any = Optimizer  # whose annotations allow no subclass


class Minimum(_Optimizer, Driven):
    """Relax a structure to a minimum: forces below fmax, and no imaginary frequency."""

    def __init__(
        self,
        atoms: Any,
        restart: Any = None,
        logfile: IO[str] | str | None = "-",
        trajectory: Any = None,
        append_trajectory: bool = False,
        maxstep: float | None = None,
        *,
        master: bool | None = None,
        comm: Any = world,
        loginterval: int = 1,
        **given: Unpack[Words],
    ) -> None:
        """Take a structure with a calculator.

        Args:
            atoms: Atoms, or one of ASE's filters around them.
            restart: A file that is written at every step, and from which the run goes on bit for
                bit if it is there.
            logfile: A file, or "-" for the terminal, or None.
            trajectory: A file of all iterates; probes and trials are left out.
            append_trajectory: Whether to add to that file.
            maxstep: How far an atom may go in one step, in Å; 0.2 if not given.
            master: As for every ASE optimiser.
            comm: Likewise.
            loginterval: Likewise, for the trajectory.
            **given: The words of ``unsaddle.ase.Words``: what the certificate is to say.
        """
        self.asked = asked_of(given)
        usual = self.defaults["maxstep"]
        self.maxstep = usual if maxstep is None else positive("maxstep", maxstep)
        self._query, self._reported = None, -1
        words: Any = {"master": master, "comm": comm, "loginterval": loginterval}
        super().__init__(structure(atoms), restart, logfile, trajectory, append_trajectory, **words)

    def initialize(self) -> None:
        """Begin where the atoms are."""
        self.space = Space(self.atoms, self.asked["mass_weighted"], TUNING.power)
        self.drive = self._begin()

    def read(self) -> None:
        """Go on from the restart file."""
        known = entries(self.restart)
        self._refer(known.get("cell"))
        self.initialize()
        saved = restored(self._saved(), known, self.restart)
        if saved.state.x.shape != self.space.scale.shape:
            raise RestartError(
                f"{self.restart} is of {saved.state.x.size} coordinates and atoms has "
                f"{self.space.scale.size}: pass the same structure, or delete the file"
            )
        if not np.array_equal(saved.promise, self._promise):
            raise RestartError(
                f"{self.restart} is of a run with another frequency, curvature_tol or "
                "failure_probability: pass the same, or delete the file"
            )
        drive, self.space.centre = self.drive, saved.centre
        drive.state, drive.value, drive.gradient = saved.state, saved.value, saved.gradient
        drive.seen = drive.last = saved.seen
        drive.fmax, drive.calls, drive.begun = saved.fmax, saved.calls, saved.begun
        self.space.roundoff = saved.roundoff
        self.space.place(drive.state.x)

    def _begin(self) -> Drive:
        """Give a run from where the atoms are, with a first step for bonds of usual stiffness."""
        space, words = self.space, claim(self.space, self.asked)
        parameters = AUTO.from_theory(n=space.scale.size, **words)
        solver = solver_of(space, AUTO.descent, AUTO.solver)
        state = solver.start(ops, parameters, space.start, self.asked["seed"])
        curvature = TUNING.stiffness / float(np.mean(space.scale**2))
        state = state._replace(descent=state.descent._replace(curvature=curvature))
        return Drive(space, solver, parameters, state, self.maxstep)

    def irun(self, fmax: float = 0.05, steps: int = DEFAULT_MAX_STEPS) -> Iterator[bool]:
        """Run as a generator: one force call, and one turn of the loop, for every step.

        Args:
            fmax: The largest force on an atom, in eV/Å.
            steps: How many force calls to take, beside the first.

        Yields:
            Whether the structure is certified to be a minimum.
        """
        self.fmax, steps = run_words(fmax, steps)
        self.max_steps = self.nsteps + steps
        self._take_up()
        if self.nsteps == 0:
            self._log()
            if self.trajectory is None or self._traj_is_empty():
                self.call_observers()
        yield self.certified
        while self._query is not None and self.nsteps < self.max_steps:
            self.step()
            self.nsteps += 1
            self._log()
            self.call_observers()
            yield self.certified

    def run(self, fmax: float = 0.05, steps: int = DEFAULT_MAX_STEPS) -> bool:
        """Run until the structure is certified to be a minimum, or nothing more can be done.

        Args:
            fmax: The largest force on an atom, in eV/Å.
            steps: How many force calls to take, beside the first.

        Returns:
            Whether it is certified; ``outcome`` says why not.
        """
        return self._through(self.irun(fmax, steps))

    def _take_up(self) -> None:
        """Begin, or go on; anew if somebody has moved the atoms or asks for another fmax."""
        if self.space.disturbed:
            calls = self.drive.calls
            self.initialize()
            self.drive.calls = self.drive.begun = calls
        drive = self.drive
        other = drive.fmax != self.fmax
        drive.aim(self.fmax)
        if other and drive.seen is not None:
            drive.state = drive.state._replace(phase=START)
        if drive.seen is None:
            self._query = drive.next()
            self.step()
        self._query = drive.next()

    def step(self) -> None:
        """Take one force call."""
        query = None if self._query is None else self.drive.next()  # a Ctrl-C may have come between
        if query is not None:
            self.drive.answer(query)
            self._query = self.drive.next()
            self._dump()

    @property
    def force_calls(self) -> int:
        """Force calls so far, those before a restart among them."""
        return self.drive.calls

    def gradient_converged(self, gradient: Any) -> bool:
        """Say whether forces are below fmax and the structure is certified."""
        return self.certified and super().gradient_converged(gradient)

    def converged(self, *given: Any, **words: Any) -> bool:
        """Say so of the gradient that ASE passes, or else of the forces where the atoms are."""
        given = (
            given if given or words else (self.optimizable.get_gradient(),)
        )  # ASE 3.27 has no default
        return self.certified and super().converged(*given, **words)

    def call_observers(self) -> None:
        """Call observers where the atoms have arrived, and not at probes and trials.

        Those with an interval are called at the first such step in which it has passed.
        """
        if not self.drive.arrived:
            return
        for function, interval, args, kwargs in self.observers:
            each = abs(interval) or 1
            passed = self.nsteps // each > self._reported // each
            once = self._reported < -interval <= self.nsteps
            if passed if interval > 0 else once:
                function(*args, **kwargs)
        self._reported = self.nsteps

    def _log(self) -> None:
        """Write ASE's columns, then the phase, and the lowest frequency that was met."""
        drive, name = self.drive, type(self).__name__
        if drive.last is None:
            return
        largest = self.optimizable.gradient_norm(drive.last.gradient)
        if self.nsteps == 0:
            head = f"{'Step':>4} {'Time':>8} {'Energy':>15}  {'fmax':>12}  {'phase':<20}"
            self.logfile.write(f"{'':{len(name)}}  {head} {self._unit:>10}\n")
        clock, seen = time.strftime("%H:%M:%S", time.localtime()), drive.last
        columns = f"{self.nsteps:3d} {clock} {seen.value:15.6f} {largest:15.6f}"
        text = f"{name}:  {columns}  {name_of(drive.phase):<20} {self._lowest()}"
        self.logfile.write(f"{text.rstrip()}\n")

    @property
    def _unit(self) -> str:
        return "1/cm" if self.space.mass_weighted else "eV/Å^2"

    def _lowest(self) -> str:
        """Write the lowest curvature that the search has met, if it has met any."""
        lowest = self.drive.lowest
        if not isfinite(lowest):
            return ""
        if not self.space.mass_weighted:
            return f"{lowest:10.3g}"
        shown = frequency_of(lowest)
        return f"{f'{-shown:.1f}i' if shown < 0 else f'{shown:.1f}':>10}"

    @property
    def _promise(self) -> Any:
        p = self.drive.parameters
        return np.array([p.curvature_tol, p.failure_probability])

    def _saved(self) -> Saved:
        """Give what goes into the restart file."""
        drive, x = self.drive, self.space.start
        return Saved(
            state=drive.state,
            value=drive.value,
            gradient=x if drive.gradient is None else drive.gradient,
            seen=Seen(x, inf, x) if drive.seen is None else drive.seen,
            centre=self.space.centre,
            cell=np.array(getattr(self.atoms, "orig_cell", np.zeros((3, 3)))),
            fmax=drive.fmax,
            calls=drive.calls,
            begun=drive.begun,
            roundoff=self.space.roundoff,
            promise=self._promise,
        )

    def _refer(self, cell: Any) -> None:
        """Let a filter refer to the cell that it referred to."""
        if cell is not None and hasattr(self.atoms, "orig_cell"):
            self.atoms.orig_cell[:] = cell

    def _dump(self) -> None:
        if self.restart is not None and self.comm.rank == 0:
            save(self._saved(), self.restart)
