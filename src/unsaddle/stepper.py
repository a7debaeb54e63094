"""A solver as a ``torch.optim.Optimizer``: the parameters hold the point it wants to look at.

The loop is the user's. One answer (the gradients in ``.grad``, and the loss where a phase asks for
it) moves the solver by one phase and the parameters to the next point. Vectors are lists of
tensors; the iterate x *is* the parameters while the method looks there, and is kept apart while
the parameters hold a probe.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from unsaddle import search
from unsaddle.certificate import Certificate
from unsaddle.kernel import (
    ENDS,
    GO,
    START,
    VALUE,
    Outcome,
    Parameters,
    Solver,
    State,
    iterate,
)
from unsaddle.ops import torch as ops
from unsaddle.ops.torch import Vector, torch
from unsaddle.oracle import NotFiniteError

Closure = Callable[[], Any]


class Lent:
    """The backend for one answer: knows the norm of the gradient that was lent already."""

    def __init__(self, gradient: Vector, square: float) -> None:
        """Take note.

        Args:
            gradient: The gradient.
            square: Its dot with itself.
        """
        self.gradient, self.length = gradient, math.sqrt(square)

    def __getattr__(self, name: str) -> Any:
        """Give everything else as it is."""
        return getattr(ops, name)

    def norm(self, x: Vector) -> float:
        """Euclidean length."""
        return self.length if x is self.gradient else ops.norm(x)


class Into:
    """The backend for a probe: x + a y is written where the probe is to be."""

    def __init__(self, target: Vector) -> None:
        """Take note.

        Args:
            target: Whose storage to use.
        """
        self.target = target

    def __getattr__(self, name: str) -> Any:
        """Give everything else as it is."""
        return getattr(ops, name)

    def add(self, x: Vector, a: float, y: Vector) -> Vector:
        """x + a y, in the target's storage."""
        return ops.axpy(a, y, ops.copy(self.target, x))


