"""A saddle known from samples, in each of the forms that samples can be given in."""

import numpy as np
import pytest

from unsaddle import FiniteSum, minimize_stochastic
from unsaddle.methods.table import STOCHASTIC

N, ROWS, SIGMA = 6, 400, 0.1
CURVATURES = np.append(-0.5, np.linspace(0.2, 1.0, N - 1))
CONSTANTS = {
    "smoothness": 3.0,
    "stochastic_smoothness": 3.0,
    "hessian_lipschitz": 6.0,
    "variance": SIGMA**2,
    "tol": 0.05,
}
DATA = np.random.default_rng(0).standard_normal((ROWS, N)) * SIGMA / np.sqrt(N)
DATA -= DATA.mean(0)


def exact(x):
    """A saddle at 0, minima at x_1 = +-sqrt(1/2)."""
    return CURVATURES * x + np.append(x[0] ** 3, np.zeros(N - 1))


def hessian(x):
    return np.diag(CURVATURES + np.append(3 * x[0] ** 2, np.zeros(N - 1)))


def grad(x, batch):
    return exact(x) + batch.mean(0)


def sampler(rng, size):
    return rng.standard_normal((size, N)) * SIGMA / np.sqrt(N)


def one_by_one(x, rng):
    return exact(x) + sampler(rng, 1)[0]


FORMS = {
    "sampler": (grad, sampler),
    "rng": (one_by_one, None),
    "epochs": (FiniteSum(grad, DATA), None),
    "with replacement": (FiniteSum(grad, DATA, replace=True), None),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
each_method = pytest.mark.parametrize("method", STOCHASTIC)
WHOLE = [("sgd+nc", name) for name in FORMS]  # to the end: a method of samples in every form
WHOLE += [(it, name) for it in STOCHASTIC for name in ("sampler", "epochs") if it != "psgd"]
each_whole_run = pytest.mark.parametrize(("method", "name"), dict.fromkeys(WHOLE))


def solve(form=FORMS["sampler"], x0=None, **given):
    first = np.zeros(N) if x0 is None else x0
    return minimize_stochastic(form[0], first, form[1], **{**CONSTANTS, **given})


def watched(form):
    """The same form, with the points and the number of samples of every call in a list."""
    calls, (given, draw) = [], form

    def listed(x, *batch):
        calls.append((x.copy(), len(batch[0]) if hasattr(batch[0], "__len__") else 1))
        return (given.grad if isinstance(given, FiniteSum) else given)(x, *batch)

    if isinstance(given, FiniteSum):
        return calls, (FiniteSum(listed, *given.data, replace=given.replace), None)
    return calls, (listed, draw)
