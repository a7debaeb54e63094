"""What a caller of the JAX front ends gives: trees, functions, seeds and budgets, checked."""

import contextlib
import warnings
from collections.abc import Callable, Mapping
from numbers import Number
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree

from unsaddle.methods import checks

Tree = Any
LARGEST = 2**31 - 1  # number that can be counted
BATCHES = ("batch", "first_batch", "search_batch", "check_batch")


def tracing(*given: Any) -> bool:
    """Say whether JAX traces, rather than computes; asking transfers nothing, as zeros would."""
    leaves = _leaves((jax.lax.iota(int, 1), given), "args")
    return any(isinstance(leaf, Tracer) for leaf in leaves)


def tree(x: Tree, name: str, exactly: bool = False) -> Tree:
    """Check a start point and give its leaves as arrays of floats."""
    for leaf in _leaves(x, name):
        kind = _kind(leaf, name)
        if jnp.issubdtype(kind, jnp.complexfloating):
            raise TypeError(f"{name} must be real, got {kind}; stack real and imaginary parts")
        if kind == jnp.float16:
            raise TypeError(
                f"{name} must be float64, float32 or bfloat16, got float16, whose range is too "
                f"small; pass jax.tree.map(jnp.float32, {name})"
            )
        if exactly and not jnp.issubdtype(kind, jnp.floating):
            raise TypeError(
                f"{name} must be floating point, got {kind}; pass jax.tree.map(jnp.float32, {name})"
            )
    floats = jax.tree.map(lambda u: _as_floats(u, name), x)
    if not sum(leaf.size for leaf in jax.tree.leaves(floats)):
        raise ValueError(f"{name} is empty: give at least one array with at least one number")
    return floats


