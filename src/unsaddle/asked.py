"""A method's parameters from what a caller asks for, the same on every front end."""

from collections.abc import Callable, Mapping
from typing import Any

from unsaddle.hints import ELSEWHERE, recognise
from unsaddle.kernel import Parameters
from unsaddle.methods import Method, override
from unsaddle.theory import check

OPTIONAL = ("smoothness", "hessian_lipschitz", "curvature_tol", "decrease_available")


def parameters(
    name: str,
    method: Method,
    n: int,
    constants: Mapping[str, Any],
    options: Mapping[str, Any],
    function: Callable[..., Any],
    elsewhere: Mapping[str, str] = ELSEWHERE,
) -> Parameters:
    """Give a method's parameters by theory, and in their place what was given by name.

    Args:
        name: Of the method.
        method: Its line of the table.
        n: Number of variables.
        constants: Of the function, and the targets, by name.
        options: Single hyperparameters, by name.
        function: Which was called with them.
        elsewhere: Words of others, with what to say of them.

    Returns:
        The parameters.
    """
    options = recognise(options, name, method, function, elsewhere)
    given = {k: v for k, v in constants.items() if v is not None or k not in OPTIONAL}
    return override(method.from_theory(**{**constants, **check(given)}, n=n), options)
