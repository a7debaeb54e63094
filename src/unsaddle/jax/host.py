"""Runs outside of any transformation: the host drives a session, and JAX compiles the function.

A traced run is hundreds of small kernels, which take XLA seconds to compile whatever the function
(``benchmarks/compile.py``). Here vectors are NumPy arrays, and nothing is compiled but the user's
function, with its gradient and alone.
"""

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from unsaddle.core.arrays import CachingArrayOps, Vector
from unsaddle.core.interrupts import hold_interrupts_back
from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.ops import Operations
from unsaddle.core.outcome import Outcome
from unsaddle.core.phases import GRADIENT, VALUE
from unsaddle.core.session import NotFiniteError, Query, Session
from unsaddle.jax import inputs
from unsaddle.jax.inputs import Tree
from unsaddle.jax.ops import ops as traced_ops

T = TypeVar("T")


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    most: int = 10**5  # variables, 10^4 to 10^6: with so many a gradient takes the host less than
    # a traced run (2.6 ms of a processor against 6.7); with ten times as many, twice its time


TUNING = Tuning()
PRECISIONS = {np.dtype(np.float32), np.dtype(np.float64)}  # that BLAS knows


def suits(x: Tree, *given: Any) -> bool:
    """Say whether a run is the host's: what it is given is known, small, and of one processor."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((jax.lax.iota(int, 1), x, given))):
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
    """The operations on NumPy arrays for one run, with the noise that a traced run draws."""

    def noise(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector of like's shape and precision, a function of (seed, episode)."""
        return np.array(_noise(jax.ShapeDtypeStruct(like.shape, like.dtype), seed, episode))

    def uniform(self, like: Vector, seed: int, episode: int) -> float:
        """Scalar in (0, 1), a function of (seed, episode), independent of the noise."""
        return float(_uniform(jax.ShapeDtypeStruct((), like.dtype), seed, episode))


_noise = jax.jit(traced_ops.noise, static_argnums=0)
_uniform = jax.jit(traced_ops.uniform, static_argnums=0)


class Oracle(NamedTuple):
    """What answers the queries, compiled: functions of a vector on the device."""

    answer: Callable[[Any], tuple[Any, Any]]  # the value and the gradient
    product: Callable[[Any, Any], Any]  # the Hessian there, times a vector
    value: Callable[[Any], Any]


def of_function(fun: Callable[..., Any], x: Tree, args: Any) -> Oracle:
    """Give the oracle of a function; one that was seen before is not traced again."""
    return Oracle(
        partial(_value_and_gradient, fun, x, args),
        partial(_product, fun, x, args),
        partial(_value, fun, x, args),
    )


def of_gradient(grad: Callable[..., Tree], x: Tree, args: Any) -> Oracle:
    """Give the oracle of a function whose gradient alone is known, and no value asked for."""
    gradient = partial(_gradient, grad, x, args)
    return Oracle(
        lambda point: (np.nan, gradient(point)), partial(_slope_product, grad, x, args), gradient
    )


def _objective(fun: Callable[..., Any], like: Tree, args: Any) -> Callable[[Any], Any]:
    unpack = inputs.packed(like, packs=True)[2]
    return lambda x: inputs.number(fun(unpack(x), *args), x.dtype)


def _slope(grad: Callable[..., Tree], like: Tree, args: Any) -> Callable[[Any], Any]:
    _, pack, unpack = inputs.packed(like, packs=True)
    return lambda x: pack(inputs.alike(grad(unpack(x), *args), like))


of_static = partial(jax.jit, static_argnums=0)


@of_static
def _value(fun: Callable[..., Any], like: Tree, args: Any, x: Any) -> Any:
    return _objective(fun, like, args)(x)


@of_static
def _value_and_gradient(fun: Callable[..., Any], like: Tree, args: Any, x: Any) -> Any:
    return jax.value_and_grad(_objective(fun, like, args))(x)


@of_static
def _product(fun: Callable[..., Any], like: Tree, args: Any, x: Any, along: Any) -> Any:
    return jax.jvp(jax.grad(_objective(fun, like, args)), (x,), (along,))[1]


@of_static
def _gradient(grad: Callable[..., Tree], like: Tree, args: Any, x: Any) -> Any:
    return _slope(grad, like, args)(x)


@of_static
def _slope_product(grad: Callable[..., Tree], like: Tree, args: Any, x: Any, along: Any) -> Any:
    return jax.jvp(_slope(grad, like, args), (x,), (along,))[1]


class Run(Session[Vector]):
    """One run: a session that answers its own queries, within a budget, and counts them."""

    def __init__(
        self, solver: Solver, parameters: Parameters, state: State, oracle: Oracle, limit: Any
    ) -> None:
        """Prepare to run."""
        self.known = HostOps(state.x)  # the operations, which know the last gradient
        super().__init__(self.known, solver, parameters, state)
        self.oracle, self.limit = oracle, int(limit)
        self.values = self.gradients = self.products = 0
        self.began = self.began_products = 0  # how many there were when the last search began
        self.interruptible = self.interrupted = False

    def go(self) -> Outcome | None:
        """Run until a kernel ends it, which is None, or something else does, which is told."""
        restore = hold_interrupts_back(self)
        try:
            try:
                return self._answer_all()
            finally:
                restore()
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
        point = query.point.copy()
        if query.along is not None:
            product = np.asarray(self.oracle.product(point, query.along.copy()))
            self.products += 1
            return None, product
        value, gradient = self.oracle.answer(point)
        gradient = np.asarray(gradient)
        self.known.lend(gradient)
        self.gradients += 1
        asked = query.needs & VALUE > 0
        self.values += asked
        return (float(value) if asked else None), gradient

    def value_at(self, point: Vector) -> float:
        """Give the value at a point."""
        return np.asarray(self.oracle.value(point.copy())).item()


def first_state(
    solver: Solver, parameters: Parameters, x: Vector, seed: Any, phase: int | None = None
) -> State:
    """Give the first state, which has a copy of x."""
    own = x.copy()
    state = solver.start(HostOps(own), parameters, own, int(seed))
    return state if phase is None else state._replace(phase=phase)


def packed(x: Tree) -> Vector:
    """Give a tree as one vector of NumPy."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


def unpacked(vector: Vector, like: Tree) -> Tree:
    """Give a vector in the form of a tree."""
    leaves, form = jax.tree.flatten(like)
    parts = np.split(vector, np.cumsum([leaf.size for leaf in leaves])[:-1])
    both = zip(parts, leaves, strict=True)
    return form.unflatten([jnp.array(part.reshape(leaf.shape)) for part, leaf in both])


def arrays(tree: Any, real: Any) -> Any:
    """Give the numbers of a tree as arrays of JAX, with floats in a precision."""
    as_array = lambda u: np.asarray(u, real if isinstance(u, float) else None)  # noqa: E731
    return jax.device_put(jax.tree.map(as_array, tree))


_conforms: Operations[Vector] = HostOps(np.zeros(1))  # pyright reports an operation that is missing
