"""Every hint: what to type instead of a word that is not known here."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

LIMITED = "are not supported: leave them out, or substitute the variables"
CONSTRAINED = (
    "are not supported: bounds are, with bounds=; for equations eliminate variables, or add a "
    "penalty to fun, or use scipy.optimize.minimize(..., method='trust-constr')"
)
SHARE = "is of unsaddle.minimize only: pass curvature_tol=<the curvature to certify>"
BUDGET = "is not known here: pass max_gradients=<a whole number>"
TARGET = "is not known here: pass tol=<the gradient norm to reach>"
NO_HESSIAN = "is not needed: curvature is measured with gradients; hessp=<its products> is used"
QUIET = "is not known here: print(result) afterwards, or pass callback=<a function>"
STEP = "is step here, of the methods that have one; 'auto' needs none"
SEED = "is seed here: pass seed=<a whole number>"
ELSEWHERE = {
    "noise": "is gradient_noise now, in the gradient's own units: pass gradient_noise=<its error>",
    "bounds": LIMITED,
    "constraints": CONSTRAINED,
    "maxiter": BUDGET,
    "maxfun": BUDGET,
    "maxfev": BUDGET,
    "gtol": TARGET,
    "ftol": TARGET,
    "xtol": TARGET,
    "hess": NO_HESSIAN,
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
    "l": "is smoothness here: pass smoothness=<a bound on the norm of the Hessian>",
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
    **{word: ELSEWHERE[word] for word in ("noise", "gamma", "delta")},
    "jac": "is grad here: pass grad=<the gradient>; the function itself is not needed",
    "fun": "is not needed: a search takes the gradient only, pass grad=<the gradient>",
    "x0": "is x here: pass x=<the point>",
    "args": "are not known here: pass grad=lambda x: gradient(x, ...)",
    "tol": "is curvature_tol here: pass curvature_tol=<the curvature to certify>",
    "constraints": CONSTRAINED,
    "method": "is an argument of find_negative_curvature, not of certify",
}
DERIVED = "is not needed: JAX differentiates fun, leave it out"
CLOCKS = "is not known here, as every rank has its own clock: pass max_gradients=<a whole number>"
UNTIMED = "is not known here, as compiled code knows no time: pass max_gradients=<a whole number>"
COMPILED = "it may be compiled, and then returns to the host at the end only"
TRACED = {
    **ELSEWHERE,
    "max_seconds": UNTIMED,
    "certificate_budget": SHARE,
    "history": f"is not kept here, as {COMPILED}",
    **dict.fromkeys(("jac", "grad", "gradient"), DERIVED),
    "callback": f"is not known here, as {COMPILED}",
    **dict.fromkeys(("disp", "verbose"), "is not known here: print(solution) afterwards"),
    **dict.fromkeys(("starts", "workers"), "is of unsaddle.jax.minimize_many: call that"),
    "key": SEED,
}
SEARCHED_TRACED = {**SEARCHED, "max_seconds": UNTIMED}
MANY = {
    **TRACED,
    "workers": "is not known here: all runs are one compiled call",
    "seed": "is seeds here: pass seeds=jnp.arange(<how many>)",
    "x0": "is starts here: pass starts=<start points, stacked along a first axis>",
}
OWN = "is not known here: the method has its own; Escape(inner) goes around any torch optimiser"
LOOP = "is not known here: the loop is yours, end it when you like"
TRAINED = {
    **ELSEWHERE,
    **dict.fromkeys(("momentum", "betas", "nesterov"), OWN),
    **dict.fromkeys(("max_seconds", "max_gradients", "history"), LOOP),
    "certificate_budget": SHARE,
    "weight_decay": "is not known here: add weight_decay / 2 * |x|^2 to the loss",
}
P = ParamSpec("P")
T = TypeVar("T")


def meant(word: str, known: Iterable[str]) -> str:
    """Ask whether the nearest of the known words was meant, if one is near."""
    close = difflib.get_close_matches(str(word).lower(), known, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which of the known words was probably meant."""
    known = [*known]
    asked = meant(word, known)
    return f"{asked}{'The' if asked else 'the'} known ones are {', '.join(known)}"


def require(missing: list[str], otherwise: bool) -> NoReturn:
    """Complain of all the constants that are missing, and name 'auto' if that would do instead."""
    are, them = ("are", "them") if missing[1:] else ("is", "it")
    bounds = ", ".join(f"{name}=<a bound>" for name in missing)
    auto = "; or use 'auto', which needs no constants" if otherwise else ""
    raise ValueError(
        f"{', '.join(missing)} {are} missing: this method needs {them}; pass {bounds}{auto}"
    )


def recognise(
    options: Mapping[str, Any],
    method: str,
    own: list[str],  # the options that the method has
    arguments: list[str],  # of the public function that was called
    owners: Callable[[], Mapping[str, list[str]]],  # gives the methods that have each option
    elsewhere: Mapping[str, str],  # words of other packages, with what to say of them
) -> dict[str, Any]:
    """Refuse options that a method does not have, and say what was probably meant.

    The error is a TypeError, and a ValueError where the wish is understood but not supported.

    Returns:
        The options, without words of others that ask for nothing, such as ``bounds=None``.
    """
    asked = {k: v for k, v in options.items() if k in own or k not in elsewhere or _asks(v)}
    for word in [word for word in asked if word not in own]:
        others = {
            option: f"is no option of {method!r}, but of {', '.join(names)}"
            for option, names in owners().items()
        }
        besides = ", ".join(option for option in own if option not in arguments)
        known = {**others, **elsewhere}
        _refuse(word, arguments, own, known, f";\nthose of method {method!r} besides: {besides}")
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
    """Refuse SciPy's own words among the options that SciPy hands on to a function."""
    arguments = [*inspect.signature(function).parameters][:-1]
    for word, value in options.items():
        if word in THROUGH_SCIPY and word not in arguments and _asks(value):
            _refuse(word, arguments, [], THROUGH_SCIPY, "")


def _refuse(
    word: str, arguments: list[str], own: list[str], elsewhere: Mapping[str, str], besides: str
) -> NoReturn:
    hint = elsewhere.get(word, f"is unknown; {meant(word, [*arguments, *own])}").rstrip("; ")
    error = ValueError if hint in (LIMITED, CONSTRAINED) else TypeError
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
