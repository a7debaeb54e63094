"""What a caller of the JAX front ends gives: trees, functions, seeds and budgets, checked."""

from collections.abc import Callable, Mapping
from numbers import Number, Real
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.flatten_util import ravel_pytree

Tree = Any
LARGEST = 2**31 - 1  # number that can be counted
BATCHES = ("batch", "first_batch", "search_batch", "check_batch")


def tree(x: Tree, name: str, exactly: bool = False) -> Tree:
    """Check a start point and give its leaves as arrays of floats."""
    leaves = jax.tree.leaves(x)
    if not leaves:
        raise ValueError(f"{name} is empty: give at least one array")
    for leaf in leaves:
        if not hasattr(leaf, "dtype") and not isinstance(leaf, Number):
            raise TypeError(f"{name} must be a tree of numbers, got {leaf!r}")
        kind = jnp.result_type(leaf)
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
    return jax.tree.map(
        lambda u: jnp.asarray(u, jnp.result_type(u) if _floats(u) else jnp.result_type(float)), x
    )


def _floats(leaf: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.floating)


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
    if limit is None:
        return LARGEST
    if isinstance(limit, jax.Array):
        if jnp.shape(limit):
            raise ValueError(f"{name} must be one number, for all runs; got an array")
        return limit
    fits = isinstance(limit, Real) and not isinstance(limit, bool)
    if not fits or float(limit) < 0 or not float(limit).is_integer():
        raise ValueError(f"{name} must be a whole number >= 0 or None, got {limit!r}")
    return int(min(float(limit), LARGEST))


def whole(seed: Any) -> Any:
    """Check a seed."""
    if jnp.shape(seed) or not jnp.issubdtype(jnp.result_type(seed), jnp.integer):
        raise TypeError("seed must be a whole number, not an array or a key: pass seed=0")
    if isinstance(seed, int) and abs(seed) > jnp.iinfo(jnp.int32).max:
        raise TypeError(f"seed must be below 2**31, got {seed}")
    return seed


def function(fun: Any, name: str = "fun") -> Callable[..., Any]:
    """Check a function."""
    if not callable(fun):
        raise TypeError(
            f"{name} must be callable, got {type(fun).__name__}; the function comes first, "
            "then the point"
        )
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
    single = {name: isinstance(it, jax.Array) and not it.shape for name, it in given.items()}
    return {name: float(it) if single[name] else it for name, it in given.items()}


def several(args: Any) -> tuple[Any, ...]:
    """Give further arguments as a tuple, also one that comes alone, as SciPy does."""
    return args if isinstance(args, tuple) else (args,)


def number(found: Any, dtype: Any) -> Any:
    """Check what a function gave, and give it in a precision."""
    shape = getattr(found, "shape", () if isinstance(found, Number) else None)
    if shape != ():
        got = type(found).__name__ if shape is None else f"shape {shape}"
        raise TypeError(f"fun must return one number, got {got}; return a scalar, and no more")
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
    lengths = [len(leaf) if jnp.ndim(leaf) else 0 for leaf in jax.tree.leaves(data)]
    if not lengths or not min(lengths) or len(set(lengths)) > 1:
        raise ValueError(
            f"samples must be arrays with the same number of rows, at least 1, got {lengths}; "
            "pass (inputs, targets), or a function samples(key, size)"
        )
    rows, largest = lengths[0], max((given.get(name, 0) for name in BATCHES), default=0)
    if largest > rows:
        raise ValueError(
            f"a batch of {largest} was asked for, but the data has {rows} rows; "
            f"pass a batch of at most {rows}"
        )
    return rows


def switch(name: str, value: Any) -> bool:
    """Check what is on or off: JAX differentiates by itself, and needs no function for it."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{name} must be True or False, got {type(value).__name__}: JAX makes the products "
            f"itself, pass {name}=True"
        )
    return value
