"""What a caller of the torch front ends gives: parameters, closures and numbers, checked."""

from math import inf
from typing import Any, NamedTuple

from unsaddle.methods.checks import number, shown
from unsaddle.torch.ops import Vector, torch


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    reach: float = 1e38  # 1e5 to 1e38: of a precision; squares of what float16 holds overflow it


TUNING = Tuning()


def check_parameters(groups: list[dict[str, Any]]) -> None:
    """Refuse parameters that no method can handle."""
    params = [p for group in groups for p in group["params"]]
    for p in params:
        if not p.is_floating_point():
            hint = "; use torch.view_as_real" if p.is_complex() else ""
            raise TypeError(f"parameters must be real floating point, got {p.dtype}{hint}")
        if torch.finfo(p.dtype).max < TUNING.reach:
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
    try:
        if isinstance(params, str | bytes):
            raise TypeError
        return [*params]
    except TypeError as error:
        raise TypeError(f"params must be a list of parameters, got {shown(params)}") from error


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
        if "params" not in group:
            raise TypeError(f"params has a group without parameters, got {shown(group)}")
        given = group["params"]
        group["params"] = [given] if isinstance(given, torch.Tensor) else [*given]
        return [p for each in group["params"] for p in _tensors(each)]
    return [tensor(group[1] if isinstance(group, tuple) and len(group) == 2 else group)]


def tensor(given: Any) -> torch.Tensor:
    """Check one of the parameters."""
    if not isinstance(given, torch.Tensor):
        raise TypeError(
            f"params must be tensors, such as net.parameters(), got {type(given).__name__}"
        )
    return given


def check_closure(closure: Any, instead: str) -> None:
    """Refuse a closure that cannot be called."""
    refuse_model("closure", closure)
    if not callable(closure):
        raise TypeError(f"closure must be callable, got {type(closure).__name__}; {instead}")


def refuse_model(name: str, value: Any) -> None:
    """Refuse a model where a function without arguments is wanted: a model is called with data."""
    if isinstance(value, torch.nn.Module):
        raise TypeError(
            f"{name} must be a function without arguments that returns the loss, got the model "
            f"{type(value).__name__}: pass a function that calls it on the data"
        )


def is_sharded(p: Any) -> bool:
    """Say whether this is a DTensor, of which every rank has a part."""
    return hasattr(p, "device_mesh")


def local(p: Any) -> torch.Tensor:
    """Give this rank's part of a tensor, which shares its storage."""
    return p.to_local() if is_sharded(p) else p


def _gradient(p: Any) -> torch.Tensor:
    """Give this rank's part of a gradient, zero where there is none."""
    if p.grad is None:
        return torch.zeros_like(local(p))
    if is_sharded(p) and p.grad.placements != p.placements:
        return p.grad.redistribute(placements=p.placements).to_local()
    return local(p.grad)


def gradient_of(params: Vector) -> Vector:
    """Give the gradient as the parameters have it, zero where a parameter has none."""
    found: list[Any] = [p.grad for p in params]
    plain = {*map(type, found)} == {torch.Tensor}  # what most are takes no more
    gradient: Vector = found if plain else [*map(_gradient, params)]
    if any(part.is_sparse for part in gradient):
        raise TypeError(
            "sparse gradients are not supported: pass sparse=False to torch.nn.Embedding"
        )
    return gradient


def rate(name: str, value: Any) -> float:
    """Check a learning rate."""
    single = isinstance(value, torch.Tensor) and value.numel() == 1 and not value.is_complex()
    given = float(value) if single and not value.is_meta else number(value)
    if not 0 <= given < inf:
        expected = "a finite number >= 0"
        raise ValueError(f"{name} must be {expected}, got {shown(value)}; pass {name}=0.1")
    return given