class Stepper(torch.optim.Optimizer):
    """Runs a solver on parameters, one answer at a time."""

    def __init__(
        self,
        params: Any,
        defaults: dict[str, Any],
        solver: Solver,
        parameters: Parameters,
        seed: int,
    ) -> None:
        """Take the parameters over.

        Args:
            params: As every torch optimiser takes them.
            defaults: What every group has.
            solver: The method.
            parameters: Its hyperparameters.
            seed: All randomness is a function of it.
        """
        super().__init__(params, defaults)
        check(self.param_groups)
        self.solver, self.parameters, self.seed = solver, parameters, seed
        self.outcome: Outcome | None = None
        self.certificate: Certificate | None = None
        self.looks = 0
        self._at: Vector = []  # the parameters that take part
        self._kernel: State | None = None
        self._value = math.nan
        self._closure: Closure | None = None
        self._rests = solver.phases[GO].at is iterate  # whether x lives in the parameters

    @property
    def phase(self) -> str:
        """Name of the phase that waits for an answer."""
        code = START if self._kernel is None else self._kernel.phase
        return self.solver.phases[code].update.__name__ if code >= 0 else "ended"

    @property
    def needs_value(self) -> bool:
        """Whether the next step needs the loss: ``step(closure)`` or ``step(loss=loss)``."""
        code = START if self._kernel is None else self._kernel.phase
        return code >= 0 and bool(self.solver.phases[code].needs & VALUE)

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
        """
        if self.outcome is not None:
            return loss
        if closure is None:
            self._answer(loss)
            return loss
        self._closure = closure
        try:
            first = self._ask()
            while self.outcome is None and self._state.phase not in (START, GO):
                self._ask()
        finally:
            self._closure = None
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
        numbers: dict[str, Any] = {"looks": self.looks, "value": self._value}
        if self._kernel is not None:
            order = {p: i for i, p in enumerate(self._all())}
            numbers["active"] = [order[p] for p in self._at]
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
        """Go on from a saved state; load the model's parameters first.

        Args:
            state_dict: What ``state_dict`` gave, perhaps in another precision or on another device.

        Raises:
            ValueError: If it is not of such an optimiser.
        """
        super().load_state_dict(state_dict)
        numbers = self.param_groups[0].pop("unsaddle", None)
        if numbers is None:
            raise ValueError(
                f"state_dict is not of {type(self).__name__}: pass what its state_dict() returned"
            )
        self.looks, self._value = numbers["looks"], numbers["value"]
        self._kernel = self.outcome = None
        if "active" in numbers:
            params = self._all()
            self._at = [params[i] for i in numbers["active"]]
            blank = self.solver.start(ops, self.parameters, self._at, self.seed)
            self._kernel = self._fill("", blank, numbers)
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
        gradient, lent = self._gradient()
        state = self._state
        phase = self.solver.phases[state.phase]
        if phase.needs & VALUE:
            if loss is None:
                raise TypeError(
                    f"{type(self).__name__}.step() needs the loss at this point "
                    f"({phase.update.__name__}): pass a closure, opt.step(closure), or the loss, "
                    "opt.step(loss=loss)"
                )
            self._value = float(loss.detach() if isinstance(loss, torch.Tensor) else loss)
            if not math.isfinite(self._value):
                raise NotFiniteError(f"the loss is {self._value}: the parameters are as they were")
        self.looks += 1
        while True:
            state = phase.update(lent, self._current(), self._state, self._value, gradient)
            self._kernel = self._turn(self._state.phase, state)
            if self._kernel.phase < 0:
                break
            phase = self.solver.phases[self._kernel.phase]
            if phase.needs:
                break
        self._place()

    def _current(self) -> Parameters:
        """Give the parameters with the step that a scheduler may have set."""
        return self.parameters

    def _turn(self, before: int, state: State) -> State:
        """Take note of how a run ends."""
        self._kernel = state
        if state.phase < 0:
            self.outcome = ENDS[state.phase]
            if hasattr(state.escape, "sight"):
                asked = self.parameters.escape
                self.certificate = search.certificate(
                    ops, state, asked.curvature_tol, asked.failure_probability, state.escape.steps
                )
        return state

    def _place(self) -> None:
        """Bring the parameters to the next point, and x out of their way."""
        state, at = self._state, iterate
        if state.phase >= 0:
            at = self.solver.phases[state.phase].at
        if at is not iterate:
            if state.x is self._at:
                self._kernel = state = state._replace(x=ops.keep(self._at))
            at(Into(self._at), self._current(), state)
        elif state.x is not self._at:
            ops.copy(self._at, state.x)
            if self._rests:
                self._kernel = state._replace(x=self._at)

    def _gradient(self) -> tuple[Vector, Lent]:
        """Collect the gradients, and begin, or begin anew where other parameters have them."""
        moving = [p for p in self._all() if p.grad is not None]
        if not moving:
            raise RuntimeError(
                f"{type(self).__name__}.step() found no gradient: call loss.backward() before it, "
                "or pass a closure that does"
            )
        if self._kernel is None or not {*moving} <= {*self._at}:
            self._begin(moving)
        gradient = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._at]
        if any(g.is_sparse for g in gradient):
            raise TypeError(
                "sparse gradients are not supported: pass sparse=False to torch.nn.Embedding"
            )
        square = ops.dot(gradient, gradient)
        if not square < math.inf and not all(bool(torch.isfinite(g).all()) for g in gradient):
            raise NotFiniteError("a gradient is NaN or infinite: the parameters are as they were")
        return gradient, Lent(gradient, square)

    def _begin(self, moving: Vector) -> None:
        episode = 0
        if self._kernel is not None:
            ops.copy(self._at, self._kernel.x)
            episode = self._kernel.episode
        self._at = moving
        x = moving if self._rests else ops.keep(moving)
        start = self.solver.start(ops, self.parameters, x, self.seed)
        self._kernel = start._replace(episode=episode)


def check(groups: list[dict[str, Any]]) -> None:
    """Refuse parameters that no method can handle.

    Args:
        groups: The parameter groups.

    Raises:
        TypeError: If a parameter is not real floating point.
        ValueError: If the parameters are on several devices.
    """
    params = [p for group in groups for p in group["params"]]
    for p in params:
        if not p.is_floating_point():
            hint = "; use torch.view_as_real" if p.is_complex() else ""
            raise TypeError(f"parameters must be real floating point, got {p.dtype}{hint}")
    devices = sorted({str(p.device) for p in params})
    if len(devices) > 1:
        raise ValueError(
            f"parameters must be on one device, got {', '.join(devices)}: "
            "move the model with model.to(device) first"
        )


def leaves(name: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """Name every leaf of nested named tuples by its path."""
    if hasattr(tree, "_fields"):
        for field in tree._fields:
            yield from leaves(f"{name}.{field}".lstrip("."), getattr(tree, field))
    else:
        yield name, tree
