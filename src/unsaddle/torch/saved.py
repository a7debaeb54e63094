"""The state of a run in the form that every torch optimiser saves: tensors per parameter."""

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.records import fill, leaves
from unsaddle.torch.ops import Vector, ops
from unsaddle.torch.session import first_state

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
    }
    session = opt._session
    if session is not None:
        order = {p: i for i, p in enumerate(opt.all_parameters())}
        numbers["active"] = [order[p] for p in session.at]
        numbers["roundoff"] = ops.roundoff(session.at)
        numbers["value"] = session.value
        packed["state"] = {i: {} for i in numbers["active"]}
        for name, leaf in leaves(session.state, "run"):
            if not isinstance(leaf, list):
                numbers[name] = int(leaf) if isinstance(leaf, IntEnum) else leaf
            elif leaf is not session.at:
                for p, part in zip(session.at, leaf, strict=True):
                    packed["state"][order[p]][name] = part
    packed["param_groups"][0][WORD] = numbers
    return packed


def check(state_dict: Any, name: str) -> dict[str, Any]:
    """Refuse what is not the saved state of such an optimiser."""
    groups = state_dict.get("param_groups") if isinstance(state_dict, dict) else None
    numbers = groups[0].get(WORD, {}) if groups and "state" in state_dict else {}
    whose = numbers.get("optimiser")
    if whose == name and "queries" in numbers:
        return numbers
    other = ", but of an earlier release" if whose == name else f", but of {whose}" if whose else ""
    raise ValueError(f"state_dict is not of {name}{other}: pass what its state_dict() returned")


def parameters(form: Parameters, numbers: dict[str, Any]) -> Parameters:
    """Give the hyperparameters that were saved."""
    return fill(form, lambda path, old: numbers["parameters"][path])


def unpack(opt: "SessionOptimizer", numbers: dict[str, Any]) -> tuple[Vector, State]:
    """Give the parameters that take part and the state of the run, once torch has loaded it."""
    params = opt.all_parameters()
    at = [params[i] for i in numbers["active"]]

    def leaf(path: str, old: Any) -> Any:
        if not isinstance(old, list):
            return numbers[path]
        inside = all(path in opt.state[p] for p in at)
        return [opt.state[p][path] for p in at] if inside else at

    return at, fill(first_state(at, opt.solver, opt.parameters, opt.seed), leaf, "run")
