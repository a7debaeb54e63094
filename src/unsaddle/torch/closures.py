"""Closures that would mislead a search: recognised by calling them at one point, and named."""

import warnings
from collections.abc import Callable
from math import inf, isfinite, nan
from typing import Any, NamedTuple

from unsaddle.torch.ops import Vector, torch
from unsaddle.torch.ranks import number


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    alike: float = 1e-3  # of the length, 1e-5 to 1e-2: sums in another order differ by less, other
    # data by more


TUNING = Tuning()
UNCLEARED = (
    "the closure adds to the gradients of the call before: let it begin with opt.zero_grad(), or "
    "with net.zero_grad() where there is no optimiser"
)
UNLIKE = (
    "the closure gave two gradients that differ by {:.2g} of their length at the same parameters, "
    "but curvature is measured by comparing gradients: take the same data in every call, and call "
    "net.eval() if there is dropout; for minibatches use Escape or SGDNC; if the gradient is noisy "
    "by nature, pass gradient_noise="
)


def asked_twice(closure: Callable[[], Any], params: Vector, noisy: bool = False) -> Any:
    """Call a closure twice at the same parameters, and say what is wrong if its answers differ.

    Before the second call every gradient is made one: a closure that does not clear them adds to
    it, and is recognised even where the gradient is zero.

    Returns:
        The loss of the second call, whose gradients are left.

    Raises:
        RuntimeError: If the closure does not clear the gradients.
    """
    losses = [closure()]
    had: list[Any] = [p for p in params if p.grad is not None and not p.grad.is_sparse]
    first = [p.grad.clone() for p in had]
    for p in had:
        p.grad.fill_(1.0)
    losses.append(closure())
    second = [torch.zeros_like(p) if p.grad is None else p.grad for p in had]
    apart, added, size = (
        sum(float(part.double().norm()) ** 2 for part in parts) ** 0.5
        for parts in (
            [b - a for a, b in zip(first, second, strict=True)],
            [b - a - 1.0 for a, b in zip(first, second, strict=True)],
            first,
        )
    )
    if apart > TUNING.alike * size and added <= TUNING.alike * (1.0 + size):
        _forget(had)
        raise RuntimeError(UNCLEARED)
    if not noisy and apart > TUNING.alike * size and not _alike(*losses):
        warnings.warn(UNLIKE.format(apart / size if size else inf), stacklevel=4)
    return losses[-1]


def clearing(closure: Callable[[], Any], params: Vector) -> Any:
    """Call a closure with gradients of NaN in place of those that it has to clear.

    It costs nothing, and changes nothing for a closure that clears them.

    Returns:
        The loss.

    Raises:
        RuntimeError: If the closure does not clear the gradients.
    """
    before = [(p, p.grad) for p in params if p.grad is not None and not p.grad.is_sparse]
    for _, gradient in before:
        gradient.fill_(nan)
    loss = closure()
    left = any(p.grad is gradient and bool(gradient.isnan().all()) for p, gradient in before)
    if left and (loss is None or isfinite(number(loss))):
        _forget([p for p, _ in before])
        raise RuntimeError(UNCLEARED)
    return loss


def _forget(params: Vector) -> None:
    """Leave nothing of what was put in place of gradients: a second call would be misled by it."""
    for p in params:
        p.grad = None


def _alike(one: Any, other: Any) -> bool:
    """Say whether two losses are the same but for rounding; none is like none other."""
    if one is None or other is None:
        return False
    return abs(number(one) - number(other)) <= TUNING.alike * abs(number(one))
