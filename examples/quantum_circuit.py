"""A variational quantum circuit at theta = 0: three qubits of an Ising chain."""

import jax
import jax.numpy as jnp

import unsaddle.jax

jax.config.update("jax_enable_x64", True)
qubits, layers = 3, 2
x, z, one = jnp.array([[0, 1], [1, 0]]), jnp.diag(jnp.array([1, -1])), jnp.eye(2)


def on(*gates):
    """The operator that acts with these gates, a dictionary from qubits, on the whole register."""
    whole = jnp.eye(1)
    for q in range(qubits):
        whole = jnp.kron(whole, dict(gates).get(q, one))
    return whole


bonds = [on((q, z), (q + 1, z)) for q in range(qubits - 1)]
fields = [on((q, x)) for q in range(qubits)]
hamiltonian = -sum(bonds) - 0.7 * sum(fields)


def energy(theta):
    """<psi|H|psi> of layers of rotations exp(-i t G) by bonds and fields, applied to |000>."""
    psi = jnp.eye(2**qubits, dtype=complex)[0]
    for angles in theta:
        for angle, gate in zip(angles, [*fields, *bonds], strict=True):
            psi = jnp.cos(angle) * psi - 1j * jnp.sin(angle) * (gate @ psi)
    return jnp.real(jnp.conj(psi) @ (hamiltonian @ psi))


zero = jnp.zeros((layers, 2 * qubits - 1))
solution = unsaddle.jax.minimize(energy, zero)
print(f"gradient at zero: {jnp.abs(jax.grad(energy)(zero)).max():.1g}")
print(f"energy {energy(zero):.4f} at zero, {solution.fun:.4f} at the end, a local minimum")
print(f"ground state {jnp.linalg.eigvalsh(hamiltonian)[0]:.4f}")
print(solution.certificate)
