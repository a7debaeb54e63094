"""The user's products with the Hessian, guarded: checked, converted, counted, symmetric."""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.ops import OWN_STREAM
from unsaddle.core.session import NotFiniteError
from unsaddle.numpy.inputs import as_precise
from unsaddle.numpy.ops import Vector, ops

HessianProduct = Callable[..., Any]


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    root: float = 1 / 3  # power of the roundoff, (0, 1): a larger share of u'Hv is no rounding


TUNING = Tuning()


class Products:
    """Gives H p at x, and counts."""

    def __init__(self, hessp: HessianProduct | None, x0: Vector, args: tuple[Any, ...]) -> None:
        """Take the function, without calling it; there may be none."""
        if hessp is not None and not callable(hessp):
            raise TypeError(
                f"hessp must be callable, got {hessp!r}; "
                "pass hessp=<function of x and p that returns the Hessian at x times p>"
            )
        self.hessp, self.args, self.count = hessp, args, 0
        self.shape, self.dtype = x0.shape, x0.dtype

    def __bool__(self) -> bool:
        """Say whether there are any."""
        return self.hessp is not None

    def __call__(self, x: Vector, p: Vector) -> Vector:
        """Give H p at x; the first time, see that H is symmetric and that x and p stay."""
        if self.count:
            return self._of(x, p)
        before = zlib.crc32(x.data), zlib.crc32(p.data)
        answer = self._of(x, p).copy()
        if (zlib.crc32(x.data), zlib.crc32(p.data)) != before:
            raise ValueError("hessp changed its argument x or p in place; work on a copy")
        self._check_symmetry(x, p, answer)
        return answer

    def _of(self, x: Vector, p: Vector) -> Vector:
        self.count += 1
        answer = np.asarray(self.hessp(x, p, *self.args))  # type: ignore[misc]
        if answer.shape != self.shape:
            missing = ": is its `return` missing?" if answer.dtype == object else ""
            raise ValueError(
                f"hessp must return an array of shape {self.shape} like x0, the Hessian at x "
                f"times p, got shape {answer.shape}{missing}"
            )
        harm = "its rounding would be taken for curvature"
        product = as_precise("hessp", answer, self.dtype, harm)
        if not np.isfinite(product).all():
            raise NotFiniteError("hessp returned NaN or infinity")
        return product

    def _check_symmetry(self, x: Vector, p: Vector, answer: Vector) -> None:
        """See that u'Hp = p'Hu for a u of our own, to rounding."""
        u = np.random.default_rng(OWN_STREAM).standard_normal(p.shape).astype(p.dtype)
        other = self._of(x, u)
        ahead, behind = ops.dot(u, answer), ops.dot(p, other)
        scale = ops.norm(u) * ops.norm(answer) + ops.norm(p) * ops.norm(other)
        if abs(ahead - behind) > ops.roundoff(p) ** TUNING.root * scale:
            unit = ops.norm(u) * ops.norm(p)
            raise ValueError(
                "hessp is not symmetric: for two directions of length one u'Hv is "
                f"{ahead / unit:.6g} and v'Hu is {behind / unit:.6g}; it must return the Hessian "
                "at x times p"
            )
