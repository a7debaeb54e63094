"""The public doors on torch, each with a call that is in order."""

import contextlib
import functools
from typing import Any

import torch

import unsaddle.torch as front
from benchmarks.torture import nasty
from benchmarks.torture.doors import KICKED, SAMPLED, Door
from unsaddle.methods.table import METHODS, STOCHASTIC

STEPS, MOST = 4, 300  # of a training: steps, and calls of its closure


class EnoughError(Exception):
    """The closure has been called often enough."""


def net() -> torch.nn.Parameter:
    """Give the parameters of x^2/2 - y^2/2 + y^4/4, near its saddle."""
    return torch.nn.Parameter(torch.tensor([1.0, 0.1], dtype=torch.float64))


def loss_of(at: Any) -> Any:
    """Give a closure."""

    def closure() -> Any:
        at.grad = None
        loss = at[0] ** 2 / 2 - at[1] ** 2 / 2 + at[1] ** 4 / 4
        loss.backward()
        return loss

    return closure


def _trained(make: Any, **given: Any) -> None:
    """Make an optimiser and take a few steps."""
    at = net()
    opt = make(**{"params": [at], **given})
    plain, calls = loss_of(at), iter(range(MOST))

    def closure() -> Any:
        if next(calls, None) is None:
            raise EnoughError
        return plain()

    with contextlib.suppress(EnoughError):  # a step may be a search as long as its constants say
        for _ in range(STEPS):
            opt.step(closure)


def _wrapped(inner: Any = None, **given: Any) -> None:
    at = net()
    opt = front.Escape(torch.optim.SGD([at], lr=0.1) if inner is None else inner, **given)
    for _ in range(STEPS):
        opt.step(loss_of(at))


def _stepped(closure: Any = None, loss: Any = None) -> None:
    at = net()
    opt = front.Auto([at])
    loss_of(at)()
    opt.step(loss_of(at) if closure is None and loss is None else closure, loss=loss)


def _certified(closure: Any = None, params: Any = None, **given: Any) -> None:
    at = net()
    front.certify(
        loss_of(at) if closure is None else closure, [at] if params is None else params, **given
    )


def _restored(state_dict: Any) -> None:
    front.Auto([net()]).load_state_dict(state_dict)


def _restored_escape(state_dict: Any) -> None:
    front.Escape(torch.optim.SGD([net()], lr=0.1)).load_state_dict(state_dict)


def torch_doors() -> dict[str, Door]:
    """Give the doors on torch."""
    lines = METHODS | STOCHASTIC
    doors = {}
    for name, cls in front.OPTIMISERS.items():
        known = SAMPLED if name in STOCHASTIC else KICKED
        given = {word: known[word] for word in lines[name].constants}
        words = ["params", "seed", "lr", *_spelled(cls), *lines[name].options]
        doors[f"torch.{cls.__name__}"] = Door(functools.partial(_trained, cls), given, words)
    words = [*_spelled(front.Escape)]
    searched = [*_spelled(front.certify)][2:]
    return {
        **doors,
        "torch.Escape": Door(_wrapped, {}, words),
        "torch.certify": Door(_certified, {}, searched),
        "torch step": Door(_stepped, {}),
        "torch load_state_dict": Door(_restored, {"state_dict": {}}),
        "torch Escape.load_state_dict": Door(_restored_escape, {"state_dict": {}}),
    }


def _spelled(function: Any) -> list[str]:
    import inspect

    parameters = inspect.signature(function).parameters.values()
    return [it.name for it in parameters if it.kind is not it.VAR_KEYWORD]


def values() -> dict[str, Any]:
    """Give the nasty values, and those that only torch has."""
    return {
        **nasty.values(),
        "tensor of 1.5": torch.tensor(1.5),
        "tensor of two": torch.tensor([1.0, 2.0]),
        "tensor of none": torch.empty(0),
        "complex tensor": torch.tensor(1j),
        "meta tensor": torch.empty(1, device="meta"),
        "a module": torch.nn.Linear(1, 1),
    }
