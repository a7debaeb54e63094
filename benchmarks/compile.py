"""What it takes to compile a run on JAX, beside the function and its gradient alone.

Processor time of tracing, lowering and compiling ``jax.jit(jax.value_and_grad(fun))``, and of the
first call of ``unsaddle.jax.minimize`` with at most 50 gradients to take: a toy of two sizes, a
network of 24 layers, a quantum circuit of six qubits, in one process each after the other. On the
host a call compiles the function with its gradient and alone, and the noise once for each size. A
traced run holds the function three times: with its gradient, alone for the trials of a jump, and
alone for the value at the end. What is left is the method's, whatever the function. How much of a
traced call is tracing and lowering stands beside it, and the size of what is compiled: equations of
the jaxpr, and lines of StableHLO.

    python benchmarks/compile.py [--method auto]
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from math import isnan, nan
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

import unsaddle.jax
from unsaddle.jax import host

QUBITS, LAYERS, WIDTH = 6, 24, 16
GRADIENTS = 50  # with a search among them


def wells(x: Any) -> Any:
    """A double well in each variable, coupled to the next."""
    return ((x**2 - 1) ** 2).sum() / 4 + (x[:-1] * x[1:]).sum() / 10


def network(weights: Any) -> Any:
    """The mean squared error of a residual network of many layers."""
    data = jnp.linspace(-1, 1, 64 * WIDTH).reshape(64, WIDTH)
    h = data
    for matrix, bias in weights:
        h = jnp.tanh(h @ matrix + bias) + h
    return ((h - jnp.sin(3 * data)) ** 2).mean()


def circuit(angles: Any) -> Any:
    """The energy of an Ising ring in a transverse field, after one layer of rotations and CZ."""
    index = np.arange(2**QUBITS)
    bits = [(index >> qubit) & 1 for qubit in range(QUBITS)]
    state = jnp.zeros(2**QUBITS, jnp.complex64).at[0].set(1)
    for qubit in range(QUBITS):
        c, s = jnp.cos(angles[2 * qubit] / 2), jnp.sin(angles[2 * qubit] / 2)
        turn = jnp.exp(0.5j * angles[2 * qubit + 1])
        gate = jnp.diag(jnp.array([turn.conj(), turn])) @ jnp.array([[c, -s], [s, c]])
        split = state.reshape(2 ** (QUBITS - 1 - qubit), 2, 2**qubit)
        state = jnp.einsum("ab,ibj->iaj", gate, split).reshape(-1)
    for qubit in range(QUBITS):
        state = state * np.where(bits[qubit] & bits[(qubit + 1) % QUBITS], -1.0, 1.0)
    energy = jnp.zeros(())
    for qubit in range(QUBITS):
        both = (1 - 2 * bits[qubit]) * (1 - 2 * bits[(qubit + 1) % QUBITS])
        flipped = jnp.vdot(state, state[index ^ (1 << qubit)]).real
        energy = energy - (jnp.abs(state) ** 2 * both).sum() - flipped
    return energy


def seconds(work: Callable[[], Any]) -> float:
    """Measure the processor time of something that is done for the first time."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def equations(jaxpr: Any) -> int:
    """Count the equations of a program, with those of what it calls."""
    inner = (it for eqn in jaxpr.eqns for it in jaxprs_in_params(eqn.params))
    return len(jaxpr.eqns) + sum(map(equations, inner))


def row(fun: Callable[..., Any], x: Any, method: str) -> list[str]:
    """Measure one function."""
    run = partial(unsaddle.jax.minimize, fun, method=method, max_gradients=GRADIENTS)
    call = lambda: jax.block_until_ready(run(x))  # noqa: E731
    alone = seconds(lambda: jax.jit(jax.value_and_grad(fun)).lower(x).compile())
    direct = seconds(call) if host.suits(x) else nan
    with patch.object(host, "suits", return_value=False):
        whole = seconds(call)
    jax.clear_caches()  # else nothing were traced again
    begin = time.process_time()
    traced = jax.jit(lambda x: run(x)).trace(x)
    lowered = traced.lower()
    before = time.process_time() - begin
    sizes = equations(traced.jaxpr.jaxpr), lowered.as_text().count("\n")
    wanted = 3 * alone + 1
    times = direct, direct / wanted, whole, whole / wanted, before
    return [
        f"{alone:.2f}",
        *(f"{it:.1f}" if not isnan(it) else "" for it in times),
        *map(str, sizes),
    ]


def main() -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="auto", help="one that needs no constants")
    parser.add_argument("--only", default="", help="a part of the names of the cases wanted")
    given = parser.parse_args()
    layer = 0.1 * jnp.eye(WIDTH), jnp.zeros(WIDTH)
    cases = {
        "wells, 10 variables": (wells, jnp.full(10, 0.01)),
        "wells, 10^6 variables": (wells, jnp.full(10**6, 0.01)),
        "network, 24 layers": (network, [layer] * LAYERS),
        "circuit, 6 qubits": (circuit, jnp.full(2 * QUBITS, 0.1)),
    }
    head = "function", "value and gradient, s", "first call on the host, s", "by 3x + 1 s"
    head = *head, "first call traced, s", "by 3x + 1 s", "tracing and lowering, s"
    head = *head, "equations", "lines of StableHLO"
    print(f"| {' | '.join(head)} |", "|---" * len(head) + "|", sep="\n")
    seconds(lambda: jax.jit(jnp.sum).lower(jnp.ones(2)).compile())  # loads the compiler
    for name, (fun, x) in cases.items():
        if given.only in name:
            print(f"| {' | '.join([name, *row(fun, x, given.method)])} |", flush=True)


if __name__ == "__main__":
    main()
