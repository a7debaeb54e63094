"""A run that lives in parameters: they hold the point of the query, and x wherever they can.

A descent that queries at its iterate has x in the parameters themselves; x is copied out of their
way for a probe only. Any other descent has x apart.
"""

from math import isfinite, nan

from unsaddle.core.kernel import Parameters, Phase, Solver, State, iterate
from unsaddle.core.phases import GO, TRIAL
from unsaddle.core.session import NotFiniteError, Query, Session
from unsaddle.torch.ops import CachingOps, PlacingOps, Vector, ops


class ParameterSession(Session[Vector]):
    """A session whose queries are where the parameters are."""

    def __init__(
        self, at: Vector, solver: Solver, parameters: Parameters, state: State, value: float = nan
    ) -> None:
        """Take a run up."""
        super().__init__(ops, solver, parameters, state, value)
        self.at, self._resident = at, resident(solver)

    def ask(self) -> Query | None:
        """Go on to the next query, and bring the parameters to its point, or to x at the end."""
        query = super().ask()
        self.ops, self.gradient = ops, None  # it was lent until now
        if query is None:
            self.settle()
        return query

    def tell(self, value: float | None = None, gradient: Vector | None = None) -> None:
        """Take the answer to the last query in; the gradient's norm is computed once."""
        self.ops, pending = CachingOps(), self._pending
        trouble = "" if gradient is None else _trouble(value, gradient, self.ops)
        if trouble and not (pending is not None and pending.needs & TRIAL):
            raise NotFiniteError(f"{trouble}: the parameters are as they were")
        try:
            super().tell(*((nan, None) if trouble else (value, gradient)))
        except BaseException:
            self._pending = pending  # an answer whose update failed can be told again
            raise

    def point(self, phase: Phase) -> Vector:
        """Write the point of a query into the parameters, with x out of their way."""
        if phase.at is iterate:
            return self.settle()
        if self.state.x is self.at:
            self.state = self.state._replace(x=ops.copy(self.at))
        point = phase.at(PlacingOps(self.at), self.parameters, self.state)
        return point if point is self.at else ops.assign(self.at, point)

    def settle(self) -> Vector:
        """Write x into the parameters, where it stays if the descent queries at its iterate."""
        if self.state.x is not self.at:
            ops.assign(self.at, self.state.x)
            if self._resident:
                self.state = self.state._replace(x=self.at)
        return self.at


def resident(solver: Solver) -> bool:
    """Say whether the descent queries at its iterate, which then lives in the parameters."""
    return solver.phases[GO].at is iterate


def first_state(at: Vector, solver: Solver, parameters: Parameters, seed: int) -> State:
    """Give the state in which a run begins at the parameters."""
    return solver.start(ops, parameters, at if resident(solver) else ops.copy(at), seed)


def _trouble(value: float | None, gradient: Vector, known: CachingOps) -> str:
    """Say what is not finite, if anything is not."""
    norm = known.cache_norm(gradient)
    if value is not None and not isfinite(value):
        return f"the loss is {value}"
    if not isfinite(norm) and not ops.finite(gradient):
        return "a gradient is NaN or infinite"
    return ""
