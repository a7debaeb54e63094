"""Tensor decomposition: find the components of a fourth-order tensor from a symmetric start."""

import numpy as np
from scipy.optimize import minimize

import unsaddle

d = 5
components = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]


def loss(x):
    """|sum_i u_i^4 - sum_j a_j^4|^2/4 for u_1, ..., u_d, and its gradient."""
    u = x.reshape(d, d)
    own, cross = u @ u.T, u @ components.T
    value = (np.sum(own**4) - 2 * np.sum(cross**4) + d) / 4
    return value, 2 * (own**3 @ u - cross**3 @ components).ravel()


start = np.tile(components.sum(0) / np.sqrt(d), d)  # all alike: no gradient tells them apart
stuck = minimize(loss, start, jac=True, method="L-BFGS-B", tol=1e-10)
print(f"L-BFGS-B: loss {stuck.fun:.4f}, success={stuck.success}")
print(f"its end:  {unsaddle.certify(lambda x: loss(x)[1], stuck.x)}")

result = unsaddle.minimize(loss, start, jac=True)
found = np.abs(result.x.reshape(d, d) @ components.T)
print(f"unsaddle: loss {result.fun:.4f}, success={result.success}, {result.njev} gradients")
print(f"components found: {np.count_nonzero(found.max(0) > 0.999)} of {d}")
