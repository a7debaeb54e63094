"""``scipy_method``: a method for ``scipy.optimize.minimize``, with the options of SciPy's own."""

import warnings
from collections.abc import Callable
from math import inf, isnan
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, OptimizeWarning

from unsaddle.messages import NOT_CALLED, refuse_words_of_scipy
from unsaddle.methods.checks import whole
from unsaddle.methods.table import find
from unsaddle.numpy import differences
from unsaddle.numpy.callback import collecting
from unsaddle.numpy.inputs import caller, point
from unsaddle.numpy.minimize import minimize

BUDGETS = ("maxiter", "maxfun", "maxfev")
WITHOUT_MEANING = (  # options of SciPy's methods that have none here
    *("ftol", "xtol", "fatol", "xatol", "xrtol", "factr", "maxls", "maxcor", "iprint", "c1", "c2"),
    *("eps", "finite_diff_rel_step", "hess_inv0", "adaptive", "initial_simplex", "direc"),
    *("initial_trust_radius", "max_trust_radius", "initial_tr_radius", "eta", "inexact"),
    *("subproblem_maxiter", "maxCGit", "stepmx", "accuracy", "minfev", "offset", "scale"),
    *("rescale", "mesg_num", "verbose", "workers"),
)


def scipy_method(
    method: str = "auto", *misplaced: Any, **parameters: Any
) -> Callable[..., OptimizeResult]:
    """Give a method in the form that ``scipy.optimize.minimize(..., method=...)`` takes.

    Args:
        method: A name from ``unsaddle methods``; "auto" needs no parameters.
        *misplaced: What comes if ``method=unsaddle.scipy_method`` is passed, which is an error.
        **parameters: Arguments of ``unsaddle.minimize``, such as ``smoothness``; SciPy's own
            ``tol`` and ``options`` come after them and win.

    Returns:
        A callable with SciPy's signature for custom methods. Of the options of SciPy's own methods
        it takes ``gtol`` (with ``norm``), ``maxiter``, ``maxfun`` and ``maxfev``, which all limit
        the gradients, ``disp`` and ``return_all``; those that have no meaning here are named in a
        warning and ignored.

    Raises:
        TypeError: If it is passed to SciPy without being called.
    """
    if misplaced or callable(method):
        raise TypeError(NOT_CALLED)
    find(method)

    def solve(
        fun: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...] = (),
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
        return_all: Any = False,
        callback: Any = None,
        **options: Any,
    ) -> OptimizeResult:
        known = {"jac": jac, "hessp": hessp, "hess": _that_works(hess, x0, args)}
        own = {**parameters, **_understood({**options, **known}, point(x0))}
        callback = own.pop("callback", None) if callback is None else callback
        iterates: list[np.ndarray] = []
        if return_all:
            callback = collecting(iterates, callback)
        result = minimize(fun, x0, args, method, callback=callback, **own)
        return type(result)({**result, "allvecs": iterates}) if return_all else result

    return solve


def _that_works(hess: Any, x0: Any, args: Any) -> Any:
    """Give the Hessian if it can be computed at x0: hosts hand one on that no method has called."""
    if not callable(hess):
        return None
    try:
        hess(point(x0), *(args if isinstance(args, tuple) else (args,)))
    except Exception as error:
        text = f"hess failed at x0 ({type(error).__name__}: {error}): gradients take its place"
        warnings.warn(text, OptimizeWarning, stacklevel=caller())
        return None
    return hess


def _understood(options: dict[str, Any], x0: np.ndarray) -> dict[str, Any]:
    """Put options of SciPy's methods into the words of ``minimize``."""
    given = {word: value for word, value in options.items() if value is not None}
    ignored = [word for word in given if word in WITHOUT_MEANING]
    if ignored:
        names = ", ".join(ignored)
        text = f"{names} {'have' if ignored[1:] else 'has'} no meaning here and {{}} ignored"
        warnings.warn(
            text.format("are" if ignored[1:] else "is"), OptimizeWarning, stacklevel=caller()
        )
    budgets = [word for word in (*BUDGETS, "max_gradients") if word in given]
    price = _values_of_a_gradient(given.get("jac"), x0.size)
    limits = [
        whole(word, given[word]) // (price if word in ("maxfun", "maxfev") else 1)
        for word in budgets
    ]
    tolerance = _euclidean(given.pop("gtol"), given.get("norm", inf), x0) if "gtol" in given else 0
    words = {*ignored, *budgets, "norm"}
    known = {word: value for word, value in given.items() if word not in words}
    refuse_words_of_scipy(known, minimize)
    budget = {"max_gradients": max(1, min(limits))} if limits else {}
    return {**({"tol": tolerance} if tolerance else {}), **known, **budget}


def _values_of_a_gradient(jac: Any, n: int) -> int:
    """Give how many values a gradient takes, where it is made of differences."""
    scheme = jac if isinstance(jac, str) else "3-point"
    numerical = scheme in differences.SCHEMES and not (callable(jac) or jac is True)
    return differences.values_of(scheme, n) if numerical else 1


def _euclidean(gtol: Any, norm: Any, x0: np.ndarray) -> float:
    """Give a length that no gradient has whose p-norm is above: gtol / n^max(1/p - 1/2, 0)."""
    for word, number in {"gtol": gtol, "norm": norm}.items():
        if not isinstance(number, Real) or isnan(number) or (word == "gtol" and not gtol > 0):
            wants = "a number > 0" if word == "gtol" else "the order of a norm, such as 2 or inf"
            raise ValueError(f"option {word} must be {wants}, got {number!r}")
    power = max(1 / norm - 0.5, 0.0) if norm > 0 else 0.0
    return float(gtol) / x0.size**power
