"""How to run a method on each backend and list where it queries. One function per backend."""

from functools import cache
from typing import Any

import numpy as np

from tests import sampled
from tests.drive import trace
from unsaddle.core.kernel import Parameters
from unsaddle.methods.constants import SampledConstants
from unsaddle.methods.table import find, override
from unsaddle.numpy.ops import ops as numpy_ops

DRAWS = 1200  # that the backends share: sharp-sgd numbers its own from 1000 on
CONSTANTS = SampledConstants.__annotations__


@cache
def draws(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Give what every backend is to draw."""
    like = np.zeros(n)
    normal = np.array([numpy_ops.normal(like, 0, j) for j in range(DRAWS)])
    return normal, np.array([numpy_ops.uniform(like, 0, j) for j in range(DRAWS)])


def parameters_by_name(method: str, n: int, given: dict) -> Parameters:
    """Take the constants of a function and the options of a method apart, and use both."""
    constants = {name: value for name, value in given.items() if name in CONSTANTS}
    options = {name: value for name, value in given.items() if name not in CONSTANTS}
    return override(find(method).from_theory(n=n, **constants), options)


def run_numpy(method: str, f: Any, x: np.ndarray, given: dict, queries: int, patch: Any) -> Any:
    parameters = parameters_by_name(method, x.size, given)
    solver = find(method).solver
    start = solver.start(numpy_ops, parameters, x.copy(), 0)
    return trace(solver, parameters, start, f, queries)[0]


def run_numpy_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, queries: int, patch: Any
) -> Any:
    parameters = parameters_by_name(method, x.size, given)
    solver = find(method).solver
    start = solver.start(numpy_ops, parameters, x.copy(), 0)
    seen = sampled.trace(solver, parameters, start, None, queries, answer=answer)[0]
    return np.array([np.append(point, first) for point, first, _ in seen])
