"""Matrix completion from zero: fill in a matrix of rank 2 of which half is seen."""

import numpy as np
from scipy.optimize import minimize

import unsaddle

rng = np.random.default_rng(0)
rows, columns, rank = 30, 20, 2
truth = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))
seen = rng.random(truth.shape) < 1 / 2


def loss(x):
    """Half the squared error of u v' where it is seen, and its gradient."""
    u, v = x[: rows * rank].reshape(rows, rank), x[rows * rank :].reshape(columns, rank)
    error = np.where(seen, u @ v.T - truth, 0.0)
    return np.sum(error**2) / 2, np.concatenate([(error @ v).ravel(), (error.T @ u).ravel()])


zero = np.zeros((rows + columns) * rank)  # the gradient vanishes here: a saddle
stuck = minimize(loss, zero, jac=True, method="L-BFGS-B")
print(f"L-BFGS-B: loss {stuck.fun:.4f}, success={stuck.success}")

result = unsaddle.minimize(loss, zero, jac=True)
print(f"unsaddle: loss {result.fun:.4f}, success={result.success}, {result.njev} gradients")
print(result.certificate)
