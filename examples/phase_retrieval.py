"""Phase retrieval from zero: find a signal from the squares of what is measured of it."""

import numpy as np
from scipy.optimize import minimize

import unsaddle

rng = np.random.default_rng(0)
n, measurements = 50, 400
truth = rng.standard_normal(n)
a = rng.standard_normal((measurements, n))
squares = (a @ truth) ** 2


def loss(x):
    """Mean of ((a'x)^2 - b)^2/4, and its gradient."""
    y = a @ x
    error = y**2 - squares
    return np.mean(error**2) / 4, a.T @ (error * y) / measurements


zero = np.zeros(n)  # a local maximum in n directions: the gradient vanishes
stuck = minimize(loss, zero, jac=True, method="BFGS")
print(f"BFGS:     loss {stuck.fun:.4f}, success={stuck.success}")

result = unsaddle.minimize(loss, zero, jac=True)
apart = min(np.linalg.norm(result.x - truth), np.linalg.norm(result.x + truth))
print(f"unsaddle: loss {result.fun:.4f}, success={result.success}, {result.njev} gradients")
print(f"distance to the signal, up to its sign: {apart:.4f}")
