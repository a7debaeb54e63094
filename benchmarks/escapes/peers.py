"""Optimisers of other packages for the race: ``pip install 'unsaddle[bench]'`` adds them."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch

from benchmarks.escapes.problem import Problem

PACKAGES = {"psd-optimizer": "psd_optimizer", "pytorch-minimize": "torchmin"}  # and their modules
Params = list[torch.nn.Parameter]


def installed(runner: str) -> bool:
    """Say whether the package of an optimiser, if it is of one of these, can be imported."""
    module = PACKAGES.get(runner.split()[0])
    return module is None or find_spec(module) is not None


def psd(params: Params, problem: Problem) -> Any:
    """Gradient descent that kicks at random where the gradient is small."""
    from psd_optimizer import PSDOptimizer

    return PSDOptimizer(params, lr=0.1)


def perturbed_adam(params: Params, problem: Problem) -> Any:
    """Adam that does so too."""
    from psd_optimizer import PerturbedAdam

    return PerturbedAdam(params, lr=0.01)


def torchmin(method: str) -> Callable[[Params, Problem], Any]:
    """Give a method of pytorch-minimize, which runs to its own end within one step."""

    def make(params: Params, problem: Problem) -> Any:
        from torchmin import Minimizer

        class Once(Minimizer):
            """Wants a closure without ``backward()``."""

            done = False

            def step(self, closure: Callable[..., Any]) -> None:
                """Minimise."""
                super().step(lambda: closure(backward=False))
                self.done = True

        return Once(params, method=method, max_iter=problem.gradients)

    return make


PEERS: dict[str, Callable[[Params, Problem], Any]] = {
    "psd-optimizer PSD": psd,
    "psd-optimizer PerturbedAdam": perturbed_adam,
    "pytorch-minimize bfgs": torchmin("bfgs"),
    "pytorch-minimize newton-cg": torchmin("newton-cg"),
    "pytorch-minimize newton-exact": torchmin("newton-exact"),
    "pytorch-minimize trust-exact": torchmin("trust-exact"),
}
