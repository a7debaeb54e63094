"""The state of a run in the form that every torch optimiser saves: tensors that a parameter owns.

A flat vector belongs to the first parameter of its precision.
"""

import copy
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from unsaddle.core.kernel import Parameters
from unsaddle.core.records import fill, leaves
from unsaddle.torch.ops import ops, torch
from unsaddle.torch.session import ParameterSession

if TYPE_CHECKING:
    from unsaddle.torch.optimizer import SessionOptimizer

WORD = "unsaddle"  # under which the first group has what is not a tensor per parameter


def pack(opt: "SessionOptimizer", packed: dict[str, Any]) -> dict[str, Any]:
    """Add a run to what torch saves."""
    numbers: dict[str, Any] = {
        "optimiser": opt.name,
        "queries": opt.queries,
        "since": opt._since,
        "seed": opt.seed,
        "parameters": dict(leaves(opt.parameters)),
        "owners": [],
    }
    session = opt._session
    if session is not None:
        order, layout = {p: i for i, p in enumerate(opt.all_parameters())}, session.layout
        owners = [order[p] for p in layout.owners]
        numbers["active"], numbers["owners"] = [order[p] for p in session.params], owners
        numbers["roundoff"], numbers["value"] = ops.roundoff(session.at), session.value
        packed["state"], places = {i: {} for i in numbers["active"]}, set[tuple[int, ...]]()
        for name, leaf in leaves(session.state, "run"):
            if leaf is session.at and not layout.sharded:
                continue
            if isinstance(leaf, list):
                place = tuple(u.data_ptr() for u in leaf)  # who loads in place wants one for each
                own = ops.copy(leaf) if place in places else leaf
                places.add(place)
                for i, part in zip(owners, layout.to_save(own), strict=True):
                    packed["state"][i][name] = part
            elif isinstance(leaf, np.ndarray):
                numbers[name] = torch.tensor(leaf)
            else:
                numbers[name] = int(leaf) if isinstance(leaf, IntEnum) else leaf
    packed["param_groups"][0][WORD] = numbers
    return packed


def form(inner: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Give a copy of an optimiser with the state that it will have, for a checkpoint to fill."""
    copied = copy.deepcopy(inner)
    for p in (p for group in copied.param_groups for p in group["params"]):
        p.grad = torch.zeros_like(p)
    copied.step()
    for state in copied.state.values():
        for tensor in state.values():
            if isinstance(tensor, torch.Tensor):
                tensor.zero_()
    return copied


def check(state_dict: Any, name: str) -> dict[str, Any]:
    """Refuse what is not the saved state of such an optimiser."""
    try:
        numbers, _ = state_dict["param_groups"][0][WORD], state_dict["state"]
        whose = numbers["optimiser"]
    except (IndexError, KeyError, TypeError, ValueError):
        numbers, whose = {}, None
    if whose == name and {"queries", "owners"} <= {*numbers}:
        return numbers
    other = ", but of an earlier release" if whose == name else f", but of {whose}" if whose else ""
    raise ValueError(f"state_dict is not of {name}{other}: pass what its state_dict() returned")


def parameters(form: Parameters, numbers: dict[str, Any]) -> Parameters:
    """Give the hyperparameters that were saved."""
    return fill(form, lambda path, old: _entry(numbers["parameters"], path))


def _entry(numbers: dict[str, Any], path: str) -> Any:
    """Give what was saved under a path, if the release that saved it knew the path."""
    if path not in numbers:
        raise ValueError(
            f"state_dict is of an earlier release, it has no entry {path!r}: go on with the "
            "release that saved it, or begin anew at the parameters of the model"
        )
    return numbers[path]


def unpack(opt: "SessionOptimizer", numbers: dict[str, Any]) -> ParameterSession:
    """Give the run, once torch has loaded its tensors."""
    params = opt.all_parameters()
    at = [params[i] for i in numbers["active"]]
    setting = opt.parameters, opt.seed
    session = ParameterSession(at, opt.solver, *setting, ranks=opt._group())
    owners = session.layout.owners
    if [*map(id, owners)] != [id(params[i]) for i in numbers["owners"]]:
        raise ValueError(
            "state_dict is of parameters some of which had another precision than the others: load "
            "it into a model with the same mixture, or begin anew"
        )

    def leaf(path: str, old: Any) -> Any:
        if not isinstance(old, list):
            found = _entry(numbers, path)
            return found.cpu().numpy() if isinstance(old, np.ndarray) else found
        known = all(path in opt.state[p] for p in owners)  # else it is x, in the parameters
        return session.layout.saved([opt.state[p][path] for p in owners], old) if known else at

    session.state, session.value = fill(session.state, leaf, "run"), numbers["value"]
    return session
