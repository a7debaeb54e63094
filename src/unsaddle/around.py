"""``Escape`` around any torch optimiser, and ``certify``: one search where the parameters are."""

import inspect
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from unsaddle import search, theory
from unsaddle.certificate import Certificate
from unsaddle.descents.gd import gd
from unsaddle.escapes.anc import anc
from unsaddle.escapes.stride import MEASURE, TRY
from unsaddle.escapes.window import window
from unsaddle.groups import check, dense, listed
from unsaddle.hints import SEARCHED, knowing
from unsaddle.kernel import (
    BEGIN,
    CERTIFIED,
    GO,
    GRADIENT,
    START,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    Solver,
    State,
    Vector,
    compose,
    iterate,
)
from unsaddle.ops import torch as ops
from unsaddle.oracle import NotFiniteError
from unsaddle.stepper import Closure, Stepper, log, torch

optim = torch.optim
COUPLED = (  # their weight_decay is a gradient: wd/2 |x|^2 is part of what they minimise
    optim.SGD, optim.Adam, optim.NAdam, optim.RAdam, optim.Adamax, optim.Adagrad, optim.Adadelta,
    optim.RMSprop, optim.ASGD,
)  # fmt: skip
GIVEN = ("tol", "patience", "reset")


class Quiet(NamedTuple):
    """How long the gradient has been small, and whether a search is allowed."""

    steps: int
    armed: bool

    def kinetic(self, ops: Ops, p: Any) -> Scalar:
        """Zero: the momentum is the inner optimiser's."""
        return 0.0

    def scale(self) -> tuple[Scalar, Scalar]:
        """l and rho as met on the way: not measured."""
        return 0.0, 0.0


