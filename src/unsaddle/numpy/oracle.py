"""The user's functions, guarded: every answer is checked, converted and counted."""

import zlib
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.ops import OWN_STREAM
from unsaddle.core.outcome import EndError, Outcome
from unsaddle.core.phases import GRADIENT, TRIAL, VALUE
from unsaddle.core.session import NotFiniteError, Query
from unsaddle.messages import NO_FUNCTION
from unsaddle.methods.checks import shown
from unsaddle.numpy import differences
from unsaddle.numpy.inputs import as_precise
from unsaddle.numpy.ops import Vector, ops

HessianProduct = Callable[..., Any]
TrialErrors = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], Any]


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    root: float = 1 / 3  # power of the roundoff, (0, 1): a larger share of u'Hv is no rounding


TUNING = Tuning()


class Best(NamedTuple):
    """The point of the lowest value seen, and that value."""

    x: Vector
    """The point, whether or not the run ended there."""
    fun: float
    """The value there."""


class Oracle:
    """Gives values, gradients and products, counts them, and knows the lowest value."""

    def __init__(
        self,
        fun: Callable[..., Any] | None,  # None if only gradients are needed
        jac: Callable[..., Any] | bool | str | None,  # True if fun gives both; or a scheme
        x0: Vector,  # for its shape and precision
        args: Any = (),  # further ones, of both
        limit: float = inf,  # on the gradients to give
        name: str = "jac",  # what the user calls the gradient
        trial_errors: "TrialErrors | None" = None,  # that only spoil a trial
        hessp: HessianProduct | None = None,  # H p, of x and p
    ) -> None:
        """Take the function apart, without calling it."""
        if fun is None and name == "jac":
            raise TypeError(NO_FUNCTION)
        if fun is not None and not callable(fun):
            raise TypeError(f"fun must be callable, got {type(fun).__name__}")
        if callable(args) or isinstance(args, str):
            raise TypeError(
                f"args must be a tuple, got {args!r}: pass jac=... and method=... by name"
            )
        scheme = jac if isinstance(jac, str) else "3-point" if jac is None or jac is False else ""
        numerical = fun is not None and scheme in differences.SCHEMES
        if not (callable(jac) or numerical or (fun is not None and jac is True)):
            hint = "" if fun is None else ", True (fun gives both), '2-point', '3-point' or 'cs'"
            raise TypeError(
                f"{name} must be callable{hint}, got {jac!r}; "
                f"pass {name}=<function that returns the gradient>"
            )
        if hessp is not None and not callable(hessp):
            raise TypeError(
                f"hessp must be callable, got {hessp!r}; "
                "pass hessp=<function of x and p that returns the Hessian at x times p>"
            )
        more = args if isinstance(args, tuple) else (args,)
        self.fun: Any = (lambda x: fun(x, *more)) if fun is not None and more else fun
        self.jac: Any = (lambda x: jac(x, *more)) if callable(jac) and more else jac
        self.hessp: Any = (lambda x, p: hessp(x, p, *more)) if hessp is not None and more else hessp
        if numerical:
            self.jac = partial(differences.gradient, self._of_difference, scheme)
        self.scheme = scheme if numerical else ""
        self.noise = differences.relative_error(scheme, x0) if numerical else 0.0
        self.spoils = None if trial_errors is None else _spoiling(trial_errors)
        self.name, self.together, self.limit = name, jac is True, limit
        self.shape, self.dtype = x0.shape, x0.dtype
        self.values = self.gradients = self.products = 0
        self.lowest, self.lowest_at = inf, x0  # of all values, and where that was
        self._watched = 0  # the kinds of queries that there were before

    @property
    def best(self) -> Best | None:
        """The lowest value seen, if there was one."""
        return None if self.lowest == inf else Best(self.lowest_at, self.lowest)

    def answer(self, point: Vector, query: Query) -> tuple[float | None, Vector | None]:
        """Give what a query needs, and what comes with it; a gradient is only to be read."""
        needs, value, gradient = query.needs, None, None
        spent = self.gradients + self.products >= self.limit
        if spent and (self.together or needs & GRADIENT):
            raise EndError(Outcome.BUDGET)
        if query.along is not None:
            return None, self._product(point, query.along)
        if self.spoils is not None and needs & TRIAL:
            return self._tried(point, query._replace(needs=needs & ~TRIAL))
        if needs & ~self._watched:
            return self._first(point, query)
        if self.together:
            return self._both(point)
        if needs & VALUE:
            self.values += 1
            value = self._seen(self.fun(point), point)
        if needs & GRADIENT:
            self.gradients += 1
            gradient = self.jac(point)
            if (
                type(gradient) is not np.ndarray
                or gradient.dtype is not self.dtype
                or gradient.shape != self.shape
            ):
                gradient = self._as_gradient(gradient)
        return value, gradient

    def _product(self, x: Vector, p: Vector) -> Vector:
        """Give H p at x; the first time, see that H is symmetric and that x and p stay."""
        if self.products:
            return self._of_hessp(x, p)
        before = zlib.crc32(x.data), zlib.crc32(p.data)
        answer = self._of_hessp(x, p).copy()
        if (zlib.crc32(x.data), zlib.crc32(p.data)) != before:
            raise ValueError("hessp changed its argument x or p in place; work on a copy")
        self._check_symmetry(x, p, answer)
        return answer

    def _of_hessp(self, x: Vector, p: Vector) -> Vector:
        """Give a product as an array like x0."""
        self.products += 1
        answer = np.asarray(self.hessp(x, p))
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
        other = self._of_hessp(x, u)
        ahead, behind = ops.dot(u, answer), ops.dot(p, other)
        scale = ops.norm(u) * ops.norm(answer) + ops.norm(p) * ops.norm(other)
        if abs(ahead - behind) > ops.roundoff(p) ** TUNING.root * scale:
            unit = ops.norm(u) * ops.norm(p)
            raise ValueError(
                "hessp is not symmetric: for two directions of length one u'Hv is "
                f"{ahead / unit:.6g} and v'Hu is {behind / unit:.6g}; it must return the Hessian "
                "at x times p"
            )

    def _tried(self, point: Vector, query: Query) -> tuple[float | None, Vector | None]:
        """Answer; a failure that only spoils the trial is an infinite value."""
        try:
            return self.answer(point, query)
        except EndError:
            raise
        except Exception as error:
            if self.spoils is None or not self.spoils(error):
                raise
            return inf, None

    def _first(self, point: Vector, query: Query) -> tuple[float | None, Vector | None]:
        """Answer, and see that the user's function leaves the point alone."""
        before, self._watched = zlib.crc32(point.data), self._watched | query.needs
        answer = self.answer(point, query)
        if zlib.crc32(point.data) != before:
            who = self.name if self.fun is None else f"fun or {self.name}"
            raise ValueError(f"{who} changed its argument x in place; work on x.copy()")
        return answer

    def _both(self, point: Vector) -> tuple[float, Vector]:
        """Give value and gradient of a function that returns both."""
        self.values += 1
        self.gradients += 1
        answer = self.fun(point)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(
                "fun must return (value, gradient) because jac=True, "
                f"got {type(answer).__name__}; pass jac=<function> if fun returns the value only"
            )
        return self._seen(answer[0], point), self._as_gradient(answer[1])

    def _of_difference(self, x: Any) -> Any:
        """Give a value for a difference; as long as no value is known, it may be the lowest."""
        self.values += 1
        answer = self.fun(x)
        if np.iscomplexobj(x):
            return answer
        return self._seen(answer, np.array(x)) if self.lowest == inf else _as_value(answer)

    def _seen(self, answer: Any, point: Vector) -> float:
        """Give a value as a number; it counts from now on, whatever becomes of the gradient."""
        value = float(answer) if isinstance(answer, float) else _as_value(answer)
        if -inf < value < self.lowest:
            self.lowest, self.lowest_at = value, point
        return value

    def _as_gradient(self, answer: Any) -> Vector:
        """Give a gradient as an array like x0."""
        given, like = _array(answer), "x" if self.fun is None else "x0"
        if given is None or given.shape != self.shape:
            raise ValueError(
                f"{self.name} must return an array of shape {self.shape} like {like}, "
                f"got {_misshapen(answer, given, self.shape)}"
            )
        harm = "the curvature would be measured in noise"
        return as_precise(self.name, given, self.dtype, harm)


