"""A run as a ``torch.optim.Optimizer``: the parameters hold the point it wants to query.

The loop is the user's. One answer (the gradients in ``.grad``, and the loss where a phase needs it)
moves the run to its next query, and the parameters to the point of that. The state of the run is
that of its session; what is saved and copied is in ``saved.py``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from unsaddle.certificate import Certificate, certificate, ending
from unsaddle.core.events import JUMP_BEGIN, log
from unsaddle.core.evidence import last_phase
from unsaddle.core.kernel import Parameters, Solver
from unsaddle.core.outcome import ENDS, Outcome
from unsaddle.core.phases import BEGIN, PROOF, START, VALUE, PhaseName, name_of, phase_of
from unsaddle.core.records import leaves
from unsaddle.core.session import Query
from unsaddle.methods.checks import whole
from unsaddle.torch import saved
from unsaddle.torch.inputs import check_closure, check_parameters, gradient_of, is_sharded
from unsaddle.torch.ops import Vector, ops, torch
from unsaddle.torch.ranks import Ranks, number
from unsaddle.torch.session import ParameterSession
from unsaddle.torch.shards import must_agree

Closure = Callable[[], Any]
JUMPS = (PhaseName.JUMP, PhaseName.JUMP + PROOF)


class SessionOptimizer(torch.optim.Optimizer):
    """Runs a solver on parameters, one answer at a time."""

    solver: Solver
    kept: ClassVar[tuple[str, ...]] = (  # in a copy and in a pickle, beside what torch keeps
        "parameters", "seed", "outcome", "certificate", "queries", "group", "_since",
        "_ready",
    )  # fmt: skip

    def __init__(
        self,
        params: Any,
        defaults: dict[str, Any],
        parameters: Parameters,
        seed: int,
        group: Any = None,
    ) -> None:
        """Take the parameters over."""
        self.group = group  # of the processes that train together
        self.outcome: Outcome | None = None
        self.certificate: Certificate | None = None
        super().__init__(params, defaults)
        self.parameters, self.seed = parameters, whole("seed", seed)
        self.queries = self._since = 0  # in all, and before the last search
        self._ready = True  # for another minibatch
        self._prepare()

    def _prepare(self) -> None:
        """Make what cannot be copied."""
        self.solver = self._solver()
        phases = self.solver.phases.values()
        self.needs_value = any(phase.needs & VALUE for phase in phases)  # of step(loss=loss)
        self._session: ParameterSession | None = None  # none before the first gradient
        self._query: Query | None = None  # that waits for an answer
        self._closure: Closure | None = None
        self._loss: Any = None  # the last that a closure gave
        self._ranks: Ranks | None = None  # none before the first answer

    def _solver(self) -> Solver:
        """Give the method."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What a saved state is of."""
        return type(self).__name__

    @property
    def phase(self) -> str:
        """Name of the phase that waits for an answer, or that ended the run."""
        return name_of(START if self._session is None else self._session.state.phase)

    @torch.no_grad()
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take more parameters over, unless no method can handle them."""
        super().add_param_group(param_group)
        added = self.param_groups.pop()
        check_parameters([*self.param_groups, added])
        self.param_groups.append(added)
        if self.outcome is not None and self._session is not None:  # there is more to do
            self.outcome = self.certificate = None
            self._begin(self._session.params)

    @torch.no_grad()
    def step(self, closure: Closure | None = None, *, loss: Any = None) -> Any:
        """Take one answer in, or with a closure as many as one iteration needs.

        Args:
            closure: Clears the gradients, computes the loss, calls ``backward()`` and returns the
                loss. It is called once per query until the method is ready for another minibatch:
                a search and its jump are one step.
            loss: The loss that ``backward()`` was called on, instead of a closure.

        Returns:
            The loss at the first query, if it is known.
        """
        if closure is not None:
            check_closure(closure, "for the loss itself call opt.step(loss=loss)")
        if self.outcome is not None:
            return self._loss if loss is None else loss
        if closure is None:
            with self._group().watched():
                self._answer(loss)
            return loss
        self._closure = closure
        try:
            first = self._call(closure)
            while self.outcome is None and not self._ready:
                self._call(closure)
        finally:
            self._closure = None
        self._loss = first.detach() if isinstance(first, torch.Tensor) else first
        return first

    @contextmanager
    def iterate(self) -> Iterator[None]:
        """Put the iterate into the parameters for a while, to validate or to save it."""
        session = self._session
        if session is None or session.state.x is session.at:
            yield
            return
        with torch.no_grad():
            probe = ops.copy(session.at)
            session.place(session.state.x)
        try:
            yield
        finally:
            with torch.no_grad():
                ops.assign(session.at, probe)

    def __getstate__(self) -> dict[str, Any]:
        """Give what a copy and a pickle have: the parameters and all that the method knows."""
        session = self._session
        run = None if session is None else (session.params, session.state, session.value)
        own = {name: getattr(self, name) for name in self.kept}
        return super().__getstate__() | own | {"_run": run}  # type: ignore[operator]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take it over."""
        state = {**state}
        run = state.pop("_run", None)
        super().__setstate__(state)
        self._prepare()
        if run is not None:
            params, *known = run
            self._resume(ParameterSession(params, self.solver, self.parameters, self.seed, *known))

    def state_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on bit for bit, as every torch optimiser does.

        Of sharded parameters it has DTensors, and all of them before the first step too: so
        ``torch.distributed.checkpoint`` can load into it, on any number of ranks.

        Returns:
            What ``load_state_dict`` takes.
        """
        moving = [p for p in self.all_parameters() if p.requires_grad]
        if self._session is None and any(map(is_sharded, moving)):
            with torch.no_grad():
                self._begin(moving)
        return saved.pack(self, super().state_dict())

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, with the settings that are in it; load the model first."""
        saved.check(state_dict, self.name)
        super().load_state_dict(state_dict)
        numbers = self.param_groups[0].pop("unsaddle")
        self.queries, self._since, self.seed = (numbers[it] for it in ("queries", "since", "seed"))
        self.parameters = saved.parameters(self.parameters, numbers)
        self._session = self._query = self.outcome = self.certificate = None
        if "active" in numbers:
            self._resume(session := saved.unpack(self, numbers))
            if session.state.phase >= BEGIN and ops.roundoff(session.at) > numbers["roundoff"]:
                self._begin(session.params)  # what a search can resolve is a matter of precision
        self.state.clear()

    @torch.no_grad()
    def _resume(self, session: ParameterSession) -> None:
        """Go on with a run."""
        self._session, session.parameters = session, self._current()
        self._advance()

    def all_parameters(self) -> Vector:
        """Give the parameters of all groups."""
        return [p for group in self.param_groups for p in group["params"]]

    def _call(self, closure: Closure) -> Any:
        with self._group().watched():
            with torch.enable_grad():
                loss = closure()
            self._answer(loss)
        return loss

    def _answer(self, loss: Any) -> None:
        """Tell the run the answer to its query, and bring the parameters to the next."""
        before, (loss, norm) = self._session, self._agreed(loss)
        gradient = self._gradient()
        session, query = self._session, self._query
        if gradient is None or session is None or query is None:
            return
        self._require(query, loss)
        value = number(loss) + self._extra() if query.needs & VALUE else None
        session.parameters = self._current()
        session.tell(value, gradient, norm if session is before else None)
        self.queries += 1
        if query.phase in JUMPS and session.state.phase == START:
            self._jumped(session)
        self._advance()

    def _group(self) -> Ranks:
        """Give the processes that train together: this one, if there are no others."""
        self._ranks = self._ranks or Ranks(self.group)
        return self._ranks

    def _agreed(self, loss: Any) -> tuple[Any, float | None]:
        """Average loss and gradients over several ranks, where they differ; |g| if it is known."""
        ranks, query, session = self._group(), self._query, self._session
        if not ranks.several:
            return loss, None
        params, moving = self.all_parameters(), self._moving()
        order = {id(p): i for i, p in enumerate(params)}
        there = [p for p in moving if p.grad is not None]
        way = "as it is" if self._closure is None else "by a closure"
        same: dict[str, Any] = {
            "optimiser": self.name,
            "seed": self.seed,
            "gradients": [order[id(p)] for p in there],
            "earlier gradients": [order[id(p)] for p in moving if p.grad is None],
            "query": f"{self.queries}, {self.phase}",
            "loss given": "none" if loss is None else way,
        }
        if query is None or query.searches:
            same |= {"settings": dict(leaves(self._current())), **must_agree(params, ranks)}
        own = None if loss is None else number(loss)
        averaged = [p for p in there if not is_sharded(p)]  # who shards the others has done it
        norm = session.norm if session else lambda: None  # computed while the ranks add up
        return ranks.together(own, averaged, params[0].device, same, norm)

    def _advance(self) -> None:
        """Go on to the next query, or to the end."""
        assert self._session is not None
        self._query = query = self._session.ask()
        if query is None:
            self._end(self._session)
        else:
            self._since = self.queries if query.searches else self._since
            self._notice(self._session, query)
            self._ready = self._between(query)

    def _notice(self, session: ParameterSession, query: Query) -> None:
        """Log a search that begins, and curvature that was found."""
        state = session.state
        if query.searches:
            log.info("search %d", state.episode)
        elif phase_of(query.phase) == JUMP_BEGIN:
            curvature = state.last_search.curvature
            log.info("curvature %.3g found in search %d", curvature, state.episode)

    def _end(self, session: ParameterSession) -> None:
        """Take note of how a run ended."""
        self.outcome = ENDS[last_phase(session.layout.ops, session.parameters, session.state)]
        self.certificate = self._read(session)
        log.info(ending(self.outcome.name.lower(), self.certificate))

    def _read(self, session: ParameterSession) -> Certificate:
        """Say what a run has shown of the curvature."""
        spent = self.queries - self._since
        return certificate(session.claim(spent), share=spent / max(1, self.queries))

    def _jumped(self, session: ParameterSession) -> None:
        """Log a jump."""
        e, line = session.state.last_search, "jump %d: curvature %.3g, loss %.6g -> %.6g"
        log.info(line, session.state.episode, e.curvature, e.jump.value, e.jump.lowest)

    def _require(self, query: Query, loss: Any) -> None:
        """Ask for the loss: in a loop without a closure at the first step, not when it is due."""
        wanted = self.needs_value if self._closure is None else query.needs & VALUE
        if loss is None and wanted:
            raise TypeError(
                f"{type(self).__name__}.step() needs the loss: pass a closure that returns it, "
                "opt.step(closure), or, if every step has all the data, the loss itself, "
                "opt.step(loss=loss)"
            )

    def _between(self, query: Query) -> bool:
        """Say whether an iteration is over: the descent goes on with the next query."""
        return query.descends and query.phase < BEGIN

    def _extra(self) -> float:
        """Give what is minimised beside the loss."""
        return 0.0

    def _current(self) -> Parameters:
        """Give the parameters with the step that a scheduler may have set."""
        return self.parameters

    def _gradient(self) -> Vector | None:
        """Collect the gradients, and begin, or begin anew where other parameters have them."""
        session, query, moving = self._session, self._query, self._moving()
        if not any(p.grad is not None for p in moving):
            raise RuntimeError(
                f"{type(self).__name__}.step() found no gradient: call loss.backward() before it, "
                "or pass a closure that does"
            )
        if session is None or [*map(id, moving)] != [*map(id, session.params)]:
            session = self._begin(moving)
            if query is not None and not query.at_iterate:
                self._ready = False  # the gradients are of a search that is no more: query again
                return None
        return gradient_of(session.params)

    def _moving(self) -> Vector:
        """Give the parameters that have gradients, or had some before."""
        known = () if self._session is None else self._session.known
        return [
            p
            for group in self.param_groups
            for p in group["params"]
            if p.requires_grad and (p.grad is not None or p in known)
        ]

    def _begin(self, moving: Vector) -> ParameterSession:
        """Begin at the iterate, with these parameters."""
        check_parameters(self.param_groups)
        before = self._session
        if before is not None:
            before.settle()
        setting = self._current(), self.seed
        session = ParameterSession(moving, self.solver, *setting, ranks=self._group())
        if before is not None:
            counts = {"episode": before.state.episode, "drawn": before.state.drawn}
            session.state = session.state._replace(**counts)
        self._session = session
        self._advance()
        return session
