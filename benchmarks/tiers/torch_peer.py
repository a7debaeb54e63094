"""The counted oracle as a function that torch can differentiate twice, for pytorch-minimize."""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch.autograd import Function

from .oracle import Array, Oracle


class Value(Function):
    """f(x); its derivative is ``Slope``."""

    @staticmethod
    def forward(ctx: Any, x: Any, oracle: Oracle) -> Any:
        """Ask for a value."""
        ctx.save_for_backward(x)
        ctx.oracle = oracle
        return x.new_tensor(oracle.value(_array(x)))

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        """Ask for a gradient."""
        return weights[0] * Slope.apply(*ctx.saved_tensors, ctx.oracle), None


class Slope(Function):
    """g(x); its derivative is H(x) v."""

    @staticmethod
    def forward(ctx: Any, x: Any, oracle: Oracle) -> Any:
        """Ask for a gradient."""
        ctx.save_for_backward(x)
        ctx.oracle = oracle
        return x.new_tensor(oracle.gradient(_array(x)))

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        """Ask for a difference of gradients."""
        (x,) = ctx.saved_tensors
        return x.new_tensor(ctx.oracle.curve(_array(x), _array(weights[0]))), None


def torchmin(oracle: Oracle, x: Array, method: str, options: dict[str, Any], curved: bool) -> Array:
    """Run one of pytorch-minimize's methods until the oracle stops it."""
    minimize = import_module("torchmin").minimize
    start = torch.tensor(x, dtype=torch.float64)
    end = minimize(lambda y: Value.apply(y, oracle), start, method, options=options, max_iter=10**6)
    return _array(end.x)


def _array(x: Any) -> Array:
    return np.array(x.detach().numpy(), float)
