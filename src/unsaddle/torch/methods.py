"""Every line of the table of methods as a torch optimiser."""

from dataclasses import replace
from typing import Any, ClassVar, Unpack

from unsaddle.core.kernel import Parameters, Solver
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import NEW, SAME, START
from unsaddle.core.session import Query
from unsaddle.messages import TRAINED
from unsaddle.methods.constants import Given, SampledGiven, spelled
from unsaddle.methods.table import find, override, parameters_of
from unsaddle.torch.inputs import counted, rate
from unsaddle.torch.optimizer import SessionOptimizer
from unsaddle.torch.session import ParameterSession

TESTED_AT = 0.75  # of tol: where the descent of a stochastic method reports


class Method(SessionOptimizer):
    """A line of the table of methods, for torch."""

    method: ClassVar[str]

    @spelled()
    def __init__(
        self, params: Any, *, seed: int = 0, lr: float | None = None, **given: Unpack[Given]
    ) -> None:
        """Prepare a run.

        Args:
            params: As every torch optimiser takes them; groups may differ in nothing.
            seed: All randomness is a function of it.
            lr: The descent's step eta, the one setting that a scheduler may change; theory's if
                None. Not for Auto and AGDAuto, which find it.
            **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
                hyperparameters.
        """
        groups, n = counted(params)
        own = parameters_of(self.method, n, given, type(self), TRAINED)
        self._take(groups, own, seed, lr)

    def _take(self, groups: Any, parameters: Parameters, seed: int, lr: float | None) -> None:
        """Take the parameters over, with this step or with theory's."""
        if lr is not None:
            lr = rate("lr", lr)
        if lr is not None and self._steps:
            parameters = override(parameters, {"step": lr})
        step = parameters.descent.step if self._steps else 1.0 if lr is None else lr
        super().__init__(groups, {"lr": step}, parameters, seed)
        self._current()

    @property
    def _steps(self) -> bool:
        """Whether the descent has a step to set."""
        return "step" in find(self.method).descent.settings._fields  # type: ignore[attr-defined]

    def _solver(self) -> Solver:
        return find(self.method).solver

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take more parameters over, with no settings of their own."""
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
        if self._steps:
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
    """A method for minibatches: a step takes one of them, and queries it once or more often."""

    @spelled(tol=1e-2)
    def __init__(
        self, params: Any, *, seed: int = 0, lr: float | None = None, **given: Unpack[SampledGiven]
    ) -> None:
        """Prepare a run.

        Args:
            params: As every torch optimiser takes them; groups may differ in nothing.
            seed: All noise is a function of it; the minibatches are yours.
            lr: The descent's step eta, which a scheduler may change; theory's if None.
            **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
                hyperparameters.
        """
        groups, n = counted(params)
        own = parameters_of(self.method, n, {"tol": 1e-2, **given}, type(self), TRAINED)
        self._take(groups, own, seed, lr)

    def _solver(self) -> Solver:
        return find(self.method).unproved

    @property
    def batch_size(self) -> int:
        """How many samples the next minibatch ought to have."""
        if self._session is None:
            return self.solver.phases[START].size(self.parameters)
        return 1 if self._query is None else self._query.size

    @property
    def drawn(self) -> int:
        """How many samples of that size it has asked for so far."""
        return 0 if self._session is None else self._session.state.drawn

    def _require(self, query: Query, loss: Any) -> None:
        """Ask for a closure where a minibatch will be queried twice."""
        if self._closure is None and any(it.sample == SAME for it in self.solver.phases.values()):
            raise TypeError(
                f"{type(self).__name__}.step() needs a closure: it has to query the same "
                "minibatch at two points; pass a closure, opt.step(closure)"
            )

    def _between(self, query: Query) -> bool:
        """Say whether the next query is of another minibatch."""
        assert self._session is not None
        return self._session.phases[query.phase].sample == NEW

    def _end(self, session: ParameterSession) -> None:
        """Say how sure a direction is that was tested on minibatches only."""
        super()._end(session)
        shown, p = self._read(session), session.parameters
        if self.outcome is Outcome.JUMP_FAILED:
            interval = f"Upper end of Student's interval over {p.escape.checks} minibatches."
            risk, note = p.escape.failure_probability, f"{shown.note} {interval}".strip()
            self.certificate = replace(shown, failure_probability=risk, note=note)


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