def _leaves(x: Tree, name: str) -> list[Any]:
    """Give the leaves of a tree, which ends."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # what is no leaf is named below
            return jax.tree.leaves(x)
    except (RecursionError, SystemError):  # the second is how C++ says the first
        raise TypeError(f"{name} must be a tree of arrays, got one that contains itself") from None


def _kind(leaf: Any, name: str) -> Any:
    """Give the precision of a leaf, which is made of numbers."""
    with contextlib.suppress(TypeError, OverflowError):
        known = hasattr(leaf, "dtype") or isinstance(leaf, Number)
        kind = jnp.result_type(leaf) if known else None
        if kind is not None and _counts(kind):
            return kind
    raise TypeError(f"{name} must be a tree of numbers, got {checks.shown(leaf)}")


def _counts(kind: Any) -> bool:
    """Say whether a precision is one of numbers, or of truth values."""
    return any(jnp.issubdtype(kind, each) for each in (jnp.number, jnp.bool_))


def _as_floats(leaf: Any, name: str) -> jax.Array:
    """Give a leaf as an array of floats."""
    kind = jnp.result_type(leaf)
    try:
        return jnp.asarray(
            leaf, kind if jnp.issubdtype(kind, jnp.floating) else jnp.result_type(float)
        )
    except (TypeError, OverflowError):
        raise TypeError(f"{name} must be a tree of numbers, got {checks.shown(leaf)}") from None


def on_one_device() -> bool:
    """Say whether there is one device only: else noise is drawn alike, spread over them or not."""
    return jax.device_count() == 1


def packed(x: Tree, packs: bool) -> tuple[Tree, Callable[[Tree], Tree], Callable[[Tree], Tree]]:
    """Give a tree as one vector, which compiles faster than many, and the ways to and fro."""
    if not packs or len({leaf.dtype for leaf in jax.tree.leaves(x)}) > 1:
        return x, lambda tree: tree, lambda tree: tree
    vector, unpack = ravel_pytree(x)
    return vector, lambda tree: ravel_pytree(tree)[0], unpack


def most(name: str, limit: Any) -> Any:
    """Give a budget, the largest whole number if there is none."""
    if isinstance(limit, jax.Array):
        return _counted(name, limit)
    return min(checks.whole(name, limit, none=True), LARGEST)


def whole(seed: Any) -> Any:
    """Check a seed, traced or not."""
    if isinstance(seed, jax.Array):
        return _counted("seed", seed)
    hint = "; pass seed=0" if hasattr(seed, "shape") else ""
    return checks.whole("seed", seed, most=LARGEST, hint=hint)


def several_seeds(given: Any, count: int) -> jax.Array:
    """Check the seeds of several runs: one for each, or as many as there are to be from one."""
    if given is None:
        return jnp.arange(count)
    found = given if isinstance(given, jax.Array) else _integers(given)
    if found is None or not jnp.issubdtype(found.dtype, jnp.integer):
        shown = checks.shown(given)
        raise ValueError(f"seeds must be whole numbers below 2**31, got {shown}: pass seeds=[0, 1]")
    if found.ndim != 1 or not found.size or count not in (1, found.size):
        raise ValueError(
            f"seeds must be one per start, got shape {found.shape} for {count} starts; "
            f"pass seeds=jnp.arange({count})"
        )
    return jnp.asarray(found)


def _integers(given: Any) -> Any:
    """Give seeds as an array; None if they are none."""
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):
        return None
    fits = found.dtype.kind in "iu" and found.size and found.min() >= 0 and found.max() <= LARGEST
    return found if fits else None


def _counted(name: str, given: jax.Array) -> jax.Array:
    """Check a whole number that is an array of JAX, whose value may not be known yet."""
    if given.shape or not jnp.issubdtype(given.dtype, jnp.integer):
        raise TypeError(
            f"{name} must be one whole number, not an array or a key, got {given.dtype} of shape "
            f"{given.shape}: pass {name}=0, for instance"
        )
    return given


def function(fun: Any, name: str = "fun") -> Callable[..., Any]:
    """Check a function."""
    checks.function(name, fun, "; the function comes first, then the point")
    try:
        hash(fun)
    except TypeError:
        raise TypeError(
            f"{name} must be hashable, as it is compiled once: pass {name}.__call__, or a function "
            "with the data in args"
        ) from None
    return fun


def fixed(**given: Any) -> dict[str, Any]:
    """Give constants as Python numbers, as they are compiled in."""
    for name, each in given.items():
        if isinstance(each, Tracer):
            raise TypeError(f"{name} is compiled in and cannot be traced: pass a Python number")
    return {name: float(it) if _is_number(it) else it for name, it in given.items()}


def _is_number(it: Any) -> bool:
    """Say whether this is one real number as an array of JAX."""
    kinds = (jnp.floating, jnp.integer)
    return (
        isinstance(it, jax.Array)
        and not it.shape
        and any(jnp.issubdtype(it.dtype, kind) for kind in kinds)
    )


def several(args: Any) -> tuple[Any, ...]:
    """Give further arguments as a tuple, also one that comes alone, as SciPy does."""
    return args if isinstance(args, tuple) else (args,)


def number(found: Any, dtype: Any) -> Any:
    """Check what a function gave, and give it in a precision."""
    shape = getattr(found, "shape", () if isinstance(found, Number) else None)
    if shape != ():
        got = type(found).__name__ if shape is None else f"shape {shape}"
        raise TypeError(f"fun must return one number, got {got}; return a scalar, and no more")
    kind = getattr(found, "dtype", jnp.float32)
    if not jnp.issubdtype(kind, jnp.floating):
        raise TypeError(
            f"fun must return a floating-point number, got {kind}, which has no gradient; "
            "return a loss that changes smoothly, such as a mean of squares"
        )
    return jnp.asarray(found, dtype)


def alike(found: Any, x: Tree) -> Tree:
    """Check what a gradient function gave, and give it in the precisions of x."""
    shapes = [jax.tree.map(jnp.shape, each) for each in (found, x)]
    if shapes[0] != shapes[1]:
        raise TypeError(
            f"grad must return a gradient of the shapes of x, {shapes[1]}, got {shapes[0]}; "
            "pass jax.grad(fun)"
        )
    return jax.tree.map(lambda u, like: jnp.asarray(u, like.dtype), found, x)


def rows_of(data: Tree, given: Mapping[str, Any]) -> int:
    """Count the rows of data, and check that no batch is larger."""
    shapes = [getattr(leaf, "shape", ()) for leaf in _leaves(data, "samples")]
    lengths = [shape[0] if shape else 0 for shape in shapes]
    if not lengths or not min(lengths) or len(set(lengths)) > 1:
        raise ValueError(
            f"samples must be arrays with the same number of rows, at least 1, got {lengths}; "
            "pass (inputs, targets), or a function samples(key, size)"
        )
    rows = lengths[0]
    for name in BATCHES:
        if checks.number(given.get(name, 0)) > rows:
            raise ValueError(
                f"a {name} of {checks.shown(given[name])} was asked for, but the data has {rows} "
                f"rows; pass a {name} of at most {rows}"
            )
    return rows


def switch(name: str, value: Any) -> bool:
    """Check what is on or off: JAX differentiates by itself, and needs no function for it."""
    if callable(value):
        raise TypeError(
            f"{name} must be True or False, got {type(value).__name__}: JAX makes the products "
            f"itself, pass {name}=True"
        )
    return checks.yes_or_no(name, value)