def _spoiling(errors: Any) -> Callable[[Exception], Any]:
    """Give a function that says whether an exception only spoils a trial."""
    classes = errors if isinstance(errors, tuple) else (errors,)
    if all(isinstance(each, type) and issubclass(each, Exception) for each in classes):
        return lambda error: isinstance(error, classes)
    if callable(errors) and not isinstance(errors, type):
        return errors
    raise TypeError(
        "trial_errors must be an exception class, a tuple of them or a function of an exception, "
        f"got {errors!r}; pass trial_errors=ArithmeticError, for instance"
    )


def _as_value(answer: Any) -> float:
    """Give a value as a Python number."""
    given = _array(answer)
    if given is None or given.size != 1 or given.dtype.kind not in "fiu":
        shape = "" if given is None or not given.ndim else f" of shape {given.shape}"
        raise TypeError(
            f"fun must return one real number, got {type(answer).__name__}{shape}; "
            "return float(...), or pass jac=True if fun returns (value, gradient)"
        )
    return float(given.item())


def _array(answer: Any) -> Vector | None:
    """Give an answer as an array, None if it is no array at all."""
    try:
        return np.asarray(answer)
    except ValueError:
        return None


def _misshapen(answer: Any, given: Vector | None, wanted: tuple[int, ...]) -> str:
    """Say what came in place of a gradient, and what may be amiss."""
    if answer is None:
        return "None: is its `return` missing?"
    if given is None:
        return "parts of unequal length: if these are value and gradient, return the gradient"
    slips = {
        ": return it as np.atleast_1d(...)": given.ndim == 0 and wanted == (1,),
        ": is that the value, not the gradient?": given.ndim == 0,
        ": return it with .ravel()": given.ndim == 2 and 1 in given.shape,
    }
    return f"shape {given.shape}" + next((slip for slip, fits in slips.items() if fits), "")


def products_of(hess: Callable[..., Any]) -> HessianProduct:
    """Give hess(x, *args) as hessp(x, p, *args): computed once for each point that is searched."""
    last: list[Any] = [None, None]

    def product(x: Vector, p: Vector, *args: Any) -> Any:
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = x.copy(), _as_matrix(hess(x, *args), x.size)
        return last[1] @ p  # a dense or sparse matrix, or a LinearOperator

    return product


def _as_matrix(matrix: Any, n: int) -> Any:
    """Check what hess returned: anything of the right shape that can be multiplied."""
    given = matrix if hasattr(matrix, "shape") else np.asarray(matrix)
    if given.shape != (n, n):
        missing = ": is its `return` missing?" if matrix is None else ""
        raise ValueError(
            f"hess must return a matrix of shape {(n, n)}, got {shown(matrix)}{missing}"
        )
    return given
