"""A saddle of three tensors, and every optimiser with constants for it."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist

import unsaddle.torch as front

SHAPES = (5, 3), (7,), (3, 2, 2)
CONSTANTS: dict[str, Any] = {"smoothness": 3.0, "hessian_lipschitz": 12.0, "tol": 1e-2}
DECREASE = {**CONSTANTS, "decrease_available": 2.0}
SAMPLED = {**CONSTANTS, "stochastic_smoothness": 3.0, "variance": 0.01, "tol": 0.1}
GIVEN: dict[str, dict[str, Any]] = {
    "auto": {"tol": 1e-6},
    "agd-auto": {"tol": 1e-6},
    **dict.fromkeys(("sgd+nc", "psgd", "neon2-online", "spider+", "sharp-sgd"), SAMPLED),
    **dict.fromkeys(("pgd", "pagd", "pgd+nc", "ancgd", "neon", "neon+"), DECREASE),
}
TO_END = {  # queries, more than these take to their end; the others take thousands
    "auto": 100, "agd-auto": 200, "pgd+nc": 100, "ancgd": 350, "adancg": 250, "fastcubic": 150,
    "agd+lanczos": 200, "sharp-sgd": 250, "Escape(SGD)": 400, "Escape(LBFGS)": 400,
}  # fmt: skip
Maker = Callable[[Iterable[torch.Tensor]], Any]


def rank() -> int:
    """Give the number of this process."""
    return dist.get_rank() if dist.is_initialized() else 0


def count() -> int:
    """Give how many processes there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


class Net(torch.nn.Module):
    """sum c z^2/2 + d z^4/4 over all numbers z of three tensors: a saddle along one of them."""

    def __init__(self) -> None:
        """Begin on the saddle's ridge."""
        super().__init__()
        self.parts = torch.nn.ParameterList(
            torch.nn.Parameter(torch.full(shape, 0.3, dtype=torch.float64)) for shape in SHAPES
        )
        with torch.no_grad():
            self.parts[0][0, 0] = 0.0

    def forward(self, data: torch.Tensor) -> Any:
        """Give the loss, with d the mean of the data."""
        total = 0.0
        for part, c in zip(self.parts, curvatures(), strict=True):
            total = total + (c * part**2 / 2).sum() + (data.mean() * part**4 / 4).sum()
        return total


def curvatures() -> list[torch.Tensor]:
    """Give c."""
    parts = [torch.linspace(0.5, 2.0, torch.Size(it).numel()).view(it).double() for it in SHAPES]
    parts[0][0, 0] = -1.0
    return parts


def spread(net: torch.nn.Module) -> Any:
    """FSDP2 over all ranks: tensors of 5, 7 and 3 rows, of which some ranks have none."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    return fully_shard(net, mesh=init_device_mesh("cpu", (count(),)))


def escape(params: Any, inner: Any = torch.optim.SGD, tol: float = 1e-6) -> front.Escape:
    """Wrap an optimiser."""
    return front.Escape(inner(params, lr=0.2), tol=tol, patience=3)


def lbfgs(params: Any) -> front.Escape:
    """Wrap torch's L-BFGS."""
    never: dict[str, Any] = {
        "tolerance_grad": 0.0,
        "tolerance_change": 0.0,
    }  # else it stays where g is 2e-5
    inner = torch.optim.LBFGS([*params], lr=0.5, max_iter=2, line_search_fn="strong_wolfe", **never)
    return front.Escape(inner, tol=1e-6, patience=2)


def makers() -> dict[str, Maker]:
    """Give every optimiser as a function of the parameters."""
    made: dict[str, Any] = {
        name: lambda params, own=own, name=name: own(params, **GIVEN.get(name, CONSTANTS))
        for name, own in front.OPTIMISERS.items()
    }
    return {**made, "Escape(SGD)": escape, "Escape(LBFGS)": lbfgs}
