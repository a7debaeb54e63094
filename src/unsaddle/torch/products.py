"""Exact products with the Hessian, by double backward, and optimisers whose searches take them.

A closure calls ``backward()``, after which its graph is gone: a product needs the loss as a
function that leaves that to us. H d at the parameters is the gradient of <g, d>, where g was
computed with a graph of its own. It takes the time of some three gradients.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from unsaddle.certificate import Certificate, certificate
from unsaddle.core.session import Query
from unsaddle.methods.checks import function
from unsaddle.torch import saved
from unsaddle.torch.inputs import refuse_model
from unsaddle.torch.ops import Vector, ops, torch
from unsaddle.torch.optimizer import Closure, SessionOptimizer
from unsaddle.torch.ranks import Ranks
from unsaddle.torch.session import ParameterSession

Loss = Callable[[], Any]


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    other: float = 0.1  # of |g|, (0, 1): a gradient that differs by more is of another loss, unless
    # sqrt(roundoff) l max(1, |x|) explains it


TUNING = Tuning()


def check_loss(hessp: Any) -> None:
    """Refuse what is no loss."""
    if hessp is not None:
        refuse_model("hessp", hessp)
        function("hessp", hessp, "; pass a function that returns the loss, without backward()")


def alone(ranks: Ranks, session: ParameterSession) -> None:
    """Refuse products where several processes answer together."""
    if ranks.several or session.layout.sharded:
        raise ValueError(
            "hessp goes with one process: leave it out, and differences of gradients, which are "
            "averaged over the ranks, take its place"
        )


def product(hessp: Loss | None, session: ParameterSession, query: Query) -> Vector:
    """Give H d at the parameters, and see that it is of the loss whose gradient is known there."""
    if hessp is None:
        raise RuntimeError(
            "this run has exact products, and its loss is not known here: set opt.hessp to the "
            "function that returns the loss, without backward()"
        )
    params, layout = session.params, session.layout
    with torch.enable_grad():
        loss = hessp()
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
            raise TypeError(
                "hessp must return the loss, one number with its graph: leave out backward(), "
                f"detach() and torch.no_grad(), got {type(loss).__name__}"
            )
        slope = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
        slope = [
            torch.zeros_like(p) if g is None else g for p, g in zip(params, slope, strict=True)
        ]
        ways = zip(slope, layout.split(query.along), strict=True)
        pairs = [(g, d) for g, d in ways if g.requires_grad]
        bent = [None] * len(params)
        if pairs:  # else the loss is linear
            bent = torch.autograd.grad(
                [g for g, _ in pairs], params, [d for _, d in pairs], allow_unused=True
            )
    answer = [torch.zeros_like(p) if b is None else b for p, b in zip(params, bent, strict=True)]
    _same(session, query, [g.detach() for g in slope], answer)
    return answer


def _same(session: ParameterSession, query: Query, slope: Vector, bent: Vector) -> None:
    """See that the gradient of this loss is the one that the closure gave."""
    known, at = session.layout.split(session.searched_gradient()), session.at
    apart, size = ops.norm(ops.add(slope, -1.0, known)), ops.norm(known)
    largest = ops.norm(bent) / max(ops.norm(query.along), ops.tiny(at))
    rounding = ops.roundoff(at) ** 0.5 * largest * max(1.0, ops.norm(at))
    if apart > TUNING.other * max(size, ops.norm(slope)) + rounding:
        raise ValueError(
            f"hessp is not the loss of the closure: at the same parameters its gradient differs by "
            f"{apart:.3g}, where that of the closure is {size:.3g} long; pass the loss that the "
            "closure calls backward() on, of the same data and without dropout"
        )


class ExactOptimizer(SessionOptimizer):
    """A run whose searches have exact products, if it is given the loss as a function."""

    kept = (*SessionOptimizer.kept, "products", "_before")
    hessp: Loss | None = None  # what is neither copied nor saved: it may be of another model
    products = _before = 0  # in all, and before the last search

    @torch.no_grad()
    def step(self, closure: Closure | None = None, *, loss: Any = None) -> Any:
        """Take one answer in, as ``SessionOptimizer.step`` does; products take none."""
        waits = self._query is not None and self._query.along is not None
        self._multiply()
        if waits and closure is None:  # the gradients are of where the products were
            self._ready = False
            return loss
        return super().step(closure, loss=loss)

    def state_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on bit for bit; ``hessp`` has to be given again."""
        packed = super().state_dict()
        packed["param_groups"][0][saved.WORD] |= {"products": self.products, "before": self._before}
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, with the settings that are in it; load the model first."""
        numbers = saved.check(state_dict, self.name)
        super().load_state_dict(state_dict)
        self.products, self._before = numbers.get("products", 0), numbers.get("before", 0)

    def _answer(self, loss: Any) -> None:
        super()._answer(loss)
        self._multiply()

    def _multiply(self) -> None:
        """Answer the queries that want products, until one wants a gradient or a value."""
        while (query := self._query) is not None and query.along is not None:
            session = self._session
            assert session is not None
            alone(self._group(), session)
            session.tell(gradient=product(self.hessp, session, query))
            self.products += 1
            self._advance()

    def _advance(self) -> None:
        super()._advance()
        if self._query is not None and self._query.searches:
            self._before = self.products

    def _read(self, session: ParameterSession) -> Certificate:
        spent, products = self.queries - self._since, self.products - self._before
        share = (spent + products) / max(1, self.queries + self.products)
        return certificate(session.claim(spent, products), share=share)
