"""What a caller of the torch front ends gives: parameters, closures and numbers, checked."""

from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

from unsaddle.torch.ops import Vector, ops, torch

LARGEST = 1e38  # a precision has to reach this far


def check_parameters(groups: list[dict[str, Any]]) -> None:
    """Refuse parameters that no method can handle."""
    params = [p for group in groups for p in group["params"]]
    for p in params:
        if hasattr(p, "device_mesh"):
            raise TypeError(
                "parameters must be whole on every rank, got a DTensor, as FSDP and tensor "
                "parallelism make them: keep them whole with DistributedDataParallel"
            )
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
    """Give parameters or groups as a list."""
    if isinstance(params, torch.nn.Module):
        name = type(params).__name__
        raise TypeError(f"params must be parameters, got the module {name}: pass net.parameters()")
    if isinstance(params, torch.Tensor):
        raise TypeError("params must be a list of parameters, got a single tensor: pass [tensor]")
    return [*params]


def counted(params: Any) -> tuple[list[Any], int]:
    """Give the parameters as groups or tensors, and how many numbers may move."""
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


def check_closure(closure: Any, instead: str) -> None:
    """Refuse a closure that cannot be called."""
    if not callable(closure):
        raise TypeError(f"closure must be callable, got {type(closure).__name__}; {instead}")


def gradient_of(params: Vector) -> Vector:
    """Give the gradient as the parameters have it, zero where a parameter has none."""
    gradient = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    if any(part.is_sparse for part in gradient):
        raise TypeError(
            "sparse gradients are not supported: pass sparse=False to torch.nn.Embedding"
        )
    return gradient


def check_ranks(loss: float, gradient: Vector) -> None:
    """Refuse a loss or a gradient that the ranks of a process group do not share."""
    ranks = torch.distributed
    if not (ranks.is_available() and ranks.is_initialized() and ranks.get_world_size() > 1):
        return
    mine = [it if isfinite(it) else 0.0 for it in (loss, ops.norm(gradient))]
    limits = torch.tensor([*mine, *(-it for it in mine)], dtype=torch.float64)
    limits = limits.to(gradient[0].device)
    ranks.all_reduce(limits, ranks.ReduceOp.MAX)
    highs, lows = limits.view(2, 2).tolist()
    for what, low, high in zip(("loss", "gradient norm"), lows, highs, strict=True):
        if -low != high:
            raise ValueError(
                f"the {what} must be the same on every rank, got {-low:.6g} to {high:.6g}: average "
                "the gradients with DistributedDataParallel, which shards no parameters, and the "
                "loss after backward() with torch.distributed.all_reduce(loss, op=ReduceOp.AVG)"
            )


def whole(name: str, number: Any, least: int = 0) -> int:
    """Check a whole number, such as a seed or a count."""
    if not isinstance(number, Integral) or isinstance(number, bool) or int(number) < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {number!r}; pass {name}=1")
    return int(number)


def rate(name: str, number: Any) -> float:
    """Check a learning rate."""
    plain = isinstance(number, Real) and not isinstance(number, bool)
    single = isinstance(number, torch.Tensor) and number.numel() == 1
    if not ((plain or single) and 0 <= float(number) < inf):
        raise ValueError(f"{name} must be a finite number >= 0, got {number!r}; pass {name}=0.1")
    return float(number)
