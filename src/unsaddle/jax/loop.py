"""The traced counterpart of ``core/session.py``: all that runs on JAX is driven here.

A sweep answers the query that is due, and lets phases move until the next one is. So a compiled run
holds the function once for gradients and once for values alone, and every update once.

What is due at times stands in a ``while_loop``, not in a ``cond``: a loop works in place, where the
branches of a ``cond`` copy what they pass on, and under ``vmap`` it is left out where no member of
the batch wants it.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.custom_batching
import jax.numpy as jnp
import numpy as np

from unsaddle.core.evidence import Claim, phase_told
from unsaddle.core.kernel import Parameters, Phase, Solver, State, iterate
from unsaddle.core.outcome import ENDS, STATUS, Outcome
from unsaddle.core.phases import BEGIN, GRADIENT, NEW, PROBE, PROOF, PROVE, SAME, TRIAL, VALUE
from unsaddle.jax.inputs import LARGEST, Tree
from unsaddle.jax.ops import cast, ops
from unsaddle.jax.packing import Packed, changing, pack, reading

Phases = Mapping[int, Phase]
NUMBERS = BEGIN + 2 * PROOF  # of phases; the ends, below zero, count from behind
TURN = NUMBERS  # no loop's number: the next one has to be chosen


class Carry(NamedTuple):
    """What a run carries from query to query."""

    state: State
    value: Any  # the latest answer
    gradient: Tree
    due: Any  # number of the loop that is due; 0 if none is
    values: Any  # how many of each were computed
    gradients: Any
    began: Any  # how many gradients there were when the last search began
    finite: Any  # whether all answers were
    products: Any  # how many there were, with the Hessian
    began_products: Any  # and when the last search began


def unasked(*given: Any) -> Any:
    """Stand for what no phase asks for."""
    raise NotImplementedError


class Oracle(NamedTuple):
    """What answers the queries."""

    value: Callable[[Tree], Any] = unasked
    gradient: Callable[..., Tree] = unasked  # its second argument is a sample, if there are any
    draw: Callable[[Any, Any, int], Tree] | None = None  # samples of a seed, from a number on


SILENT = Oracle()


class Run:
    """A method on its way: loops that answer queries, and loops in which phases move.

    ``due`` of what is carried says which of them is next: those that answer have numbers below
    zero, the others above.
    """

    def __init__(
        self, phases: Phases, p: Parameters, oracle: Oracle = SILENT, limit: Any = LARGEST
    ) -> None:
        """Take the phases, what they work with, and how many gradients there may be."""
        self.phases, self.p, self.oracle, self.limit = phases, p, oracle, limit
        asking = {code: it for code, it in phases.items() if it.needs}
        queries = _grouped(asking, lambda it: (it.needs & GRADIENT, self.exact(it), self.cost(it)))
        moves = _grouped(phases, lambda it: (it.update, it.needs & TRIAL))
        self.queries = {-k: group for k, group in enumerate(queries, 1)}
        self.moves = dict(enumerate(moves, 1))
        self.asks = {code: k for k, group in self.queries.items() for code in group}
        self.takes = {code: k for k, group in self.moves.items() for code in group}
        self.costs = {code: self.cost(it) for code, it in phases.items()}

    def cost(self, phase: Phase) -> int:
        """Count what a phase pays for its gradient."""
        if not phase.needs & GRADIENT:
            return 0
        return phase.size(self.p) if self.oracle.draw else 1

    def exact(self, phase: Phase) -> bool:
        """Say whether a phase is answered by a product with the Hessian."""
        return bool(self.p.products and phase.needs & PROBE)

    def drive(self, carry: Carry) -> Carry:
        """Run phases until one that is not among them is due, or something is wrong."""

        def sweep(now: Packed) -> Packed:
            point = self.point(now)
            for number, group in self.queries.items():
                body = lambda both, it=group: (changing(partial(self.answer, it))(*both), both[1])  # noqa: E731
                now, _ = loop(lambda both, k=number: due(both[0]) == k, body, (now, point))
            return self.moved(now)

        first = pack(self.turned(carry))
        return jax.lax.while_loop(lambda now: anyone(due(now) != 0), sweep, first).unpack()

    def turned(self, carry: Carry) -> Carry:
        """Say which loop is next: none if an answer was not finite, or if the budget is spent."""
        spent = carry.gradients + carry.products
        affordable = spent <= self.limit - look_up(self.costs, carry.state.phase)
        due = look_up({**self.takes, **self.asks}, carry.state.phase)
        return carry._replace(due=jnp.where(carry.finite & affordable, due, 0))

    def point(self, now: Packed) -> Tree:
        """Give where the phase that is due wants its answer, x if none is; of a product, d."""
        away = {code: it for code, it in self.phases.items() if it.needs and it.at is not iterate}
        groups = _grouped(away, lambda it: (it.at, self.exact(it)))
        here = reading(lambda carry: carry.state.x)
        if not groups:
            return here(now)
        numbers = {code: k for k, group in enumerate(groups, 1) for code in group}
        number = look_up(numbers, now.read(lambda carry: carry.state.phase))
        return jax.lax.switch(number, [here, *(self.place(_first(it)) for it in groups)], now)

    def place(self, phase: Phase) -> Callable[[Packed], Tree]:
        """Give the point of a phase, or d where it wants H d: the point that it has at x = 0."""

        def at(carry: Carry) -> Tree:
            state = carry.state
            still = state._replace(x=ops.times(0.0, state.x)) if self.exact(phase) else state
            return phase.at(ops, self.p, still)

        return reading(at)

    def answer(self, group: Phases, carry: Carry, point: Tree) -> Carry:
        """Answer one of these phases at a point; what is not asked for is the latest answer."""
        phase, oracle = _first(group), self.oracle
        value, gradient, code = carry.value, carry.gradient, carry.state.phase
        asked = {code: it.needs & VALUE > 0 for code, it in group.items()}
        if oracle.draw is not None:
            first = self.first_sample(group, carry.state)
            gradient = oracle.gradient(
                point, oracle.draw(carry.state.seed, first, self.cost(phase))
            )
        elif self.exact(phase):
            here, product = jax.jvp(oracle.gradient, (carry.state.x,), (point,))
            gradient = ops.add(here, 1.0, product)
        elif not phase.needs & GRADIENT:
            value = oracle.value(point)
        elif any(asked.values()):
            found, gradient = jax.value_and_grad(oracle.value)(point)
            value = jnp.where(within(asked, code), found, value)
        else:
            gradient = oracle.gradient(point)
        told = carry._replace(
            value=value,
            gradient=gradient,
            due=within({code: self.takes[code] for code in group}, code),
            values=carry.values + within(asked, code),
            gradients=carry.gradients + (0 if self.exact(phase) else self.cost(phase)),
            products=carry.products + self.exact(phase),
        )
        return cast(told, carry)

    def first_sample(self, group: Phases, state: State) -> Any:
        """Number the first sample that one of these phases wants: the last one's, or a new one."""
        again = {code: it.size(self.p) * (it.sample == SAME) for code, it in group.items()}
        return state.drawn - within(again, state.phase)

    def moved(self, now: Packed) -> Packed:
        """Let phases move until a query is due: those of the descent, and if need be the others."""
        own = {k: group for k, group in self.moves.items() if min(group) < BEGIN}
        loud = {k: group for k, group in own.items() if _first(group).needs}
        silent = {k: group for k, group in own.items() if k not in loud}
        others = {k: group for k, group in self.moves.items() if k not in own}
        turn = partial(loop, lambda now: due(now) == TURN, changing(self.turned))
        now = turn(self.passed(loud, now))
        for moves in filter(None, (silent, others)):
            among = lambda now, moves=moves: reduce(or_, (due(now) == k for k in moves))  # noqa: E731
            now = loop(among, lambda now, moves=moves: turn(self.passed(moves, now)), now)
        return now

    def passed(self, moves: Mapping[int, Phases], now: Packed) -> Packed:
        """Go past groups of phases, and let the one that is due, if it is there, move."""
        for number, group in moves.items():
            move = changing(partial(self.move, group))
            now = loop(lambda now, k=number: due(now) == k, move, now)
        return now

    def move(self, group: Phases, now: Carry) -> Carry:
        """Let one of these phases take an answer in, and stay where that is not finite."""
        phase, state, code = _first(group), now.state, now.state.phase
        value, gradient, finite = received(group, state, now.value, now.gradient)
        new = within({c: it.size(self.p) * (it.sample == NEW) for c, it in group.items()}, code)
        began, began_products = now.began, now.began_products
        if {*group} & {BEGIN, PROVE}:
            begins = within({c: c in (BEGIN, PROVE) for c in group}, code)
            cost = within({c: self.costs[c] for c in group}, code)
            began = jnp.where(begins, now.gradients - cost, began)
            began_products = jnp.where(begins, now.products, began_products)
        state = state._replace(drawn=state.drawn + new)
        after = phase.update(ops, self.p, state, value, gradient)
        told = now._replace(
            state=after._replace(phase=jnp.where(finite, after.phase, code)),
            value=value,
            gradient=gradient,
            began=began,
            began_products=began_products,
            finite=now.finite & finite,
            due=jnp.array(TURN),
        )
        return cast(told, now)


