"""The traced counterpart of ``core/session.py``: all that runs on JAX is driven here.

``drive`` runs phases until one is due that is not among them: all the phases of a method in
``minimize``, those of a search in ``certify``, and in an update of optax those that need no answer.
Each phase has a ``while_loop`` of its own inside an outer one, so that no loop carries a
conditional; under ``vmap`` the members of a batch wait for each other phase by phase.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unsaddle.core.kernel import Parameters, Phase, Solver, State
from unsaddle.core.outcome import ENDS, STATUS, Outcome, last_phase
from unsaddle.core.phases import BEGIN, GRADIENT, NEW, PROVE, SAME, TRIAL, VALUE
from unsaddle.jax.inputs import LARGEST, Tree
from unsaddle.jax.ops import ops

Codes = tuple[int, ...]


class Carry(NamedTuple):
    """What a loop carries."""

    state: State
    value: Any  # the latest answer
    gradient: Tree
    values: Any  # how many of each were computed
    gradients: Any
    began: Any  # how many gradients there were when the last search began
    finite: Any  # whether all answers were


class Oracle(NamedTuple):
    """What answers the queries; None where no phase asks for it."""

    value: Callable[[Tree], Any] | None = None
    gradient: Callable[..., Tree] | None = None  # its second argument is a sample, if there are any
    draw: Callable[[Any, Any, int], Tree] | None = None  # samples of a seed, from a number on


def drive(
    phases: Mapping[int, Phase],
    parameters: Parameters,
    oracle: Oracle,
    carry: Carry,
    limit: Any = LARGEST,
) -> Carry:
    """Run phases until one that is not among them is due, or something is wrong."""
    loops, alike = _Loops(phases, parameters, oracle, limit), dict[Phase, Codes]()
    for code, phase in sorted(phases.items()):
        alike[phase] = (*alike.get(phase, ()), code)  # equal ones share a loop

    def sweep(carry: Carry) -> Carry:
        for codes in alike.values():
            due, visit = partial(loops.due, codes), partial(loops.visit, codes)
            carry = jax.lax.while_loop(due, visit, carry)
        return carry

    def running(carry: Carry) -> Any:
        return reduce(or_, (loops.due(codes, carry) for codes in alike.values()))

    return jax.lax.while_loop(running, sweep, carry)


class _Loops(NamedTuple):
    """The conditions and the bodies of all loops.

    The barriers: a phase of one trip is invariant in its loop, and XLA would hoist its query out,
    to be answered whether it is due or not.
    """

    phases: Mapping[int, Phase]
    parameters: Parameters
    oracle: Oracle
    limit: Any

    def due(self, codes: Codes, carry: Carry) -> Any:
        """Say whether one of these phases is next, and can be paid for."""
        phase, affordable = self.phases[codes[0]], True
        if phase.needs & GRADIENT:
            affordable = carry.gradients <= self.limit - self.cost(phase)
        return carry.finite & _among(carry.state.phase, codes) & affordable

    def visit(self, codes: Codes, carry: Carry) -> Carry:
        """Answer a phase, and let it take the answer in."""
        phase, now = self.phases[codes[0]], jax.lax.optimization_barrier(carry)
        value, gradient = self.answer(phase, now)
        told = self.counted(codes, now, value, gradient)
        return self.moved(phase, told, carry)

    def cost(self, phase: Phase) -> int:
        """Count what a gradient for a phase costs."""
        return phase.size(self.parameters) if self.oracle.draw else 1

    def answer(self, phase: Phase, now: Carry) -> tuple[Any, Tree]:
        """Answer a query; what is not asked for is the latest answer there is."""
        if not phase.needs:
            return now.value, now.gradient
        point = phase.at(ops, self.parameters, now.state)
        if phase.needs & VALUE and phase.needs & GRADIENT:
            return jax.value_and_grad(self.oracle.value)(point)  # type: ignore[arg-type]
        if phase.needs & VALUE:
            return self.oracle.value(point), now.gradient  # type: ignore[misc]
        draw, gradient, sample = self.oracle.draw, self.oracle.gradient, ()
        if draw is not None:
            first = now.state.drawn - (self.cost(phase) if phase.sample == SAME else 0)
            sample = (draw(now.state.seed, first, self.cost(phase)),)
        return now.value, gradient(point, *sample)  # type: ignore[misc]

    def counted(self, codes: Codes, now: Carry, value: Any, gradient: Tree) -> Carry:
        """Take note of an answer to one of these phases."""
        phase, begins = self.phases[codes[0]], {*codes} & {BEGIN, PROVE}
        value, gradient, finite = received(phase, now.state.x, value, gradient)
        start = _among(now.state.phase, tuple(begins)) if begins else False
        return now._replace(
            value=value,
            gradient=gradient,
            values=now.values + bool(phase.needs & VALUE),
            gradients=now.gradients + (self.cost(phase) if phase.needs & GRADIENT else 0),
            began=jnp.where(start, now.gradients, now.began),
            finite=now.finite & finite,
        )

    def moved(self, phase: Phase, told: Carry, like: Carry) -> Carry:
        """Let a phase take in what was told; its number stays if that was not finite."""
        after = moved(phase, self.parameters, told.state, told.value, told.gradient)
        after = after._replace(phase=jnp.where(told.finite, after.phase, told.state.phase))
        return cast(told._replace(state=after), like)


def _among(phase: Any, codes: Codes) -> Any:
    return reduce(or_, (phase == code for code in codes))


def index(codes: Sequence[int], phase: Any) -> Any:
    """Give the place of a phase in a list, or the list's length if it is not there."""
    hit = jnp.array([*codes], int) == phase
    return jnp.where(hit.any(), jnp.argmax(hit), len(codes)) if codes else 0


