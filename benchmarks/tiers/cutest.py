"""Tier 1: the unconstrained CUTEst problems of sif2jax, from their standard starts."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .oracle import Array, Problem

LARGEST = 200
SLOW = ("DIAMON2DLS", "DIAMON3DLS", "DMN15102LS", "DMN15103LS", "DMN15332LS", "DMN15333LS",
        "DMN37142LS", "DMN37143LS")  # fmt: skip


SLOW_BOUNDED = ("FBRAINLS", "HS25")  # minutes to compile


def cutest() -> Iterator[Problem]:
    """Give the problems of at most 200 variables, each compiled when its turn comes."""
    for name, x0, f in objectives():
        yield _compiled(name, x0, f)


def objectives() -> Iterator[tuple[str, Array, Callable[[Any], Any]]]:
    """Give the name, the start and the function, for JAX, of each of these problems."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    for each in _problems("unconstrained"):
        x0 = None if type(each).__name__ in SLOW else _flat(jax, each)
        if x0 is not None and x0.size <= LARGEST:
            yield type(each).__name__, x0, _objective(jax, each)


def bounded(largest: int) -> Iterator[tuple[Problem, Array, Array]]:
    """Give the problems with bounds of at most so many variables, with their bounds."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    for each in _problems("bounded"):
        x0 = None if type(each).__name__ in SLOW_BOUNDED else _flat(jax, each)
        if x0 is not None and x0.size <= largest:
            sides = (jax.flatten_util.ravel_pytree(side)[0] for side in each.bounds)
            lower, upper = (np.asarray(side, float) for side in sides)
            yield _compiled(type(each).__name__, x0, _objective(jax, each)), lower, upper


def _flat(jax: Any, problem: Any) -> Array | None:
    try:
        return np.asarray(jax.flatten_util.ravel_pytree(problem.y0)[0], float)
    except Exception as error:  # a problem that cannot be built is sif2jax's affair
        print(f"skipped {type(problem).__name__}: {error}", file=sys.stderr)
        return None


def _objective(jax: Any, problem: Any) -> Callable[[Any], Any]:
    _, unravel = jax.flatten_util.ravel_pytree(problem.y0)
    return lambda x: problem.objective(unravel(x), problem.args)


def _compiled(name: str, x0: Array, f: Callable[[Any], Any]) -> Problem:
    jax = importlib.import_module("jax")
    both, hessian = jax.jit(jax.value_and_grad(f)), jax.jit(jax.hessian(f))
    last: list[Any] = [None, None]

    def seen(x: Array) -> Any:
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = x.copy(), both(x)
        return last[1]

    return Problem(
        name,
        x0.size,
        lambda x: float(seen(x)[0]),
        lambda x: np.asarray(seen(x)[1]),
        lambda x: np.asarray(hessian(x)),
        lambda seed: x0.copy(),
    )


def _problems(kind: str) -> Any:
    """Import the problems of one kind alone: the whole of sif2jax takes a minute or more."""
    importlib.import_module("jax.flatten_util")
    spec = importlib.util.find_spec("sif2jax")
    if spec is None or spec.origin is None:
        raise SystemExit("tier 1 needs sif2jax: pip install '.[bench]'")
    root = Path(spec.origin).parent
    for name, path in (("sif2jax", root), ("sif2jax.cutest", root / "cutest")):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    module = importlib.import_module(f"sif2jax.cutest._{kind}_minimisation")
    return getattr(module, f"{kind}_minimisation_problems")