@jax.custom_batching.custom_vmap
def anyone(running: Any) -> Any:
    """Say whether a run goes on, of a batch whether one does: those that do not stand still."""
    return running


@anyone.def_vmap
def _of_a_batch(count: int, batched: Any, running: Any) -> tuple[Any, bool]:
    return jnp.any(running), False


def look_up(table: Mapping[int, Any], phase: Any) -> Any:
    """Give the entry of a phase that is known when the program runs, or zero."""
    row = np.zeros(NUMBERS, np.result_type(bool, *table.values()))
    row[[*table]] = [*table.values()]
    return jnp.asarray(row)[phase] if row.any() else jnp.asarray(row[0])


def within(table: Mapping[int, Any], phase: Any) -> Any:
    """Give the entry of a phase that the table has: a constant if all entries are the same."""
    return _first(table) if len({*table.values()}) == 1 else look_up(table, phase)


def _grouped(phases: Phases, key: Callable[[Phase], Hashable]) -> list[Phases]:
    """Part phases by a property; those that ask come first."""
    groups = dict[Hashable, dict[int, Phase]]()
    for code, phase in sorted(phases.items(), key=lambda it: (not it[1].needs, it[0])):
        groups.setdefault(key(phase), {})[code] = phase
    return [*groups.values()]


