"""Runs outside of any transformation: the host drives a session, and JAX compiles the function.

A traced run is hundreds of small kernels, which take XLA seconds to compile whatever the function
(``benchmarks/compile.py``). Here vectors are NumPy arrays, and nothing is compiled but the user's
function, with its gradient and alone.
"""

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from unsaddle.core.arrays import CachingArrayOps, Vector
from unsaddle.core.kernel import Parameters, Solver
from unsaddle.core.ops import Operations
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import GRADIENT, VALUE
from unsaddle.core.session import InterruptsHeldBack, NotFiniteError, Query, Session
from unsaddle.jax import inputs
from unsaddle.jax.inputs import Tree
from unsaddle.jax.loop import unasked
from unsaddle.jax.ops import ops as traced_ops

T = TypeVar("T")


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    most: int = 10**5  # variables, 10^4 to 10^6: a run of a few hundred gradients then takes less
    # time than compiling a traced one; beyond, XLA's threads make up for that


TUNING = Tuning()
PRECISIONS = {np.dtype(np.float32), np.dtype(np.float64)}  # that BLAS knows
EAGER = "jax_disable_jit"  # the name of a flag that JAX's types leave out


def suits(x: Tree, *given: Any) -> bool:
    """Say whether the host is to run this: nothing is traced, all is small, on one processor."""
    if inputs.tracing(x, given):
        return False
    if getattr(jax.config, EAGER):  # fun would be given NumPy's arrays
        return False
    leaves, devices = jax.tree.leaves(x), jax.devices()
    kinds = {leaf.dtype for leaf in leaves}
    return (
        [device.platform for device in devices] == ["cpu"]
        and all(leaf.devices() == {*devices} for leaf in leaves)
        and len(kinds) == 1
        and kinds <= PRECISIONS
        and traced_ops.size(x) <= TUNING.most
    )


def either(
    on_host: Callable[..., T], traced: Callable[..., T], settings: tuple[Any, ...], given: Any
) -> T:
    """Run on the host if it suits, else traced."""
    if suits(*given):
        unseen = suppress(jax.errors.TracerArrayConversionError)  # fun closes over a tracer
        with unseen, jax.transfer_guard("allow"):  # what is copied is meant to be
            return on_host(*settings, *given)
    return traced(*settings, *given)


class HostOps(CachingArrayOps):
    """The operations on NumPy arrays for one run, with the random numbers of a traced run."""

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector of like's shape and precision, a function of (seed, episode)."""
        return np.array(_normal(jax.ShapeDtypeStruct(like.shape, like.dtype), seed, episode))

    def uniform(self, like: Vector, seed: int, episode: int) -> float:
        """Scalar in (0, 1), a function of (seed, episode), independent of `normal`."""
        return float(_uniform(jax.ShapeDtypeStruct((), like.dtype), seed, episode))


_normal = jax.jit(traced_ops.normal, static_argnums=0)
_uniform = jax.jit(traced_ops.uniform, static_argnums=0)


class Oracle(NamedTuple):
    """What answers the queries, compiled: functions of a tree.

    The tree is made of the vector here, not by JAX: dozens of slices would take XLA longer to
    compile than the function (5.3 s in place of 0.8 for a network of 24 layers).
    """

    answer: Callable[[Tree], tuple[Any, Tree]]  # the value and the gradient
    product: Callable[[Tree, Tree], Tree]  # the Hessian there, times a vector
    value: Callable[[Tree], Any]


def of_function(fun: Callable[..., Any], args: Any) -> Oracle:
    """Give the oracle of a function; one that was seen before is not traced again."""
    args = _on_device(args)
    return Oracle(
        partial(_value_and_gradient, fun, args),
        partial(_product, fun, args),
        partial(_value, fun, args),
    )


def of_gradient(grad: Callable[..., Tree], args: Any) -> Oracle:
    """Give the oracle of a function whose gradient alone is known, and no value asked for."""
    args = _on_device(args)
    gradient = partial(_gradient, grad, args)
    return Oracle(lambda x: (np.nan, gradient(x)), partial(_slope_product, grad, args), unasked)


def _on_device(args: Any) -> Any:
    """Give NumPy's arrays to JAX once, and not at every query."""
    return jax.tree.map(lambda u: jax.device_put(u) if isinstance(u, np.ndarray) else u, args)


def _number(seed: Any) -> Any:
    """Give a seed as a number, of the precision that it has if it is an array."""
    return seed if isinstance(seed, int) else np.asarray(seed)[()]


def _objective(fun: Callable[..., Any], args: Any) -> Callable[[Tree], Any]:
    return lambda x: inputs.number(fun(x, *args), jax.tree.leaves(x)[0].dtype)


