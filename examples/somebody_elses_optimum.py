"""Certify somebody else's optimum: is the fit of a sum of two exponentials a minimum?"""

import numpy as np
from scipy.optimize import minimize

import unsaddle

time = np.linspace(0, 5, 60)
data = 2 * np.exp(-0.5 * time) + np.exp(-3 * time)


def cost(x):
    """Half the sum of squares of a exp(-b t) + c exp(-d t) - data, and its gradient."""
    a, b, c, d = x
    one, two = np.exp(-b * time), np.exp(-d * time)
    error = a * one + c * two - data
    return error @ error / 2, np.array([one, -a * time * one, two, -c * time * two]) @ error


def gradient(x):
    """The gradient alone: all that a certificate needs."""
    return cost(x)[1]


fit = minimize(cost, [1, 1, 1, 1], jac=True, method="BFGS", tol=1e-8)  # both terms alike
print(f"BFGS:       cost {fit.fun:.4f}, success={fit.success}")
shown = unsaddle.certify(gradient, fit.x)
print(shown)

if shown.holds is False:  # go on along the direction that was found
    better = minimize(cost, fit.x + 0.1 * shown.direction, jac=True, method="BFGS", tol=1e-8)
    print(f"from there: cost {better.fun:.4f}")
    print(unsaddle.certify(gradient, better.x))
