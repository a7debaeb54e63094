"""What to type instead: the words of SciPy and of others, and what they are here."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from unsaddle.methods import METHODS, Method
from unsaddle.words import meant

LIMITED = "are not supported: leave them out, or substitute the variables"
BUDGET = "is not known here: pass max_gradients=<a whole number>"
TARGET = "is not known here: pass tol=<the gradient norm to reach>"
NO_HESSIAN = "is not needed: curvature is measured with gradients, leave it out"
QUIET = "is not known here: print(result) afterwards, or pass callback=<a function>"
STEP = "is step here, of the methods that have one; 'auto' needs none"
SEED = "is seed here: pass seed=<a whole number>"
ELSEWHERE = {
    "bounds": LIMITED,
    "constraints": LIMITED,
    "maxiter": BUDGET,
    "maxfun": BUDGET,
    "maxfev": BUDGET,
    "gtol": TARGET,
    "ftol": TARGET,
    "xtol": TARGET,
    "hess": NO_HESSIAN,
    "hessp": NO_HESSIAN,
    "disp": QUIET,
    "verbose": QUIET,
    "options": "are arguments here: write each of them out, such as max_gradients=1000",
    "grad": "is jac here: pass jac=<the gradient>",
    "gradient": "is jac here: pass jac=<the gradient>",
    "lr": STEP,
    "learning_rate": STEP,
    "rng": SEED,
    "random_state": SEED,
    "eps": "is tol here, if the paper's is meant: pass tol=<the gradient norm to reach>",
    "gamma": "is curvature_tol here: pass curvature_tol=<the curvature to certify>",
    "delta": "is failure_probability here: pass failure_probability=<a probability>",
    "rho": "is hessian_lipschitz here: pass hessian_lipschitz=<a bound>",
}
THROUGH_SCIPY = {
    word: re.sub(r"pass (\w+)=(<.*?>)", r"pass options={'\1': \2}", hint)
    for word, hint in ELSEWHERE.items()
}
NO_FUNCTION = (
    "fun is None: minimize needs the function, to tell down from up. With a gradient only, "
    "certify(jac, x) tells a minimum from a saddle, and certificate.direction is the way out; "
    "forces are minus the gradient"
)
NOT_CALLED = "scipy_method gives a method when it is called: pass method=unsaddle.scipy_method()"
SEARCHED = {
    "jac": "is grad here: pass grad=<the gradient>; the function itself is not needed",
    "fun": "is not needed: a search takes the gradient only, pass grad=<the gradient>",
    "x0": "is x here: pass x=<the point>",
    "args": "are not known here: pass grad=lambda x: gradient(x, ...)",
    "tol": "is curvature_tol here: pass curvature_tol=<the curvature to certify>",
    "method": "is an argument of find_negative_curvature, not of certify",
}
DERIVED = "is not needed: JAX differentiates fun, leave it out"
TRACED = {
    **ELSEWHERE,
    **dict.fromkeys(("jac", "grad", "gradient"), DERIVED),
    "callback": "is not known here: nothing returns to the host before the end",
    "key": SEED,
}
MANY = {
    **TRACED,
    "seed": "is seeds here: pass seeds=jnp.arange(<how many>)",
    "x0": "is starts here: pass starts=<start points, stacked along a first axis>",
}
OWN = "is not known here: the method has its own; Escape(inner) goes around any torch optimiser"
TRAINED = {
    **ELSEWHERE,
    **dict.fromkeys(("momentum", "betas", "nesterov"), OWN),
    "weight_decay": "is not known here: add weight_decay / 2 * |x|^2 to the loss",
}
P = ParamSpec("P")
T = TypeVar("T")


def recognise(
    options: Mapping[str, Any],
    name: str,
    method: Method,
    function: Callable[..., Any],
    elsewhere: Mapping[str, str] = ELSEWHERE,
) -> dict[str, Any]:
    """Refuse options that a method does not have, and say what was probably meant.

    The error is a TypeError, and a ValueError where the wish is understood but not supported.

    Args:
        options: As they came, by name.
        name: Of the method.
        method: Its line of the table.
        function: Which was called with them.
        elsewhere: Words of others, with what to say of them.

    Returns:
        The options, without words of others that ask for nothing, such as ``bounds=None``.
    """
    own = method.options
    asked = {k: v for k, v in options.items() if k in own or k not in elsewhere or _asks(v)}
    for word in [word for word in asked if word not in own]:
        arguments = [*inspect.signature(function).parameters][:-1]
        besides = ", ".join(option for option in own if option not in arguments)
        known = {**_of_others(name), **elsewhere}
        _refuse(word, arguments, own, known, f";\nthose of method {name!r} besides: {besides}")
    return asked


def knowing(elsewhere: Mapping[str, str]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function refuse keywords that it does not have with what was probably meant."""

    def know(function: Callable[P, T]) -> Callable[P, T]:
        arguments = [*inspect.signature(function).parameters]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for word in [word for word in kwargs if word not in arguments]:
                _refuse(word, arguments, [], elsewhere, "")
            return function(*args, **kwargs)

        return call

    return know


def refuse_words_of_scipy(options: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse SciPy's own words among the options that SciPy hands on.

    Args:
        options: As they came.
        function: Which would be called with them.
    """
    arguments = [*inspect.signature(function).parameters][:-1]
    for word, value in options.items():
        if word in THROUGH_SCIPY and _asks(value):
            _refuse(word, arguments, [], THROUGH_SCIPY, "")


def _of_others(name: str) -> dict[str, str]:
    """Give the options that other methods have, with which those are."""
    owners: dict[str, list[str]] = {}
    for other, method in METHODS.items():
        for option in method.options:
            owners.setdefault(option, []).append(other)
    return {
        option: f"is no option of {name!r}, but of {', '.join(others)}"
        for option, others in owners.items()
        if name not in others
    }


def _refuse(
    word: str, arguments: list[str], own: list[str], elsewhere: Mapping[str, str], besides: str
) -> NoReturn:
    hint = elsewhere.get(word, f"is unknown; {meant(word, [*arguments, *own])}").rstrip("; ")
    error = ValueError if hint == LIMITED else TypeError
    raise error(f"{word} {hint}\nThe arguments are {', '.join(arguments)}{besides}")


def _asks(value: Any) -> bool:
    """Say whether there is anything in a value; in bounds that bound nothing there is not."""
    if value is False or (hasattr(value, "__len__") and not len(value)):
        return False
    sides = (value.lb, value.ub) if hasattr(value, "lb") else value
    try:
        return bool(np.isfinite(np.asarray(sides, float)).any())
    except (TypeError, ValueError):
        return True
