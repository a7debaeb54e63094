"""``Escape``: any ASE optimiser descends, unsaddle certifies and escapes where it has converged."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Unpack

import numpy as np
from ase.optimize.optimize import DEFAULT_MAX_STEPS, Optimizer

from unsaddle.ase.drive import Drive, Driven, Seen, solver_of
from unsaddle.ase.inputs import Words, asked_of, claim, positive, run_words, structure
from unsaddle.ase.space import Space
from unsaddle.core.phases import START
from unsaddle.core.session import NotFiniteError
from unsaddle.descents.external import external
from unsaddle.methods.table import AROUND, find
from unsaddle.numpy.ops import ops

ONWARD = {"atoms", "optimizable", "logfile", "observers", "nsteps", "max_steps", "fmax"}


class Escape(Driven):
    """An optimiser of ASE's kind around another."""

    def __init__(
        self,
        optimizer: Any,
        maxstep: float | None = None,
        **given: Unpack[Words],
    ) -> None:
        """Take an optimiser.

        Args:
            optimizer: An ASE optimiser, or a function without arguments that makes one, which is
                called again after every jump: for those that cannot be started anew.
            maxstep: How far an atom may go in a first jump, in Å; 0.2 if not given.
            **given: The words of ``unsaddle.ase.Words``: what the certificate is to say.
        """
        self.optimizer, self._anew = _restartable(optimizer)
        self.asked = asked_of(given)
        self.atoms = structure(getattr(self.optimizer, "atoms", self.optimizer))
        usual = Optimizer.defaults["maxstep"]
        self.maxstep = usual if maxstep is None else positive("maxstep", maxstep)
        self._good = self.atoms.__ase_optimizable__().get_x()  # where forces were finite
        self._before = 0  # steps of optimisers and searches that were replaced
        self._begin()

    def _begin(self) -> None:
        """Prepare to search from where the atoms are."""
        self.space = space = Space(self.atoms, self.asked["mass_weighted"])
        parameters = find("auto").from_theory(n=space.scale.size, **claim(space, self.asked))
        solver = solver_of(space, external, AROUND)
        state = solver.start(ops, parameters, space.start, self.asked["seed"])
        self.drive = Drive(space, solver, parameters, state, self.maxstep)

    @property
    def nsteps(self) -> int:
        """Steps of the optimiser, and force calls beside them."""
        return self._before + self.optimizer.nsteps + self.drive.calls

    def converged(self) -> bool:
        """Say whether it has ended at a minimum."""
        return self.certified

    def attach(self, function: Any, interval: int = 1, *args: Any, **kwargs: Any) -> None:
        """Call a function as the optimiser goes on; not at probes and trials."""
        self.optimizer.attach(function, interval, *args, **kwargs)

    def run(self, fmax: float = 0.05, steps: int = DEFAULT_MAX_STEPS) -> bool:
        """Run until the structure is certified to be a minimum, or nothing more can be done.

        Args:
            fmax: The largest force on an atom, in eV/Å.
            steps: How many steps to take, and force calls beside them.

        Returns:
            Whether it is certified; ``outcome`` says why not.
        """
        return self._through(self.irun(fmax, steps))

    def irun(self, fmax: float = 0.05, steps: int = DEFAULT_MAX_STEPS) -> Iterator[bool]:
        """Run as a generator.

        Args:
            fmax: The largest force on an atom, in eV/Å.
            steps: How many steps to take, and force calls beside them.

        Yields:
            Whether the structure is certified to be a minimum.
        """
        fmax, steps = run_words(fmax, steps)
        if self.drive.over:
            if self.drive.fmax == fmax and not self.space.disturbed:
                yield self.certified
                return
            self._before += self.drive.calls
            self._begin()
        drive, last = self.drive, self.nsteps + steps
        drive.aim(fmax)
        while True:
            if drive.state.phase == START:
                for share in (1.0, 0.5):  # some have another measure of forces, and stop short
                    for _ in self.optimizer.irun(fmax=share * fmax, steps=last - self.nsteps):
                        self._see()
                        yield False
                    if self._settled(fmax):
                        break
                if self.nsteps >= last and not self._settled(fmax):
                    return
                self._arrive()
            while (query := drive.next()) is not None and self.nsteps < last:
                drive.answer(query)
                yield self.certified if drive.over else False
                if drive.state.phase == START:  # it has jumped
                    break
            if drive.state.phase != START or self.nsteps >= last:
                yield self.certified
                return
            self._start_anew()

    def _see(self) -> None:
        """Remember where forces are finite; where they are not, go back there and say so."""
        optimizable = self.space.optimizable
        if np.isfinite(optimizable.get_gradient()).all():
            self._good = optimizable.get_x()
            return
        optimizable.set_x(self._good)
        self.space.forget()
        raise NotFiniteError(
            "the forces are NaN or infinite: the atoms are where they last were not, "
            "and run() goes on from there"
        )

    def _start_anew(self) -> None:
        """Let the optimiser forget what it has learned before the jump."""
        self._good = self.space.optimizable.get_x()
        before, self.optimizer = self.optimizer, self._anew()
        if self.optimizer is not before:
            self._before += before.nsteps

    def _settled(self, fmax: float) -> bool:
        """Say whether the optimiser has done what it was asked for."""
        optimizable = self.space.optimizable
        return bool(optimizable.converged(optimizable.get_gradient(), fmax))

    def _arrive(self) -> None:
        """Take the atoms from where the optimiser has left them, with the forces it has seen."""
        space, drive = self.space, self.drive
        y, optimizable = space.adopt(), space.optimizable
        gradient = space.gradient()
        drive.seen = Seen(y.copy(), float(optimizable.get_value()), gradient)
        drive.state = drive.state._replace(x=y, phase=START)


def _restartable(optimizer: Any) -> tuple[Any, Callable[[], Any]]:
    """Give the optimiser, and a function that gives it as it was at the beginning."""
    ready = hasattr(optimizer, "irun") and not isinstance(optimizer, type)
    if not ready and (isinstance(optimizer, type) or not callable(optimizer)):
        raise TypeError(
            f"optimizer must be an ASE optimiser, such as BFGS(atoms), got {optimizer!r}"
        )
    if not ready:
        return optimizer(), optimizer
    opt: Any = optimizer
    first = {name: copy(it) for name, it in vars(optimizer).items() if name not in ONWARD}

    def anew() -> Any:
        vars(opt).update({name: copy(it) for name, it in first.items()})
        opt.initialize()
        return opt

    return opt, anew
