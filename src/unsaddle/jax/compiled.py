"""``jax.jit`` with what makes a run compile in less time."""

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from unsaddle.jax.inputs import tracing

F = TypeVar("F", bound=Callable[..., Any])
QUICK = {"xla_cpu_use_fusion_emitters": False}  # half the time; a run has hundreds of small kernels


def compiled(static: int) -> Callable[[F], F]:
    """Compile a function whose first arguments are static; where one is traced, its owner does."""

    def decorate(work: F) -> F:
        jit = partial(jax.jit, work, static_argnums=tuple(range(static)))
        within, alone = jit(), jit(compiler_options=QUICK)

        @wraps(work)
        def run(*given: Any) -> Any:
            return (within if tracing() or not quick() else alone)(*given)

        return run  # pyright: ignore[reportReturnType]

    return decorate


@cache
def quick() -> bool:
    """Say whether the compiler is that of processors, and knows the options."""
    try:
        jax.jit(jnp.negative, compiler_options=QUICK).lower(0.0).compile()
    except (RuntimeError, ValueError):
        return False
    return jax.default_backend() == "cpu"
