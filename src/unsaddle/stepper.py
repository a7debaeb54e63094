"""A solver as a ``torch.optim.Optimizer``: the parameters hold the point it wants to look at.

The loop is the user's. One answer (the gradients in ``.grad``, and the loss where a phase asks for
it) moves the solver by one phase and the parameters to the next point. Vectors are lists of
tensors; the iterate x *is* the parameters while the method looks there, and is kept apart while
the parameters hold a probe.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from unsaddle import search
from unsaddle.certificate import Certificate
from unsaddle.escapes.jump import JUMP
from unsaddle.groups import check, dense, infinite, leaves
from unsaddle.kernel import (
    BEGIN,
    ENDS,
    GO,
    NOTHING,
    STALLED,
    START,
    TRIAL,
    UNBOUNDED,
    VALUE,
    Ops,
    Outcome,
    Parameters,
    Phase,
    Scalar,
    Solver,
    State,
    iterate,
)
from unsaddle.ops import torch as ops
from unsaddle.ops.lent import Into, Lent
from unsaddle.ops.torch import Vector, torch
from unsaddle.oracle import NotFiniteError

Closure = Callable[[], Any]
log = logging.getLogger("unsaddle")


def ended(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Stay."""
    return s


ENDED = Phase(iterate, NOTHING, ended)