def due(now: Packed) -> Any:
    """Read which loop is due."""
    return now.read(lambda carry: carry.due)


def _first(group: Mapping[int, Any]) -> Any:
    return next(iter(group.values()))


def loop(due: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any) -> Any:
    """Run a ``while_loop`` that carries what the body changes, and only sees the rest."""
    leaves, form = jax.tree.flatten(carry)
    work = jax.jit(lambda *u: jax.tree.leaves(body(form.unflatten(u))))
    flat = work.trace(*leaves).jaxpr.jaxpr  # the call below finds it: it is traced once
    own = flat.invars[len(flat.invars) - len(leaves) :]  # behind what the body closes over
    pairs = zip(own, flat.outvars, strict=True)
    changed = [i for i, (before, after) in enumerate(pairs) if before is not after]

    def complete(part: list[Any]) -> list[Any]:
        new = dict(zip(changed, part, strict=True))
        return [new.get(i, leaf) for i, leaf in enumerate(leaves)]

    def step(part: list[Any]) -> list[Any]:
        # the barrier: XLA would hoist out what does not change in a loop, whether it is due or not
        found = work(*jax.lax.optimization_barrier(complete(part)))
        return [found[i] for i in changed]

    def again(part: list[Any]) -> Any:
        return due(form.unflatten(complete(part)))

    return form.unflatten(complete(jax.lax.while_loop(again, step, [leaves[i] for i in changed])))


def received(group: Phases, state: State, value: Any, gradient: Tree) -> tuple[Any, Tree, Any]:
    """Check the answer to one of these phases; one that may fail, and does, becomes infinity."""
    kinds = {code: it.needs for code, it in group.items()}
    needs, any_needs = within(kinds, state.phase), reduce(or_, kinds.values())
    finite = jnp.array(True)
    if any_needs & VALUE:
        finite = (needs & VALUE == 0) | jnp.isfinite(value)
    if any_needs & GRADIENT:
        finite &= (needs & GRADIENT == 0) | (ops.dot(gradient, gradient) < jnp.inf)
    if any_needs & TRIAL:
        failed = ~finite & (needs & TRIAL > 0)
        value = jnp.where(failed, jnp.inf, value)
        gradient = ops.switch(failed, ops.times(0.0, state.x), gradient)
        finite |= failed
    return value, gradient, finite


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
    gradient, counts = ops.times(0.0, state.x), (zero, zero, zero, zero)
    return Carry(state, nan, gradient, *counts, jnp.array(True), zero, zero)


def status(ran: Carry, claim: Claim) -> Any:
    """Give the number of the outcome, in the order of precedence."""
    phase = phase_told(ops, ran.state, claim.coarser)
    number = jnp.array(STATUS[Outcome.BUDGET])
    for code, outcome in ENDS.items():
        number = jnp.where(phase == code, STATUS[outcome], number)
    return jnp.where(ran.finite, number, STATUS[Outcome.NOT_FINITE])