def received(phase: Phase, x: Tree, value: Any, gradient: Tree) -> tuple[Any, Tree, Any]:
    """Check an answer; one that need not be finite, and is not, becomes infinity."""
    finite = jnp.array(True)
    if phase.needs & GRADIENT:
        finite &= ops.dot(gradient, gradient) < jnp.inf
    if phase.needs & VALUE:
        finite &= jnp.isfinite(value)
    if phase.needs & TRIAL:
        value = jnp.where(finite, value, jnp.inf)
        gradient = ops.switch(finite, gradient, ops.times(0.0, x))
        finite = jnp.array(True)
    return value, gradient, finite


def moved(phase: Phase, p: Parameters, state: State, value: Any, gradient: Tree) -> State:
    """Give the state after an answer, in the same precisions, with new samples counted."""
    drawn = state.drawn + (phase.size(p) if phase.sample == NEW else 0)
    after = phase.update(ops, p, state._replace(drawn=drawn), value, gradient)
    return cast(after, state)


def first_state(
    solver: Solver, parameters: Parameters, x: Tree, seed: Any, phase: int | None = None
) -> State:
    """Give the first state as arrays, whose types the loops then keep."""
    real = jnp.result_type(jnp.float32, *(leaf.dtype for leaf in jax.tree.leaves(x)))
    state = solver.start(ops, parameters, x, seed)
    state = state if phase is None else state._replace(phase=phase)
    return jax.tree.map(
        lambda u: jnp.asarray(u, real if isinstance(u, float) else jnp.result_type(u)), state
    )


def rest(state: State) -> Carry:
    """Give what a loop carries at first."""
    nan, zero = jnp.full_like(state.tolerance, jnp.nan), jnp.array(0)
    return Carry(state, nan, ops.times(0.0, state.x), zero, zero, zero, jnp.array(True))


def cast(tree: Any, like: Any) -> Any:
    """Give a tree in the precisions of another."""
    return jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), tree, like)


def status(ran: Carry) -> Any:
    """Give the number of the outcome, in the order of precedence."""
    phase = last_phase(ops, ran.state.phase, ran.state.stalled)
    number = jnp.array(STATUS[Outcome.BUDGET])
    for code, outcome in ENDS.items():
        number = jnp.where(phase == code, STATUS[outcome], number)
    return jnp.where(ran.finite, number, STATUS[Outcome.NOT_FINITE])
