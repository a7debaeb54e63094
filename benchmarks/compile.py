"""What it takes to compile a run on JAX, beside the function and its gradient alone.

Processor time of tracing, lowering and compiling ``unsaddle.jax.minimize``, and of
``jax.jit(jax.value_and_grad(fun))``, in one process each after the other: a toy, a network of 24
layers, a quantum circuit of six qubits. A run holds the function three times: with its gradient,
alone for the trials of a jump, and alone for the value at the end. What is left is the method's,
whatever the function.

    python benchmarks/compile.py [--method auto]
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import unsaddle.jax

QUBITS, LAYERS, WIDTH = 6, 24, 16


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


def seconds(function: Callable[..., Any], x: Any) -> float:
    """Measure the processor time that compiling takes."""
    begin = time.process_time()
    jax.jit(function).lower(x).compile()
    return time.process_time() - begin


def main() -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="auto", help="one that needs no constants")
    method = parser.parse_args().method
    layer = 0.1 * jnp.eye(WIDTH), jnp.zeros(WIDTH)
    cases = {
        "wells, 10 variables": (wells, jnp.full(10, 0.01)),
        "network, 24 layers": (network, [layer] * LAYERS),
        "circuit, 6 qubits": (circuit, jnp.full(2 * QUBITS, 0.1)),
    }
    print("| function | value and gradient, s | run, s | ratio |", "|---" * 4 + "|", sep="\n")
    seconds(jnp.sum, jnp.ones(2))  # the first time loads the compiler
    for name, (fun, x) in cases.items():
        alone = seconds(jax.value_and_grad(fun), x)
        run = seconds(lambda x, fun=fun: unsaddle.jax.minimize(fun, x, method=method), x)
        print(f"| {name} | {alone:.2f} | {run:.1f} | {run / alone:.1f} |", flush=True)


if __name__ == "__main__":
    main()