class Escape(Stepper):
    """Any torch optimiser, and the escape of AGDAuto where that one would stay at a saddle.

    Descends with the inner optimiser. When the gradient norm has been at most ``tol`` at
    ``patience`` steps, without once exceeding twice that in between, it searches for negative
    curvature, and jumps along it, or certifies that there is none. A jump that does not lower the
    loss is halved, and at last not taken: the parameters are then what they were, to the bit.
    After a jump the inner optimiser's state is reset (``reset=True``), as it belongs to another
    place; otherwise it is kept. The next search waits until the gradient has been above
    ``2 tol``. Every event is one line of the logger ``unsaddle``. A weight decay that the inner
    optimiser adds to the gradient counts: gradient, jump and certificate are of the loss with it.
    """

    kept = (*Stepper.kept, *GIVEN, "inner", "_asks")

    def __init__(
        self,
        inner: torch.optim.Optimizer,
        *,
        tol: float = 1e-3,  # eps
        patience: int = 10,
        curvature_tol: float | None = None,  # gamma
        failure_probability: float = 1e-3,  # delta
        smoothness: float | None = None,  # l
        hessian_lipschitz: float | None = None,  # rho
        reset: bool = True,
        seed: int = 0,
    ) -> None:
        """Wrap an optimiser.

        Args:
            inner: The optimiser to descend with.
            tol: Gradient norm below which to search.
            patience: For how many steps it must have been below.
            curvature_tol: Curvature to certify. Default sqrt(rho tol), where rho is given or met,
                and at least 1e-3 of the curvature that is met.
            failure_probability: Chance of a false certificate over the whole run.
            smoothness: Bound on the Hessian's norm, if it is known; measured in any case.
            hessian_lipschitz: Lipschitz constant of the Hessian, likewise.
            reset: Whether a jump resets the inner optimiser's state.
            seed: All randomness is a function of it.

        Raises:
            TypeError: If inner is not a torch optimiser.
            ValueError: If a number is out of range, or if inner maximises.
        """
        if not isinstance(inner, torch.optim.Optimizer) or isinstance(inner, Stepper):
            raise TypeError(
                f"inner must be a torch optimiser, got {type(inner).__name__}; "
                "pass Escape(torch.optim.Adam(model.parameters()))"
            )
        if any(group.get("maximize") for group in inner.param_groups):
            raise ValueError(
                "inner has maximize=True, but an escape goes down: leave maximize out and let the "
                "closure call (-loss).backward() and return -loss"
            )
        given = (tol, patience, curvature_tol, smoothness, hessian_lipschitz)
        names = ("tol", "patience", "curvature_tol", "smoothness", "hessian_lipschitz")
        for name, number in zip(names, given, strict=True):
            if number is not None and not number > 0:
                raise ValueError(f"{name} must be positive, got {number!r}")
        if not 0 < failure_probability <= 1:
            raise ValueError(f"failure_probability must be in (0, 1], got {failure_probability!r}")
        self.inner, self.tol, self.patience, self.reset = inner, tol, patience, reset
        claim = curvature_tol, failure_probability
        settings = search.wanted(*claim, smoothness, hessian_lipschitz, search.ROUGH)
        closure = inspect.signature(type(inner).step).parameters.get("closure")
        self._asks = closure is not None and closure.default is inspect.Parameter.empty
        super().__init__(inner.param_groups, inner.defaults, Parameters(tol, None, settings), seed)
        self.param_groups = inner.param_groups

    def _solver(self) -> Solver:
        phases = {
            START: Phase(iterate, GRADIENT, self._go),
            GO: Phase(iterate, GRADIENT, self._go),
        }
        return compose(Part(phases, Quiet, lambda ops, x: Quiet(0, True)), window)

    @property
    def _name(self) -> str:
        return f"Escape({type(self.inner).__name__})"

    def state_dict(self) -> dict[str, Any]:
        """Give the state of both, tensors per parameter.

        Returns:
            A dictionary with the inner optimiser's under ``inner``.
        """
        packed = super().state_dict()
        given = {name: getattr(self, name) for name in GIVEN}
        shown = None if self.certificate is None else {**vars(self.certificate)}
        packed["param_groups"][0]["unsaddle"] |= {"given": given, "certificate": shown}
        return {**packed, "inner": self.inner.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, with the settings that are in it; load the model first.

        Args:
            state_dict: What ``state_dict`` gave.

        Raises:
            ValueError: If it is not of an Escape.
        """
        if "inner" not in state_dict:
            raise ValueError("state_dict is not of an Escape: pass what its state_dict() returned")
        own = {name: state_dict[name] for name in ("state", "param_groups")}
        numbers = own["param_groups"][0].get("unsaddle", {})
        for name, value in numbers.get("given", {}).items():
            setattr(self, name, value)
        super().load_state_dict(own)
        self.inner.load_state_dict(state_dict["inner"])
        self.param_groups = self.inner.param_groups
        shown = numbers.get("certificate")
        if shown is not None:
            way = shown["direction"] and [
                u.to(p) for u, p in zip(shown["direction"], self._at, strict=True)
            ]
            self.certificate = Certificate(**{**shown, "direction": way})

    def _go(self, ops: Ops, p: Any, s: State, value: Scalar, gradient: Vector) -> State:
        """Descend by one step of the inner optimiser, unless it is time to search."""
        norm, quiet = ops.norm(gradient), s.descent
        if norm > search.AGAIN * self.tol:
            quiet = Quiet(0, True)
        elif norm <= self.tol:
            quiet = quiet._replace(steps=quiet.steps + 1)
        due = quiet.armed and s.tolerance >= norm and quiet.steps >= self.patience
        if due:
            log.info("search %d: gradient norm %.3g", s.episode + 1, norm)
        elif self._asks:
            with torch.enable_grad():
                self.inner.step(self._closure)  # type: ignore[arg-type]
        else:
            self.inner.step()
        left = s.left - 1
        phase = BEGIN if due else s.report if left <= 0 else GO
        return s._replace(descent=quiet, left=left, phase=phase)

    def _require(self, phase: Phase, loss: Any) -> None:
        """Ask for a closure where the inner optimiser needs one."""
        if self._closure is None and self._asks:
            raise TypeError(f"{type(self.inner).__name__} needs a closure: opt.step(closure)")
        super()._require(phase, loss)

    def _decay(self) -> dict[torch.Tensor, float]:
        """Give the weight decay of each parameter for which the inner optimiser adds it to .grad.

        Returns:
            The rates that are not zero.
        """
        if not isinstance(self.inner, COUPLED):
            return {}
        return {
            p: float(group["weight_decay"])
            for group in self.param_groups
            if group["weight_decay"] and not group.get("decoupled_weight_decay")
            for p in group["params"]
            if p.grad is not None
        }

    def _whole(self, gradient: Vector) -> Vector:
        """g + wd x, at the parameters."""
        decay = self._decay()
        return [
            g.add(p, alpha=decay[p]) if p in decay else g
            for p, g in zip(self._at, gradient, strict=True)
        ]

    def _extra(self) -> float:
        """wd/2 |x|^2, at the parameters."""
        return sum(rate / 2 * ops.dot([p], [p]) for p, rate in self._decay().items())

    def _gradient(self) -> Vector | None:
        gradient = super()._gradient()
        return gradient and self._whole(gradient)

    def _turn(self, before: int, state: State) -> State:
        """Log what happened, and go on after whatever ends a search."""
        if state.phase == MEASURE and state.escape.found == math.inf:  # the claim can be made
            state = state._replace(phase=CERTIFIED)
        if self.reset and (before, state.phase) == (TRY, START):
            self.inner.state.clear()
        if state.phase >= 0:
            return super()._turn(before, state)
        delta, spent = self.parameters.escape.failure_probability, self.looks - self._since
        self.certificate = search.read(ops, state, delta, spent)
        word = "certified" if state.phase == CERTIFIED else "stay"
        log.info("%s %d: %s", word, state.episode, self.certificate)
        return state._replace(
            phase=GO, left=math.inf, tolerance=self.tol, report=BEGIN, descent=Quiet(0, False)
        )


@knowing({"tol": SEARCHED["tol"], "method": SEARCHED["method"]})
@torch.no_grad()
def certify(
    closure: Closure,
    params: Iterable[torch.Tensor],
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    *,
    smoothness: float | None = None,  # l
    hessian_lipschitz: float | None = None,  # rho
) -> Certificate:
    """Certify that the loss has no curvature below -curvature_tol at the parameters, or find it.

    Args:
        closure: Clears the gradients, computes the loss, and calls ``backward()``.
        params: The parameters, which are the same to the bit afterwards.
        curvature_tol: The gamma to certify; 1e-4 of the curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        smoothness: Bound on the Hessian's norm, if it is known.
        hessian_lipschitz: Lipschitz constant of the Hessian, likewise; both are then trusted.

    Returns:
        The certificate; its direction, if any, is a list of tensors, one per parameter.

    Raises:
        TypeError: If the closure is not callable.
        ValueError: If an argument is out of range, or no parameter requires a gradient.
    """
    if not callable(closure):
        raise TypeError(
            f"closure must be callable, got {type(closure).__name__}; "
            "the order is certify(closure, params)"
        )
    at = [p for p in listed(params) if p.requires_grad]
    if not at:
        raise ValueError("params has no parameter that requires a gradient: pass net.parameters()")
    check([{"params": at}])
    words = {
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
    }
    theory.check({word: value for word, value in words.items() if value is not None})
    claim = curvature_tol, failure_probability
    part, settings = window, search.wanted(*claim, smoothness, hessian_lipschitz)
    if smoothness and hessian_lipschitz:
        part, settings = anc, search.told(ops, "anc", at, *claim, smoothness, hessian_lipschitz)
    solver, parameters = compose(gd, part), Parameters(0.0, None, settings)
    x, spent = ops.keep(at), 1
    try:
        look = lambda point: _look(closure, at, point)  # noqa: E731
        gradient = look(x)
        state = solver.start(ops, parameters, x, seed)._replace(phase=BEGIN)
        while state.phase >= 0 and state.phase != MEASURE:
            phase = solver.phases[state.phase]
            if phase.needs:
                gradient, spent = look(phase.at(ops, parameters, state)), spent + 1
            state = phase.update(ops, parameters, state, math.nan, gradient)
        if search.refutes(state):
            state, spent = search.mirror(ops, look, state), spent + 2
    finally:
        ops.copy(at, x)
    found = search.read(ops, state, failure_probability, spent)
    return search.sloped(ops, found, state.escape, x)


def _look(closure: Closure, at: Vector, point: Vector) -> Vector:
    """Give the gradient at a point, lent."""
    ops.copy(at, point)
    with torch.enable_grad():
        closure()
    if all(p.grad is None for p in at):
        raise RuntimeError("the closure left no gradient: let it call loss.backward()")
    gradient = dense([torch.zeros_like(p) if p.grad is None else p.grad for p in at])
    if not math.isfinite(ops.dot(gradient, gradient)):
        raise NotFiniteError("a gradient is NaN or infinite")
    return gradient
