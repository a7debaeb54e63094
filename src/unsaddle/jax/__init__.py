"""``minimize``, ``certify`` and the like as pure functions on pytrees.

Everything here traces: it may stand under ``jax.jit``, and under ``jax.vmap`` over starts and over
seeds. What is called directly runs on the host where that is the sooner (``host.py``).
"""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    raise ImportError("unsaddle.jax needs JAX: pip install 'unsaddle[jax]'") from error

from unsaddle.jax.certify import certify, find_negative_curvature
from unsaddle.jax.minimize import minimize, minimize_many
from unsaddle.jax.solution import Many, Solution, Verdict
from unsaddle.jax.stochastic import minimize_stochastic

__all__ = [
    "Many",
    "Solution",
    "Verdict",
    "certify",
    "find_negative_curvature",
    "minimize",
    "minimize_many",
    "minimize_stochastic",
]
