"""A ring of forty spins in a plane: winding once around is not the ground state."""

import numpy as np
from scipy.optimize import minimize

import unsaddle

n = 40
coupling = np.ones(n)
coupling[0] = 0.05  # one weak bond: the winding can unwind there


def energy(angles):
    """Minus the sum of J_i cos(a_i - a_{i+1}), and its gradient."""
    apart = angles - np.roll(angles, -1)
    pull = coupling * np.sin(apart)
    return -np.sum(coupling * np.cos(apart)), pull - np.roll(pull, 1)


start = np.pi * (np.arange(n) >= n // 2)  # two domains, turned against each other: a saddle
stuck = minimize(energy, start, jac=True, method="CG")
print(f"CG:       energy {stuck.fun:.3f}, success={stuck.success}")

result = unsaddle.minimize(energy, start, jac=True)
print(f"unsaddle: energy {result.fun:.3f}, success={result.success}, {result.njev} gradients")
print(f"ground state: {-coupling.sum():.3f}")
print(result.certificate)
