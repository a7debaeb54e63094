"""Test functions with known saddles, minima and constants.

`LANDSCAPES` maps each name to the function that builds the landscape; all have defaults.
"""

from collections.abc import Callable

from unsaddle.landscapes.classics import matrix_factorisation, rosenbrock, wells
from unsaddle.landscapes.landscape import Landscape
from unsaddle.landscapes.paper import cubic, exponential, h, quartic, triangle

__all__ = [
    "LANDSCAPES",
    "Landscape",
    "cubic",
    "exponential",
    "h",
    "matrix_factorisation",
    "quartic",
    "rosenbrock",
    "triangle",
    "wells",
]

_BUILDERS = (quartic, cubic, triangle, exponential, h, wells, matrix_factorisation, rosenbrock)
LANDSCAPES: dict[str, Callable[..., Landscape]] = {build.__name__: build for build in _BUILDERS}
