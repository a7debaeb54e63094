"""A Gaussian process with two kernels that start alike, in scikit-learn."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import unsaddle

x = np.linspace(0, 10, 60)[:, None]
y = np.sin(x[:, 0]) + 0.3 * np.sin(8 * x[:, 0])  # a slow and a fast part


def free(objective, theta, bounds):
    """Minimise as scikit-learn asks, without stopping on a saddle."""
    result = unsaddle.minimize(objective, theta, jac=True, tol=1e-4)
    print(f"unsaddle: {result.certificate}")
    return result.x, result.fun


def likelihood(optimizer):
    """Fit a sum of two kernels that begin with the same length, and give the log-likelihood."""
    part = ConstantKernel(1.0) * RBF(1.0)
    kernel = part + part + WhiteKernel(1e-2)
    model = GaussianProcessRegressor(kernel, optimizer=optimizer).fit(x, y)
    return model.log_marginal_likelihood_value_


print(f"scikit-learn's own optimiser: log-likelihood {likelihood('fmin_l_bfgs_b'):.1f}")
print(f"with unsaddle:                log-likelihood {likelihood(free):.1f}")
