"""Every method as a torch optimiser, ``Escape`` around any other, and ``certify``.

The parameters hold the point at which the method wants the next gradient; ``with opt.iterate():``
puts the iterate there to validate or to save. A method may overwrite ``.grad``.
"""

import math
from typing import Any, ClassVar

from unsaddle import asked
from unsaddle.around import Escape, certify
from unsaddle.groups import counted
from unsaddle.hints import TRAINED
from unsaddle.kernel import NEW, Parameters, Phase, Solver
from unsaddle.methods import find, override
from unsaddle.stepper import Stepper
from unsaddle.stochastic import settle

__all__ = [
    "ANCGD", "NEON", "PAGD", "PGD", "PGDNC", "PSGD", "SGDNC", "AGDAuto", "AGDLanczos", "Auto",
    "Escape", "NEONPlus", "certify",
]  # fmt: skip


class Method(Stepper):
    """A line of the table of methods, for torch."""

    method: ClassVar[str]

    def __init__(
        self,
        params: Any,
        *,
        smoothness: float | None = None,  # l
        hessian_lipschitz: float | None = None,  # rho
        tol: float = 1e-5,  # eps
        curvature_tol: float | None = None,  # gamma
        failure_probability: float = 1e-3,  # delta
        decrease_available: float | None = None,  # Delta_f
        seed: int = 0,
        lr: float | None = None,  # eta
        **options: float,
    ) -> None:
        """Prepare a run.

        Args:
            params: As every torch optimiser takes them; groups may differ in nothing.
            smoothness: Bound on the Hessian's norm; Auto and AGDAuto can do without.
            hessian_lipschitz: Lipschitz constant of the Hessian; Auto and AGDAuto can do without.
            tol: Gradient norm to reach.
            curvature_tol: Curvature to certify. Default sqrt(rho tol).
            failure_probability: Chance of a false certificate over the whole run.
            decrease_available: Bound on f(x0) - min f; needed by PGD and PAGD only.
            seed: All randomness is a function of it.
            lr: The descent's step, the one setting that a scheduler may change; theory's if None.
                Not for Auto and AGDAuto, which find it.
            **options: Single hyperparameters of the method, in place of the paper's.
        """
        groups, n = counted(params)
        constants = {
            "smoothness": smoothness,
            "hessian_lipschitz": hessian_lipschitz,
            "tol": tol,
            "curvature_tol": curvature_tol,
            "failure_probability": failure_probability,
            "decrease_available": decrease_available,
        }
        words = self.method, find(self.method), n, constants, options, type(self), TRAINED
        self._prepare(groups, asked.parameters(*words), seed, lr)

    def _prepare(self, groups: Any, parameters: Parameters, seed: int, lr: float | None) -> None:
        if lr is not None and hasattr(parameters.descent, "step"):
            parameters = override(parameters, {"step": float(lr)})
        step = getattr(parameters.descent, "step", 1.0 if lr is None else lr)
        super().__init__(groups, {"lr": step}, parameters, seed)
        self._current()

    def _solver(self) -> Solver:
        return find(self.method).solver

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take more parameters over, with no settings of their own.

        Args:
            param_group: As every torch optimiser takes it.
        """
        counted([param_group])
        super().add_param_group(param_group)

    def _current(self) -> Parameters:
        rates = {float(group["lr"]) for group in self.param_groups}
        if len(rates) > 1:
            raise ValueError(
                f"lr must be the same in all groups, got {sorted(rates)}: a method has one step "
                "for all parameters; set one lr"
            )
        (rate,), descent = rates, self.parameters.descent
        if hasattr(descent, "step"):
            return self.parameters._replace(descent=descent._replace(step=rate))
        if rate != 1:
            raise ValueError(
                f"lr must be 1, got {rate!r}: {type(self).__name__} finds its steps by "
                "itself; leave lr and the scheduler out"
            )
        return self.parameters


class Auto(Method):
    """L-BFGS and Lanczos: nothing to know of the loss, which must be the same at every call."""

    method = "auto"


class AGDAuto(Method):
    """Parameter-free accelerated descent: nothing to know of the loss, and nothing to store."""

    method = "agd-auto"


class PGD(Method):
    """Gradient descent with uniform perturbations: Jin et al. (2017)."""

    method = "pgd"


class PAGD(Method):
    """Accelerated gradient descent with uniform perturbations: Jin et al. (2018)."""

    method = "pagd"


class PGDNC(Method):
    """Gradient descent and negative curvature finding: Zhang & Li (2021), Algorithm 5."""

    method = "pgd+nc"


class ANCGD(Method):
    """Accelerated descent and negative curvature finding: Zhang & Li (2021), Algorithm 2."""

    method = "ancgd"


class NEON(Method):
    """Gradient descent and NEON: Xu, Jin & Yang (2018), our reconstruction."""

    method = "neon"


class NEONPlus(Method):
    """Accelerated descent and NEON+: Xu, Jin & Yang (2018), our reconstruction."""

    method = "neon+"


class AGDLanczos(Method):
    """Accelerated descent and Lanczos."""

    method = "agd+lanczos"


class Sampled(Method):
    """A method for minibatches: a step takes one of them, and looks at it once or twice."""

    def __init__(
        self,
        params: Any,
        *,
        smoothness: float = math.nan,  # l
        hessian_lipschitz: float = math.nan,  # rho
        stochastic_smoothness: float = math.nan,  # lt
        variance: float = math.nan,  # sigma^2
        tol: float = 1e-2,  # eps
        curvature_tol: float | None = None,  # gamma
        failure_probability: float = 1e-3,  # delta
        decrease_available: float | None = None,  # Delta_f
        preset: str = "practical",
        seed: int = 0,
        lr: float | None = None,  # eta
        **options: float,
    ) -> None:
        """Prepare a run.

        Args:
            params: As every torch optimiser takes them; groups may differ in nothing.
            smoothness: Bound on the Hessian's norm.
            hessian_lipschitz: Lipschitz constant of the Hessian.
            stochastic_smoothness: Bound on the norm of every single sample's Hessian.
            variance: Of the gradient of one sample: the mean of |g(x; theta) - g(x)|^2.
            tol: Gradient norm to reach.
            curvature_tol: Curvature to look for. Default sqrt(rho tol).
            failure_probability: Chance of an error in each trial of a direction.
            decrease_available: Bound on f(x0) - min f; needed by the printed preset only.
            preset: ``practical``, or ``printed`` for the parameters of the papers.
            seed: All noise is a function of it; the minibatches are yours.
            lr: The descent's step, which a scheduler may change; theory's if None.
            **options: Single hyperparameters of the method, in place of the preset's.
        """
        groups, n = counted(params)
        given = {
            "smoothness": smoothness,
            "hessian_lipschitz": hessian_lipschitz,
            "stochastic_smoothness": stochastic_smoothness,
            "variance": variance,
            "tol": tol,
            "curvature_tol": curvature_tol or math.sqrt(max(hessian_lipschitz * tol, 0.0)),
            "failure_probability": failure_probability,
        }
        parameters = settle(self.method, preset, n, given, decrease_available, options)
        self._prepare(groups, parameters, seed, lr)

    @property
    def batch_size(self) -> int:
        """How many samples the next minibatch ought to have."""
        return self._pending.size(self.parameters)

    @property
    def drawn(self) -> int:
        """How many samples of that size it has asked for so far."""
        return 0 if self._kernel is None else self._kernel.drawn

    def _answer(self, loss: Any) -> None:
        phase, size = self._pending, self.batch_size
        super()._answer(loss)
        if phase.sample == NEW:
            self._kernel = self._state._replace(drawn=self._state.drawn + size)

    def _require(self, phase: Phase, loss: Any) -> None:
        """Ask for a closure where a minibatch will be looked at twice."""
        if self._closure is None and any(it.sample != NEW for it in self.solver.phases.values()):
            raise TypeError(
                f"{type(self).__name__}.step() needs a closure: it has to look at the same "
                "minibatch at two points; pass a closure, opt.step(closure)"
            )

    def _between(self, code: int, turned: bool) -> bool:
        """Say whether the next look is at another minibatch."""
        return self._pending.sample == NEW


class SGDNC(Sampled):
    """SGD and stochastic negative curvature finding: Zhang & Li (2021), Algorithms 3 and 8."""

    method = "sgd+nc"


class PSGD(Sampled):
    """SGD with noise at every step: Jin et al. (2021). It never ends by itself."""

    method = "psgd"


OPTIMISERS: dict[str, type[Method]] = {
    cls.method: cls
    for cls in (
        Auto, AGDAuto, PGD, PAGD, PGDNC, ANCGD, NEON, NEONPlus, AGDLanczos, SGDNC, PSGD
    )
}  # fmt: skip
