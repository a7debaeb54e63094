"""A run that lives in parameters: they hold the point of the query."""

from math import isfinite, nan

from unsaddle.core.evidence import Claim, read
from unsaddle.core.kernel import Parameters, Phase, Solver, State, iterate
from unsaddle.core.phases import TRIAL
from unsaddle.core.session import NotFiniteError, Query, Session
from unsaddle.torch.inputs import gradient_of
from unsaddle.torch.layout import Layout
from unsaddle.torch.ops import CachingOps, PlacingOps, Vector, ops
from unsaddle.torch.ranks import Ranks
from unsaddle.torch.shards import ShardedOps, like


class RunOps(CachingOps):
    """The operations of a run: it draws parameter by parameter, however vectors lie."""

    def __init__(self, layout: Layout) -> None:
        """Take the layout."""
        super().__init__()
        self._layout = layout

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector, a function of (seed, episode)."""
        return self._layout.join(super().normal(self._layout.at, seed, episode))


class ShardedRunOps(RunOps, ShardedOps):
    """The same where every rank has a part of each vector."""

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector, a function of (seed, episode)."""
        return self._layout.ops.normal(like, seed, episode)


class ParameterSession(Session[Vector]):
    """A session whose queries are where the parameters are."""

    def __init__(
        self,
        params: Vector,
        solver: Solver,
        parameters: Parameters,
        seed: int,
        state: State | None = None,  # to go on from
        value: float = nan,
        ranks: Ranks | None = None,  # that share the parameters
    ) -> None:
        """Begin a run where the parameters are, or take one up."""
        self.layout = layout = Layout(params, solver, ranks or Ranks())
        self.params, self.known, self.at = params, {*params}, layout.at
        first = state or solver.start(layout.ops, parameters, layout.start(), seed)
        super().__init__(self._fresh(), solver, parameters, first, value)

    def _fresh(self) -> RunOps:
        """Give operations that know no norm yet."""
        return ShardedRunOps(self.layout) if self.layout.sharded else RunOps(self.layout)

    def ask(self) -> Query | None:
        """Go on to the next query, and bring the parameters to its point, or to x at the end."""
        self.layout.refresh()
        query = super().ask()
        self.ops, self.gradient = self._fresh(), None  # it was lent until now
        if query is None:
            self.settle()
        return query

    def norm(self) -> float | None:
        """|g| as ``tell`` would compute it, of the gradients that there are; None if by others."""
        if self.layout.flat or self.layout.sharded or any(p.grad is None for p in self.params):
            return None
        return ops.norm(gradient_of(self.params))

    def tell(
        self,
        value: float | None = None,
        gradient: Vector | None = None,
        norm: float | None = None,  # of the gradient, if it is known
    ) -> None:
        """Take the answer to the last query in; the gradient's norm is computed once."""
        known, pending = self._fresh(), self._pending
        own = None if gradient is None else self.layout.join(gradient)
        trouble = "" if own is None else _trouble(value, own, known, norm)
        self.ops = known
        if trouble and not (pending is not None and pending.needs & TRIAL):
            raise NotFiniteError(f"{trouble}: the parameters are as they were")
        try:
            super().tell(*((nan, None) if trouble else (value, own)))
        except BaseException:
            self._pending = pending  # an answer whose update failed can be told again
            raise

    def point(self, phase: Phase) -> Vector:
        """Write the point of a query into the parameters, with x out of their way."""
        if phase.at is iterate:
            return self.settle()
        if self.state.x is self.at:
            self.state = self.state._replace(x=ops.copy(self.at))
        own = None if self.layout.sharded else self.layout.views()
        operations = PlacingOps(own) if own else self.layout.ops
        point = phase.at(operations, self.parameters, self.state)
        return self.at if point is own else self.place(point)

    def settle(self) -> Vector:
        """Write x into the parameters, where it stays unless it is flat."""
        if self.state.x is not self.at:
            self.place(self.state.x)
            if not self.layout.flat:
                self.state = self.state._replace(x=self.at)
        return self.at

    def place(self, vector: Vector) -> Vector:
        """Write a vector into the parameters."""
        return ops.assign(self.at, self.layout.split(vector))

    def claim(self, gradients: int, products: int = 0) -> Claim:
        """Say what the run has shown, after a search of so many gradients and products."""
        found = read(self.layout.ops, self.parameters, self.state, gradients, products)
        own = self.layout.split(found.direction)
        pairs = zip(self.params, own, strict=True)
        return found._replace(direction=[like(p, part) for p, part in pairs])


def _trouble(value: float | None, gradient: Vector, known: CachingOps, norm: float | None) -> str:
    """Say what is not finite, if anything is not."""
    norm = known.cache_norm(gradient, norm)
    if value is not None and not isfinite(value):
        return f"the loss is {value}"
    if not isfinite(norm) and not known.finite(gradient):
        return "a gradient is NaN or infinite"
    return ""
