"""How to run a method on torch and list where it queries."""

from typing import Any

import numpy as np

from tests.conformance.backends import draws


def run_torch(method: str, f: Any, x: np.ndarray, given: dict, queries: int, patch: Any) -> Any:
    import torch

    import unsaddle.torch

    parts = _torch_parts(x, patch)
    opt = unsaddle.torch.OPTIMISERS[method]([{"params": [part]} for part in parts], **given)
    asked: list[np.ndarray] = []

    def closure() -> Any:
        point = torch.cat([part.detach() for part in parts])
        asked.append(point.numpy().copy())
        _give(parts, f.gradient(point))
        return f.value(point)

    while opt.outcome is None and len(asked) <= queries:
        opt.step(closure)
    np.testing.assert_array_equal(asked[0], asked[1])  # a closure is asked twice at first
    return np.array(asked[1 : queries + 1])


def run_torch_sampled(
    method: str, answer: Any, x: np.ndarray, given: dict, queries: int, patch: Any
) -> Any:
    """A step takes one minibatch, whose number is how many were drawn before it."""
    import torch

    import unsaddle.torch

    parts = _torch_parts(x, patch)
    opt = unsaddle.torch.OPTIMISERS[method](parts, **given)
    asked: list[np.ndarray] = []
    while opt.outcome is None and len(asked) < queries:
        first = opt.drawn

        def closure(first: int = first) -> None:
            point = torch.cat([part.detach() for part in parts])
            asked.append(np.append(point.numpy(), first))
            _give(parts, torch.as_tensor(answer(point.numpy(), first)))

        opt.step(closure)
    return np.array(asked[:queries])


def _torch_parts(x: np.ndarray, patch: Any) -> list:
    """Two parameters, and the draws that NumPy has, however many tensors a vector is made of."""
    import torch

    from unsaddle.torch.ops import TorchOps

    normals, radius = draws(x.size)
    cut = x.size // 2

    def normal(self: Any, like: Any, seed: int, episode: int) -> Any:
        drawn = torch.tensor(normals[episode]).split([u.numel() for u in like])
        return [part.clone() for part in drawn]

    patch.setattr(TorchOps, "normal", normal)
    patch.setattr(TorchOps, "uniform", lambda self, like, seed, episode: float(radius[episode]))
    return [torch.nn.Parameter(torch.tensor(part)) for part in (x[:cut], x[cut:])]


def _give(parts: list, gradient: Any) -> None:
    cut = parts[0].numel()
    parts[0].grad, parts[1].grad = gradient[:cut].clone(), gradient[cut:].clone()
