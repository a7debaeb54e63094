"""``Escape`` around any torch optimiser."""

import inspect
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from typing import Any, Literal

from unsaddle.certificate import Certificate, ending, rounded_up
from unsaddle.core.events import log
from unsaddle.core.kernel import Parameters, Phase, Solver, State, iterate
from unsaddle.core.ops import Ops, Scalar
from unsaddle.core.phases import BEGIN, BOTH, CERTIFIED
from unsaddle.core.session import Query
from unsaddle.descents import wrapped
from unsaddle.descents.batches import ASK_ONCE, NEXT_BATCH
from unsaddle.escapes import confirmed_jump
from unsaddle.methods.checks import whole, yes_or_no
from unsaddle.methods.search import around, wrapping
from unsaddle.torch import saved
from unsaddle.torch.closures import clearing
from unsaddle.torch.inputs import gradient_of
from unsaddle.torch.ops import Vector, ops, torch
from unsaddle.torch.optimizer import Closure, SessionOptimizer
from unsaddle.torch.ranks import number
from unsaddle.torch.session import ParameterSession

optim = torch.optim
COUPLED = (  # their weight_decay is a gradient: wd/2 |x|^2 is part of what they minimise
    optim.SGD, optim.Adam, optim.NAdam, optim.RAdam, optim.Adamax, optim.Adagrad, optim.Adadelta,
    optim.RMSprop, optim.ASGD,
)  # fmt: skip
ONE_BATCH = (
    "Minibatches differ, and this is about one of them: for the loss itself call "
    "unsaddle.torch.certify with a closure over all the data."
)
REFUSED = (
    "the gradient or the loss at the same parameters differs between two calls, so that a search "
    "would compare different functions: pass a closure that computes the loss of one minibatch "
    "however often it is called, opt.step(closure), that begins with opt.zero_grad(), and without "
    "dropout or with a seed for it"
)


