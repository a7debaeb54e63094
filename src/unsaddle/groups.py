"""The parameters that a torch optimiser is given: listed, counted and checked."""

import math
from collections.abc import Iterator
from typing import Any

from unsaddle.ops.torch import torch

LARGEST = 1e38  # a precision has to reach this far


def check(groups: list[dict[str, Any]]) -> None:
    """Refuse parameters that no method can handle.

    Args:
        groups: The parameter groups.

    Raises:
        TypeError: If a parameter is not real floating point, or of half precision.
        ValueError: If the parameters are on several devices.
    """
    params = [p for group in groups for p in group["params"]]
    for p in params:
        if not p.is_floating_point():
            hint = "; use torch.view_as_real" if p.is_complex() else ""
            raise TypeError(f"parameters must be real floating point, got {p.dtype}{hint}")
        if torch.finfo(p.dtype).max < LARGEST:
            raise TypeError(
                f"parameters must be float64, float32 or bfloat16, got {p.dtype}, whose range is "
                "too small: keep them in float32, model.float(), and use torch.autocast"
            )
    devices = sorted({str(p.device) for p in params})
    if len(devices) > 1:
        raise ValueError(
            f"parameters must be on one device, got {', '.join(devices)}: "
            "move the model with model.to(device) first"
        )


def listed(params: Any) -> list[Any]:
    """Give parameters or groups as a list.

    Args:
        params: As every torch optimiser takes them.

    Returns:
        The list.

    Raises:
        TypeError: If it is a module or a single tensor.
    """
    if isinstance(params, torch.nn.Module):
        name = type(params).__name__
        raise TypeError(f"params must be parameters, got the module {name}: pass net.parameters()")
    if isinstance(params, torch.Tensor):
        raise TypeError("params must be a list of parameters, got a single tensor: pass [tensor]")
    return [*params]


def counted(params: Any) -> tuple[list[Any], int]:
    """Give the parameters as groups or tensors, and how many numbers may move.

    Args:
        params: As every torch optimiser takes them.

    Returns:
        The list and the number, at least 1.

    Raises:
        ValueError: If a group has a setting of its own.
    """
    groups = listed(params)
    for group in groups:
        extra = {*group} - {"params", "lr"} if isinstance(group, dict) else set()
        if extra:
            name = sorted(extra)[0]
            raise ValueError(
                f"{name} was given for one group, but it is a setting of the whole method: "
                f"pass {name}= as an argument of the optimiser"
            )
    tensors = [p for group in groups for p in _tensors(group)]
    return groups, max(1, sum(p.numel() for p in tensors if p.requires_grad))


def _tensors(group: Any) -> list[torch.Tensor]:
    """Give the tensors of a group, or of a bare (named) parameter; does not use up a generator."""
    if isinstance(group, dict):
        given = group["params"]
        group["params"] = [given] if isinstance(given, torch.Tensor) else [*given]
        return [p for each in group["params"] for p in _tensors(each)]
    return [group[1] if isinstance(group, tuple) else group]


def dense(gradient: list[torch.Tensor]) -> list[torch.Tensor]:
    """Refuse a gradient with sparse parts.

    Args:
        gradient: A part per parameter.

    Returns:
        The gradient.

    Raises:
        TypeError: If a part is sparse.
    """
    if any(part.is_sparse for part in gradient):
        raise TypeError(
            "sparse gradients are not supported: pass sparse=False to torch.nn.Embedding"
        )
    return gradient


def infinite(value: float, gradient: list[torch.Tensor], square: float) -> str:
    """Say what is not finite, if anything is not.

    Args:
        value: The loss.
        gradient: A part per parameter.
        square: Its squared norm.

    Returns:
        What is wrong, or nothing.
    """
    if not math.isfinite(value):
        return f"the loss is {value}"
    if not square < math.inf and not all(bool(torch.isfinite(g).all()) for g in gradient):
        return "a gradient is NaN or infinite"
    return ""


def leaves(name: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """Name every leaf of nested named tuples by its path.

    Args:
        name: Of the tree itself.
        tree: The tuples.

    Yields:
        Name and leaf.
    """
    if hasattr(tree, "_fields"):
        for field in tree._fields:
            yield from leaves(f"{name}.{field}".lstrip("."), getattr(tree, field))
    else:
        yield name, tree
