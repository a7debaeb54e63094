"""Every line of the table of methods as a torch optimiser."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Unpack

from unsaddle.certificate import of_minibatches
from unsaddle.core.kernel import Parameters, Solver
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import NEW, SAME, START
from unsaddle.core.session import Query
from unsaddle.messages import TRAINED
from unsaddle.methods import table
from unsaddle.methods.constants import Given, SampledGiven, spelled
from unsaddle.torch.closures import asked_twice
from unsaddle.torch.inputs import counted, rate
from unsaddle.torch.optimizer import Closure
from unsaddle.torch.products import ExactOptimizer, Loss, check_loss
from unsaddle.torch.session import ParameterSession

OPTIMISERS: dict[str, "type[Method]"] = {}


class Method(ExactOptimizer):
    """A line of the table of methods, for torch."""

    method: ClassVar[str]
    line: ClassVar[table.Method]

    def __init_subclass__(cls, method: str = "") -> None:
        """Enter an optimiser under the name of its line."""
        if method:
            cls.method, cls.line, OPTIMISERS[method] = method, table.find(method), cls

    @spelled()
    def __init__(
        self,
        params: Any,
        *,
        seed: int = 0,
        lr: float | None = None,
        hessp: Loss | None = None,
        group: Any = None,
        **given: Unpack[Given],
    ) -> None:
        """Prepare a run.

        Args:
            params: As every torch optimiser takes them; all groups must have the same settings.
            seed: All randomness is a function of it.
            lr: The descent's step eta, the one setting that a scheduler may change; theory's if
                None. Not for Auto and AGDAuto, which find it.
            hessp: The loss as a function that returns it, without ``backward()``: searches then
                take products with the Hessian by double backward, and no differences.
            group: The process group whose ranks train together, each with its own data; all
                processes if None.
            **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
                hyperparameters.
        """
        check_loss(hessp)
        self._take(params, seed, lr, group, given)
        self.hessp = hessp
        self.parameters = self.parameters._replace(products=hessp is not None)

    def _take(
        self, params: Any, seed: int, lr: float | None, group: Any, given: Mapping[str, Any]
    ) -> None:
        """Take the parameters over, with this step or with theory's."""
        groups, n = counted(params)
        parameters = table.parameters_of(self.method, n, given, type(self), TRAINED)
        step = getattr(parameters.descent, "step", 1.0) if lr is None else rate("lr", lr)
        super().__init__(groups, {"lr": step}, parameters, seed, group)
        self.parameters = self._current()

    def _solver(self) -> Solver:
        return self.line.solver

    def _call(self, closure: Closure) -> Any:
        """Call the closure, and at first twice, as every query has to be of the same function."""
        if self._session is not None or self._group().several:
            return super()._call(closure)
        noisy = getattr(self.parameters.escape, "gradient_noise", 0.0) > 0.0
        return super()._call(partial(asked_twice, closure, self.all_parameters(), noisy))

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
        if "step" in descent._fields:
            return self.parameters._replace(descent=descent._replace(step=rate))
        if rate != 1:
            raise ValueError(
                f"lr must be 1, got {rate!r}: {type(self).__name__} finds its steps by "
                "itself; leave lr and the scheduler out"
            )
        return self.parameters


class Auto(Method, method="auto"):
    """L-BFGS and Lanczos: needs no constants; the loss must be the same at every call."""


class AGDAuto(Method, method="agd-auto"):
    """Parameter-free accelerated descent: needs no constants, and keeps ten vectors."""


class PGD(Method, method="pgd"):
    """Gradient descent with uniform perturbations: Jin et al. (2017)."""


class PAGD(Method, method="pagd"):
    """Accelerated gradient descent with uniform perturbations: Jin et al. (2018)."""


class PGDNC(Method, method="pgd+nc"):
    """Gradient descent and negative curvature finding: Zhang & Li (2021), Algorithm 5."""


class ANCGD(Method, method="ancgd"):
    """Accelerated descent and negative curvature finding: Zhang & Li (2021), Algorithm 2."""


class NEON(Method, method="neon"):
    """Gradient descent and NEON: Xu, Jin & Yang (2018), our reconstruction."""


class NEONPlus(Method, method="neon+"):
    """Accelerated descent and NEON+: Xu, Jin & Yang (2018), our reconstruction."""


class Neon2(Method, method="neon2"):
    """Almost convex accelerated descent and Neon2: Allen-Zhu & Li (2018)."""


class CDHS(Method, method="cdhs"):
    """Almost convex accelerated descent and negative curvature descent: Carmon et al. (2018)."""


class AdaNCG(Method, method="adancg"):
    """The steeper of gradient and negative curvature: Liu et al. (2018)."""


class FastCubic(Method, method="fastcubic"):
    """Cubic steps on Krylov spaces: Agarwal et al. (2017), our reconstruction."""


class AGDLanczos(Method, method="agd+lanczos"):
    """Accelerated descent and Lanczos."""


class Sampled(Method):
    """A method for minibatches: a step takes one of them, and queries it once or more often."""

    @spelled(tol=1e-2)
    def __init__(
        self,
        params: Any,
        *,
        seed: int = 0,
        lr: float | None = None,
        group: Any = None,
        **given: Unpack[SampledGiven],
    ) -> None:
        """Prepare a run.

        Args:
            params: As every torch optimiser takes them; all groups must have the same settings.
            seed: All noise is a function of it; the minibatches are yours.
            lr: The descent's step eta, which a scheduler may change; theory's if None.
            group: The process group whose ranks train together, each with its own data; all
                processes if None.
            **given: Constants of the function and targets (see ``unsaddle.Constants``), and single
                hyperparameters.
        """
        self._take(params, seed, lr, group, {"tol": 1e-2, **given})

    def _solver(self) -> Solver:
        return self.line.unproved

    def _call(self, closure: Closure) -> Any:
        """Call the closure once: minibatches may differ."""
        return ExactOptimizer._call(self, closure)

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
        if self.certificate is not None and self.outcome is Outcome.JUMP_FAILED:
            self.certificate = of_minibatches(self.certificate, session.parameters.escape)


class SGDNC(Sampled, method="sgd+nc"):
    """SGD and stochastic negative curvature finding: Zhang & Li (2021), Algorithms 3 and 8."""


class Neon2Online(Sampled, method="neon2-online"):
    """SGD and Neon2 from samples: Allen-Zhu & Li (2018)."""


class SpiderPlus(Sampled, method="spider+"):
    """SPIDER and Neon2 from samples, after every epoch: Fang et al. (2018)."""


class SharpSGD(Sampled, method="sharp-sgd"):
    """SGD with noise, in balls, and the mean of the last one: Fang, Lin & Zhang (2019)."""


class PSGD(Sampled, method="psgd"):
    """SGD with noise at every step: Jin et al. (2021). It never ends by itself."""