class Escape(SessionOptimizer):
    """Any torch optimiser, with the escape of AGDAuto for the saddles at which that would stay.

    The inner optimiser descends. When the gradient norm has been at most ``tol`` at ``patience``
    steps, and never above ``2 tol`` between them, Escape searches for negative curvature. It jumps
    along it, or certifies that there is none. A jump that does not lower the loss is halved several
    times and then given up: the parameters are then what they were, to the bit. There is no other
    search until the gradient has been above ``2 tol``.

    ``tol="auto"`` is 1e-3. With it, Escape also searches where a training on minibatches is stuck:
    over ``5 * patience`` steps the square of the mean gradient is at most 1.5 times the variance of
    that mean, and the loss does not fall by more than two standard errors of the line fitted to it.
    Before the search, two minibatches at the same parameters must have different gradients, and one
    minibatch that is asked twice the same. All gradients of a search are of one minibatch. After a
    search without a jump there is a rest, of one block of steps, then of two, four and so on.

    Where the loss changes from step to step, a jump is kept only if the loss of the next minibatch
    curves down along it too, and no certificate is given: a search knows one minibatch only.

    A jump resets the inner optimiser's state, which belongs to the point before it, unless
    ``reset=False``. Every event is one line of the logger ``unsaddle``. If the inner optimiser adds
    a weight decay to the gradient, then ``tol``, jump and certificate are about the loss with it.
    """

    kept = (*SessionOptimizer.kept, "reset", "inner", "_asks")

    def __init__(
        self,
        inner: torch.optim.Optimizer,
        *,
        tol: float | Literal["auto"] = "auto",  # eps
        patience: int = 10,
        curvature_tol: float | None = None,  # gamma
        failure_probability: float = 1e-3,  # delta
        smoothness: float | None = None,  # l
        hessian_lipschitz: float | None = None,  # rho
        gradient_noise: float | None = None,
        probe_radius: float | None = None,
        reset: bool = True,
        seed: int = 0,
        group: Any = None,
    ) -> None:
        """Wrap an optimiser.

        Args:
            inner: The optimiser to descend with.
            tol: Gradient norm below which to search; "auto" is 1e-3, or the noise of minibatches.
            patience: For how many steps it must have been below.
            curvature_tol: Curvature to certify. Default sqrt(rho tol), where rho is given or met,
                and at least 1e-3 of the curvature that is met.
            failure_probability: Chance of a false certificate over the whole run.
            smoothness: Bound on the Hessian's norm, if it is known; measured in any case.
            hessian_lipschitz: Lipschitz constant of the Hessian, likewise.
            gradient_noise: Length of a gradient's error, where it is more than rounding; measured
                if not given. Of the gradient of one minibatch: how minibatches differ is no error.
            probe_radius: Distance over which gradients are differenced; chosen if not given.
            reset: Whether a jump resets the inner optimiser's state.
            seed: All randomness is a function of it.
            group: The process group whose ranks train together, each with its own data; all
                processes if None.

        Raises:
            TypeError: If inner is not a torch optimiser.
            ValueError: If a number is out of range, or if inner maximises.
        """
        if not isinstance(inner, torch.optim.Optimizer) or isinstance(inner, SessionOptimizer):
            raise TypeError(
                f"inner must be a torch optimiser, got {type(inner).__name__}; "
                "pass Escape(torch.optim.Adam(model.parameters()))"
            )
        if any(group.get("maximize") for group in inner.param_groups):
            raise ValueError(
                "inner has maximize=True, but an escape goes down: leave maximize out and let the "
                "closure call (-loss).backward() and return -loss"
            )
        claim = {"curvature_tol": curvature_tol, "failure_probability": failure_probability}
        known = {"smoothness": smoothness, "hessian_lipschitz": hessian_lipschitz}
        differences = {"gradient_noise": gradient_noise, "probe_radius": probe_radius}
        patience = whole("patience", patience, least=1)
        parameters = around(patience, tol, **claim, **known, **differences)
        self.inner, self.reset = inner, yes_or_no("reset", reset)
        closure = inspect.signature(type(inner).step).parameters.get("closure")
        self._asks = closure is not None and closure.default is inspect.Parameter.empty
        super().__init__(inner.param_groups, inner.defaults, parameters, seed, group)
        self.param_groups = inner.param_groups

    def _solver(self) -> Solver:
        start, go = Phase(iterate, BOTH, self._start), Phase(iterate, BOTH, self._go)
        return wrapping(start, go, wrapped.memory)

    def _call(self, closure: Closure) -> Any:
        """Call the closure; the second time, when there are gradients, see that it clears them."""
        if self.queries == 1 and not self._asks and not self._group().several:
            closure = partial(clearing, closure, self.all_parameters())
        return super()._call(closure)

    @property
    def name(self) -> str:
        """What a saved state is of."""
        return f"Escape({type(self.inner).__name__})"

    def state_dict(self) -> dict[str, Any]:
        """Give the state of both, the inner optimiser's under ``inner``."""
        packed = super().state_dict()
        sharded = self._session is not None and self._session.layout.sharded
        unsaid = sharded or self.certificate is None  # what is sharded has the same form always
        shown = None if unsaid else {**vars(self.certificate)}
        packed["param_groups"][0][saved.WORD] |= {"reset": self.reset, "certificate": shown}
        inner = saved.form(self.inner) if sharded and not self.queries else self.inner
        return {**packed, "inner": inner.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, with the settings that are in it; load the model first."""
        numbers = saved.check(state_dict, self.name)
        if "inner" not in state_dict:
            raise ValueError("state_dict is not of an Escape: pass what its state_dict() returned")
        super().load_state_dict({name: state_dict[name] for name in ("state", "param_groups")})
        self.inner.load_state_dict(state_dict["inner"])
        self.param_groups, self.reset = self.inner.param_groups, numbers["reset"]
        shown = numbers["certificate"]
        if shown is not None and self._session is not None:
            way = shown["direction"] and [
                u.to(p) for u, p in zip(shown["direction"], self._session.params, strict=True)
            ]
            self.certificate = Certificate(**{**shown, "direction": way})

    def _start(self, ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        """Begin, or go on where a jump has led, unless that is to be confirmed first."""
        if confirmed_jump.unconfirmed(ops, s, value):
            return confirmed_jump.ask(ops, s, value)
        if s.descent.jumped and self._session is not None:
            super()._jumped(self._session)
            self.certificate = None  # that of the last search is of another place
            if self.reset:
                self.inner.state.clear()
        return self._go(ops, p, wrapped.arrived(ops, p, s), value, gradient)

    def _go(self, ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        """Descend by one step of the inner optimiser, unless it is time to search."""
        begin = BEGIN if self._closure is not None else ASK_ONCE
        after, steps = wrapped.search_due(ops, p, s, value, gradient, begin)
        if steps and self._asks:
            self.inner.step(self._asked)  # type: ignore[arg-type]
        elif steps:
            self.inner.step()
        return after

    def _answer(self, loss: Any) -> None:
        """Tell the run the answer, unless all that follows is a step of the inner optimiser."""
        session = self._session
        if session is None or loss is None or not self._idle(session, loss):
            super()._answer(loss)
        else:
            self.inner.step()
            self.queries += 1

    def _idle(self, session: ParameterSession, loss: Any) -> bool:
        """Say whether the run would stay as it is: not where ranks have to agree on the answer."""
        p, shared = session.parameters, session.layout.sharded or self._group().several
        if shared or self._asks or not wrapped.waits(p, session.state):
            return False
        moving = self._moving()
        if [*map(id, moving)] != [*map(id, session.params)]:
            return False  # there is a run to begin
        norm = ops.norm(self._decayed(session, gradient_of(moving)))
        return wrapped.loud(p) < norm < inf and isfinite(number(loss))

    def _asked(self) -> Any:
        """Call the closure for the inner optimiser."""
        assert self._closure is not None
        with torch.enable_grad():
            loss = self._closure()
        return self._agreed(loss)[0]

    def _require(self, query: Query, loss: Any) -> None:
        """Ask for a closure where the inner optimiser needs one."""
        if self._closure is None and self._asks:
            raise TypeError(f"{type(self.inner).__name__} needs a closure: opt.step(closure)")
        super()._require(query, loss)

    def _agreed(self, loss: Any) -> tuple[Any, float | None]:
        """Average over the ranks; |g| is not known where a decay comes to the gradients."""
        loss, norm = super()._agreed(loss)
        return loss, None if norm is None or self._decay() else norm

    def _decay(self) -> dict[torch.Tensor, float]:
        """Give the weight decay of parameters for which the inner optimiser adds it to .grad."""
        if not isinstance(self.inner, COUPLED):
            return {}
        return {
            p: float(group["weight_decay"])
            for group in self.param_groups
            if group["weight_decay"] and not group.get("decoupled_weight_decay")
            for p in group["params"]
            if p.grad is not None
        }

    def _extra(self) -> float:
        """wd/2 |x|^2, at the parameters."""
        session, decay = self._session, self._decay()
        if session is None or not session.layout.sharded or not decay:
            return sum(rate / 2 * ops.dot([p], [p]) for p, rate in decay.items())
        pairs = zip(session.params, session.at, strict=True)
        return session.layout.ops.dot([decay.get(p, 0.0) / 2 * u for p, u in pairs], session.at)

    def _gradient(self) -> Vector | None:
        """g + wd x, at the parameters."""
        gradient, session = super()._gradient(), self._session
        if gradient is None or session is None:
            return gradient
        return self._decayed(session, gradient)

    def _decayed(self, session: ParameterSession, gradient: Vector) -> Vector:
        """Add the inner optimiser's weight decay to a gradient."""
        decay = self._decay()
        if not decay:
            return gradient
        return [
            g.add(u, alpha=decay[p]) if p in decay else g
            for p, u, g in zip(session.params, session.at, gradient, strict=True)
        ]

    def _jumped(self, session: ParameterSession) -> None:
        """Wait for what the next minibatch says of the jump."""

    def _between(self, query: Query) -> bool:
        """Say whether the next query is to be of another minibatch."""
        return query.phase in NEXT_BATCH

    def _notice(self, session: ParameterSession, query: Query) -> None:
        """Log a search that begins with the gradient's norm there."""
        if query.searches:
            norm = session.layout.ops.norm(session.state.escape.gradient)
            log.info("search %d: gradient norm %.3g", session.state.episode, norm)
        else:
            super()._notice(session, query)

    def _end(self, session: ParameterSession) -> None:
        """Log what a search has shown, and go on with the inner optimiser."""
        state = session.state
        if state.descent.refused:
            self.certificate = None
            log.warning("no search: %s", REFUSED)
        else:
            self.certificate = self._read(session)
            word = "certified" if state.phase == CERTIFIED else "no jump"
            log.info(ending(word, self.certificate, f" {state.episode}"))
        session.state = wrapped.descend_again(ops, session.parameters, state)
        self._advance()

    def _read(self, session: ParameterSession) -> Certificate:
        """Say what a search has shown; one of a minibatch proves nothing of the whole loss."""
        shown = super()._read(session)
        if not session.state.descent.noisy:
            return shown
        ruled_out = f"It has no curvature below -{rounded_up(shown.curvature_tol)}. "
        note = f"{ONE_BATCH} {ruled_out if shown.holds else ''}{shown.note}"
        return replace(shown, holds=None if shown.holds else shown.holds, note=note)