class Stepper(torch.optim.Optimizer):
    """Runs a solver on parameters, one answer at a time."""

    solver: Solver
    kept: ClassVar[tuple[str, ...]] = (  # in a copy and in a pickle, beside what torch keeps
        "parameters", "seed", "outcome", "certificate", "looks",
        "_at", "_kernel", "_value", "_ready", "_since",
    )  # fmt: skip

    def __init__(
        self, params: Any, defaults: dict[str, Any], parameters: Parameters, seed: int
    ) -> None:
        """Take the parameters over.

        Args:
            params: As every torch optimiser takes them.
            defaults: What every group has.
            parameters: The method's hyperparameters.
            seed: All randomness is a function of it.
        """
        super().__init__(params, defaults)
        self.parameters, self.seed = parameters, seed
        self.outcome: Outcome | None = None
        self.certificate: Certificate | None = None
        self.looks = self._since = 0  # in all, and before the last search
        self._at: Vector = []  # the parameters that take part
        self._kernel: State | None = None
        self._value = math.nan
        self._ready = True  # for another minibatch
        self._compose()

    def _compose(self) -> None:
        """Make what cannot be copied."""
        self.solver = self._solver()
        self._closure: Closure | None = None
        self._loss: Any = None  # the last that a closure gave
        self._rests = self.solver.phases[GO].at is iterate  # whether x lives in the parameters

    @property
    def _name(self) -> str:
        """What a saved state is of."""
        return type(self).__name__

    def _solver(self) -> Solver:
        """Give the method."""
        raise NotImplementedError

    @torch.no_grad()
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take more parameters over, unless no method can handle them.

        Args:
            param_group: As every torch optimiser takes it.
        """
        super().add_param_group(param_group)
        added = self.param_groups.pop()
        check([*self.param_groups, added])
        self.param_groups.append(added)
        if getattr(self, "outcome", None) is not None:  # there is more to do
            self.outcome = self.certificate = None
            self._begin(self._at)

    def __getstate__(self) -> dict[str, Any]:
        """Give what a copy and a pickle have: the parameters and all that the method knows."""
        return super().__getstate__() | {name: getattr(self, name) for name in self.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take it over."""
        super().__setstate__(state)
        self._compose()

    @property
    def _pending(self) -> Phase:
        """The phase that waits for an answer; at the end one that needs none."""
        code = START if self._kernel is None else self._kernel.phase
        return self.solver.phases.get(code, ENDED)

    @property
    def phase(self) -> str:
        """Name of the phase that waits for an answer."""
        return self._pending.update.__name__

    @property
    def needs_value(self) -> bool:
        """Whether the method needs the loss: ``step(closure)`` or ``step(loss=loss)``."""
        return any(phase.needs & VALUE for phase in self.solver.phases.values())

    @torch.no_grad()
    def step(self, closure: Closure | None = None, *, loss: Any = None) -> Any:
        """Take one answer in, or with a closure as many as one iteration needs.

        Args:
            closure: Clears the gradients, computes the loss, calls ``backward()`` and returns the
                loss. It is called once per look until the method is ready for another minibatch:
                a search and its jump are one step.
            loss: The loss that ``backward()`` was called on, instead of a closure.

        Returns:
            The loss at the first look, if it is known.

        Raises:
            TypeError: If the closure is not callable.
        """
        if closure is not None and not callable(closure):
            raise TypeError(
                f"closure must be callable, got {type(closure).__name__}; for the loss itself "
                "call opt.step(loss=loss)"
            )
        if self.outcome is not None:
            return self._loss if loss is None else loss
        if closure is None:
            self._answer(loss)
            return loss
        self._closure = closure
        try:
            first = self._ask()
            while self.outcome is None and not self._ready:
                self._ask()
        finally:
            self._closure = None
        self._loss = first.detach() if isinstance(first, torch.Tensor) else first
        return first

    @contextmanager
    def iterate(self) -> Iterator[None]:
        """Put the iterate into the parameters for a while, to validate or to save it."""
        state = self._kernel
        if state is None or state.x is self._at:
            yield
            return
        with torch.no_grad():
            probe = ops.keep(self._at)
            ops.copy(self._at, state.x)
        try:
            yield
        finally:
            with torch.no_grad():
                ops.copy(self._at, probe)

    def state_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on bit for bit, tensors per parameter.

        Returns:
            A dictionary of the form that every torch optimiser gives.
        """
        packed = super().state_dict()
        numbers: dict[str, Any] = {
            "optimiser": self._name,
            "looks": self.looks,
            "since": self._since,
            "value": self._value,
            "seed": self.seed,
            "parameters": dict(leaves("", self.parameters)),
        }
        if self._kernel is not None:
            order = {p: i for i, p in enumerate(self._all())}
            numbers["active"] = [order[p] for p in self._at]
            numbers["roundoff"] = ops.roundoff(self._at)
            packed["state"] = {i: {} for i in numbers["active"]}
            for name, leaf in leaves("", self._kernel):
                if not isinstance(leaf, list):
                    numbers[name] = leaf
                elif leaf is not self._at:
                    for p, part in zip(self._at, leaf, strict=True):
                        packed["state"][order[p]][name] = part
        packed["param_groups"][0]["unsaddle"] = numbers
        return packed

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, with the settings that are in it; load the model first.

        Args:
            state_dict: What ``state_dict`` gave, perhaps in another precision or on another device.

        Raises:
            ValueError: If it is not of such an optimiser.
        """
        name = self._name
        saved = state_dict["param_groups"][0].get("unsaddle", {}).get("optimiser")
        if saved != name:
            whose = f", but of {saved}" if saved else ""
            raise ValueError(
                f"state_dict is not of {name}{whose}: pass what its state_dict() returned"
            )
        super().load_state_dict(state_dict)
        numbers = self.param_groups[0].pop("unsaddle")
        words = ("looks", "since", "value", "seed")
        self.looks, self._since, self._value, self.seed = (numbers[word] for word in words)
        self.parameters = self._fill("", self.parameters, numbers["parameters"])
        self._kernel = self.outcome = self.certificate = None
        if "active" in numbers:
            params = self._all()
            self._at = [params[i] for i in numbers["active"]]
            blank = self.solver.start(ops, self.parameters, self._at, self.seed)
            self._kernel = kernel = self._fill("", blank, numbers)
            if kernel.phase < 0:
                self._turn(kernel.phase, kernel)
            if kernel.phase >= BEGIN and ops.roundoff(self._at) > numbers["roundoff"]:
                self._begin(self._at)  # what a search sees is of a precision
            self._place()
        self.state.clear()

    def _fill(self, name: str, form: Any, numbers: dict[str, Any]) -> Any:
        """Put saved leaves into a state of the same form."""
        if hasattr(form, "_fields"):
            parts = {f: f"{name}.{f}".lstrip(".") for f in form._fields}
            return type(form)(
                **{f: self._fill(path, getattr(form, f), numbers) for f, path in parts.items()}
            )
        if not isinstance(form, list):
            return numbers[name]
        if all(name in self.state[p] for p in self._at):
            return [self.state[p][name] for p in self._at]
        return self._at

    @property
    def _state(self) -> State:
        assert self._kernel is not None
        return self._kernel

    def _all(self) -> list[torch.Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _ask(self) -> Any:
        assert self._closure is not None
        with torch.enable_grad():
            loss = self._closure()
        self._answer(loss)
        return loss

    def _answer(self, loss: Any) -> None:
        """Move by one phase that looks, and by those after it that need not look."""
        gradient = self._gradient()
        if gradient is None:
            return
        phase, value, turned = self.solver.phases[self._state.phase], self._value, False
        self._require(phase, loss)
        if phase.needs & VALUE:
            value = float(loss.detach() if isinstance(loss, torch.Tensor) else loss) + self._extra()
        square = ops.dot(gradient, gradient)
        trouble = infinite(value if phase.needs & VALUE else 0.0, gradient, square)
        if trouble and not phase.needs & TRIAL:
            raise NotFiniteError(f"{trouble}: the parameters are as they were")
        if trouble:
            value, square, gradient = math.inf, 0.0, [torch.zeros_like(g) for g in gradient]
        self._value, lent = value, Lent(gradient, square)
        self.looks += 1
        while True:
            state = phase.update(lent, self._current(), self._state, self._value, gradient)
            self._kernel = self._turn(self._state.phase, state)
            code = self._kernel.phase
            if code < 0:
                break
            phase = self.solver.phases[code]
            if phase.needs:
                break
            turned |= code == GO
        self._ready = self._between(code, turned)
        self._place()

    def _require(self, phase: Phase, loss: Any) -> None:
        """Ask for the loss: in a loop without a closure at the first step, not when it is due."""
        wanted = self.needs_value if self._closure is None else phase.needs & VALUE
        if loss is None and wanted:
            raise TypeError(
                f"{type(self).__name__}.step() needs the loss: pass a closure that returns it, "
                "opt.step(closure), or the loss itself, opt.step(loss=loss)"
            )

    def _between(self, code: int, turned: bool) -> bool:
        """Say whether an iteration is over: the descent is about to go on, or has turned to."""
        return code in (START, GO) or (turned and code < BEGIN)

    def _extra(self) -> float:
        """Give what is minimised beside the loss."""
        return 0.0

    def _current(self) -> Parameters:
        """Give the parameters with the step that a scheduler may have set."""
        return self.parameters

    def _turn(self, before: int, state: State) -> State:
        """Take note of jumps, and of how a run ends."""
        self._kernel, e = state, state.escape
        self._since = self.looks if state.phase == BEGIN else self._since
        leap = getattr(e, "stride", getattr(e, "leap", None))
        if leap is not None and (before, state.phase) == (JUMP, START):
            log.info(
                "jump %d: curvature %.3g, loss %.6g -> %.6g",
                state.episode, e.curvature, leap.value, leap.lowest,
            )  # fmt: skip
        if state.phase < 0:
            self.outcome = ENDS[state.phase]
            if hasattr(e, "sight") and state.phase not in (STALLED, UNBOUNDED):
                delta = self.parameters.escape.failure_probability
                self.certificate = search.read(ops, state, delta, self.looks - self._since)
        return state

    def _place(self) -> None:
        """Bring the parameters to the next point, and x out of their way."""
        state, at = self._state, iterate
        if state.phase >= 0:
            at = self.solver.phases[state.phase].at
        if at is not iterate:
            if state.x is self._at:
                self._kernel = state = state._replace(x=ops.keep(self._at))
            point = at(Into(self._at), self._current(), state)
            if point is not self._at:
                ops.copy(self._at, point)
        elif state.x is not self._at:
            ops.copy(self._at, state.x)
            if self._rests:
                self._kernel = state._replace(x=self._at)

    def _gradient(self) -> Vector | None:
        """Collect the gradients, and begin, or begin anew where other parameters have them."""
        known = {*self._at}
        moving = [p for p in self._all() if p.requires_grad and (p.grad is not None or p in known)]
        if all(p.grad is None for p in moving):
            raise RuntimeError(
                f"{type(self).__name__}.step() found no gradient: call loss.backward() before it, "
                "or pass a closure that does"
            )
        frozen = any(not p.requires_grad for p in self._at)
        if self._kernel is None or frozen or not known.issuperset(moving):
            probed = self._kernel is not None and self._pending.at is not iterate
            self._begin(moving)
            if probed:  # the gradients are of a search that is no more: look again
                self._ready = False
                return None
        return dense([torch.zeros_like(p) if p.grad is None else p.grad for p in self._at])

    def _begin(self, moving: Vector) -> None:
        check(self.param_groups)
        episode = drawn = 0
        if self._kernel is not None:
            ops.copy(self._at, self._kernel.x)
            episode, drawn = self._kernel.episode, self._kernel.drawn
        self._at = moving
        x = moving if self._rests else ops.keep(moving)
        start = self.solver.start(ops, self.parameters, x, self.seed)
        self._kernel = start._replace(episode=episode, drawn=drawn)