def _slope(grad: Callable[..., Tree], args: Any) -> Callable[[Tree], Tree]:
    return lambda x: inputs.alike(grad(x, *args), x)


of_static = partial(jax.jit, static_argnums=0)


@of_static
def _value(fun: Callable[..., Any], args: Any, x: Tree) -> Any:
    return _objective(fun, args)(x)


@of_static
def _value_and_gradient(fun: Callable[..., Any], args: Any, x: Tree) -> Any:
    return jax.value_and_grad(_objective(fun, args))(x)


@of_static
def _product(fun: Callable[..., Any], args: Any, x: Tree, along: Tree) -> Tree:
    return jax.jvp(jax.grad(_objective(fun, args)), (x,), (along,))[1]


@of_static
def _gradient(grad: Callable[..., Tree], args: Any, x: Tree) -> Tree:
    return _slope(grad, args)(x)


@of_static
def _slope_product(grad: Callable[..., Tree], args: Any, x: Tree, along: Tree) -> Tree:
    return jax.jvp(_slope(grad, args), (x,), (along,))[1]


class Run(Session[Vector]):
    """One run: a session that answers its own queries, within a budget, and counts them."""

    def __init__(
        self, solver: Solver, parameters: Parameters, x: Tree, seed: Any, oracle: Oracle, limit: Any
    ) -> None:
        """Prepare to run."""
        self.start, self.like = packed(x), x
        own = self.start.copy()
        self.known = HostOps(own)  # the operations, which know the last gradient
        state = solver.start(self.known, parameters, own, _number(seed))
        super().__init__(self.known, solver, parameters, state)
        self.oracle, self.limit = oracle, int(limit)
        self.values = self.gradients = self.products = 0
        self.began = self.began_products = 0  # how many there were when the last search began
        self.interruptible = self.interrupted = False

    def go(self) -> Outcome | None:
        """Run to the end: None if a kernel has come to its own, else what has ended the run."""
        try:
            with InterruptsHeldBack(self):
                return self._answer_all()
        except NotFiniteError:
            return Outcome.NOT_FINITE
        except KeyboardInterrupt:
            if not self.values + self.gradients:
                raise
            return Outcome.INTERRUPTED

    def _answer_all(self) -> Outcome | None:
        while (query := self.ask()) is not None:
            if query.searches:
                self.began, self.began_products = self.gradients, self.products
            cost = query.needs & GRADIENT > 0
            if self.gradients + self.products + cost > self.limit:
                return Outcome.BUDGET
            self.interruptible = True
            if self.interrupted:
                signal.raise_signal(signal.SIGINT)
            answer = self._answer(query)
            self.interruptible = False
            self.tell(*answer)
        return None

    def _answer(self, query: Query) -> tuple[float | None, Vector | None]:
        """Ask JAX, which has a copy of the point: what it gives back may share its memory."""
        if not query.needs & GRADIENT:
            value = self.value_at(query.point)
            self.values += 1
            return value, None
        point = unpacked(query.point.copy(), self.like)
        if query.along is not None:
            product = packed(self.oracle.product(point, unpacked(query.along.copy(), self.like)))
            self.products += 1
            return None, product
        value, gradient = self.oracle.answer(point)
        gradient = packed(gradient)
        self.known.lend(gradient)
        self.gradients += 1
        asked = query.needs & VALUE > 0
        self.values += asked
        return (np.asarray(value).item() if asked else None), gradient

    def value_at(self, point: Vector) -> float:
        """Give the value at a point."""
        return np.asarray(self.oracle.value(unpacked(point.copy(), self.like))).item()


def packed(x: Tree) -> Vector:
    """Give a tree as one vector of NumPy."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


def unpacked(vector: Vector, like: Tree) -> Tree:
    """Give a vector in the form of a tree, whose leaves are its parts."""
    leaves, form = jax.tree.flatten(like)
    ends = [*accumulate(leaf.size for leaf in leaves)]
    parts = (vector[end - leaf.size : end] for end, leaf in zip(ends, leaves, strict=True))
    return form.unflatten([u.reshape(leaf.shape) for u, leaf in zip(parts, leaves, strict=True)])


def arrays(tree: Any, real: Any) -> Any:
    """Give the numbers of a tree as arrays of JAX, with floats in a precision."""
    as_array = lambda u: np.asarray(u, real if isinstance(u, float) else None)  # noqa: E731
    return jax.device_put(jax.tree.map(as_array, tree), may_alias=False)


_conforms: Operations[Vector] = HostOps(np.zeros(1))  # pyright reports an operation that is missing
