"""How the vectors of a run lie in memory: like the parameters, or flat.

A descent that queries nowhere but at its iterate moves the parameters themselves, and its vectors
are lists like them. Any other descent has x apart, and flat vectors, one tensor for each precision
among the parameters: an operation then is one call, however many parameters there are.
"""

from typing import Any

from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from unsaddle.core.kernel import Solver, iterate
from unsaddle.core.phases import BEGIN
from unsaddle.torch.inputs import is_sharded, local
from unsaddle.torch.ops import TorchOps, Vector, ops, torch
from unsaddle.torch.ranks import Ranks
from unsaddle.torch.shards import ShardedOps, check_meshes, copies, like


class Layout:
    """Between parameters and vectors."""

    def __init__(self, params: Vector, solver: Solver, ranks: Ranks) -> None:
        """Choose by where the descent queries."""
        descent = [phase for code, phase in solver.phases.items() if code < BEGIN and phase.needs]
        self.params, self.flat = params, any(phase.at is not iterate for phase in descent)
        self.sharded, self.ranks = any(map(is_sharded, params)), ranks
        if self.sharded:
            check_meshes(params, ranks)
        self.at = [*map(local, params)] if self.sharded else params
        kinds: dict[Any, list[int]] = {}
        for i, p in enumerate(params):
            kind = (p.dtype, copies(p, ranks)) if self.sharded else p.dtype
            kinds.setdefault(kind, []).append(i)
        self._groups = [*kinds.values()]
        self.ops: TorchOps = ShardedOps(self) if self.sharded else ops
        shares = [1 / copies(p, ranks) for p in params] if self.sharded else []
        first = [own[0] for own in self._groups] if self.flat else range(len(params))
        self.weights = [shares[i] for i in first] if self.sharded else []  # of a vector's tensors

    @property
    def owners(self) -> Vector:
        """Parameters to which the tensors of a vector belong when it is saved."""
        whole = self.sharded or not self.flat
        return self.params if whole else [self.params[own[0]] for own in self._groups]

    def refresh(self) -> None:
        """See where this rank's parts are now: who shards parameters may have moved them."""
        if self.sharded:
            self.at[:] = map(local, self.params)

    def to_save(self, vector: Vector) -> Vector:
        """Give a vector or a block as tensors of the owners; where they are sharded, like them."""
        if not self.sharded:
            return vector
        return [like(p, part) for p, part in zip(self.params, self._parts(vector), strict=True)]

    def saved(self, tensors: Vector, old: Vector) -> Vector:
        """Take tensors of the owners into a vector or a block that is there."""
        if not self.sharded:
            return tensors
        block = old[0].dim() > (1 if self.flat else self.at[0].dim())
        new = old if block else ops.copy(old)  # vectors may be one and the same at first
        for part, tensor in zip(self._parts(new), tensors, strict=True):
            part.copy_(local(tensor))
        return new

    def _parts(self, vector: Vector) -> Vector:
        """Give what of a vector or of a block belongs to each parameter, as views."""
        if not self.flat:
            return vector
        parts: dict[int, torch.Tensor] = {}
        for tensor, own in zip(vector, self._groups, strict=True):
            cut = tensor.split([self.at[i].numel() for i in own], dim=-1)
            ahead = tensor.shape[:-1]
            views = (u.view(*ahead, *self.at[i].shape) for u, i in zip(cut, own, strict=True))
            parts |= zip(own, views, strict=True)
        return [parts[i] for i in range(len(self.at))]

    def start(self) -> Vector:
        """Give the first x: the parameters, or a copy."""
        return ops.copy(self.join([p.detach() for p in self.at])) if self.flat else self.at

    def views(self) -> Vector | None:
        """Give the parameters as a vector, if they lie in memory as one does."""
        if not self.flat:
            return self.at
        alone = len(self._groups) == len(self.at) and all(p.is_contiguous() for p in self.at)
        return [p.detach().view(-1) for p in self.at] if alone else None

    def join(self, parts: Vector) -> Vector:
        """Make a vector of tensors like the parameters, whose storage it may share."""
        if not self.flat:
            return parts
        return [_flatten_dense_tensors([parts[i] for i in own]) for own in self._groups]

    def split(self, vector: Vector) -> Vector:
        """Give what of a vector belongs to each parameter."""
        if self.sharded or not self.flat:
            return self._parts(vector)
        parts: dict[int, torch.Tensor] = {}
        for flat, own in zip(vector, self._groups, strict=True):
            cut = _unflatten_dense_tensors(flat, [self.at[i] for i in own])
            parts |= zip(own, cut, strict=True)
        return [parts[i] for i in range(len(self.at))]
