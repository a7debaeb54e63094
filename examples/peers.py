"""Optimisers of other packages for the race, where they are installed.

``pip install psd-optimizer pytorch-minimize`` adds them; without, the race runs with torch's own.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

NEWTONS = ("bfgs", "newton-cg", "newton-exact", "trust-exact")  # of pytorch-minimize


def runners() -> dict[str, Callable[[Any], Any]]:
    """Give the optimisers that are installed, by name."""
    found: dict[str, Callable[[Any], Any]] = {}
    if find_spec("psd_optimizer"):
        from psd_optimizer import PerturbedAdam, PSDOptimizer

        found["psd-optimizer PSD"] = lambda p: PSDOptimizer(p.params, lr=0.1)
        found["psd-optimizer PerturbedAdam"] = lambda p: PerturbedAdam(p.params, lr=0.01)
    if find_spec("torchmin"):
        from torchmin import Minimizer

        class Once(Minimizer):
            """Runs to its own end within one step, and wants a closure without backward()."""

            done = False

            def step(self, closure: Callable[..., Any]) -> None:
                """Minimise."""
                super().step(lambda: closure(backward=False))
                self.done = True

        for method in NEWTONS:
            found[f"pytorch-minimize {method}"] = lambda p, method=method: Once(
                p.params, method=method, max_iter=100
            )
    return found
