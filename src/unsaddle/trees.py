"""What a caller of the JAX front ends gives: trees, functions, seeds and budgets, checked."""

from collections.abc import Callable
from numbers import Number
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from unsaddle import oracle

Tree = Any


def tree(x: Tree, name: str, exactly: bool = False) -> Tree:
    """Check a start point and give its leaves as arrays of floats.

    Args:
        x: What came.
        name: What it is called.
        exactly: Whether whole numbers are refused, as they could not be changed in place.

    Returns:
        The tree.

    Raises:
        ValueError: If it is empty.
        TypeError: If a leaf is no number, complex, of half precision, or a whole number that is
            refused.
    """
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


def most(max_gradients: Any) -> Any:
    """Give a budget, the largest whole number if there is none.

    Args:
        max_gradients: What came; may be traced.

    Returns:
        The budget.

    Raises:
        ValueError: If it is not one whole number.
    """
    largest = jnp.iinfo(jnp.int32).max
    if max_gradients is None:
        return largest
    if isinstance(max_gradients, jax.Array):
        if jnp.shape(max_gradients):
            raise ValueError("max_gradients must be one number, for all runs; got an array")
        return max_gradients
    return min(int(oracle.whole("max_gradients", max_gradients, " or None")), largest)


def whole(seed: Any) -> Any:
    """Check a seed.

    Args:
        seed: What came; may be traced.

    Returns:
        The seed.

    Raises:
        TypeError: If it is a key, or no whole number.
    """
    if jnp.shape(seed) or not jnp.issubdtype(jnp.result_type(seed), jnp.integer):
        raise TypeError("seed must be a whole number, not an array or a key: pass seed=0")
    if isinstance(seed, int) and abs(seed) > jnp.iinfo(jnp.int32).max:
        raise TypeError(f"seed must be below 2**31, got {seed}")
    return seed


def function(fun: Any, name: str = "fun") -> Callable[..., Any]:
    """Check a function.

    Args:
        fun: What came.
        name: What it is called.

    Returns:
        The function.

    Raises:
        TypeError: If it cannot be called.
    """
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


def fixed(name: str, given: Any) -> Any:
    """Give a constant as a Python number, as it is compiled in.

    Args:
        name: Of the argument.
        given: What came.

    Returns:
        The number, or what else came.

    Raises:
        TypeError: If it is traced.
    """
    if isinstance(given, Tracer):
        raise TypeError(f"{name} is compiled in and cannot be traced: pass a Python number")
    return float(given) if isinstance(given, jax.Array) and not jnp.shape(given) else given


def several(args: Any) -> tuple[Any, ...]:
    """Give further arguments as a tuple, also one that comes alone, as SciPy does."""
    return args if isinstance(args, tuple) else (args,)


def number(found: Any, dtype: Any) -> Any:
    """Check what a function gave, and give it in a precision.

    Args:
        found: What it gave.
        dtype: The precision.

    Returns:
        The number.

    Raises:
        TypeError: If it is not one number.
    """
    shape = getattr(found, "shape", () if isinstance(found, Number) else None)
    if shape != ():
        got = type(found).__name__ if shape is None else f"shape {shape}"
        raise TypeError(f"fun must return one number, got {got}; return a scalar, and no more")
    return jnp.asarray(found, dtype)


def alike(found: Any, x: Tree) -> Tree:
    """Check what a gradient function gave, and give it in the precisions of x.

    Args:
        found: What it gave.
        x: Where.

    Returns:
        The gradient.

    Raises:
        TypeError: If it is not of the shapes of x.
    """
    shapes = [jax.tree.map(jnp.shape, each) for each in (found, x)]
    if shapes[0] != shapes[1]:
        raise TypeError(
            f"grad must return a gradient of the shapes of x, {shapes[1]}, got {shapes[0]}; "
            "pass jax.grad(fun)"
        )
    return jax.tree.map(lambda u, like: jnp.asarray(u, like.dtype), found, x)
