"""How the vectors of a run lie in memory: like the parameters, or flat.

A descent that queries nowhere but at its iterate moves the parameters themselves, and its vectors
are lists like them. Any other descent has x apart, and flat vectors, one tensor for each precision
among the parameters: an operation then is one call, however many parameters there are.
"""

from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from unsaddle.core.kernel import Solver, iterate
from unsaddle.core.phases import BEGIN
from unsaddle.torch.ops import Vector, ops, torch


class Layout:
    """Between parameters and vectors."""

    def __init__(self, at: Vector, solver: Solver) -> None:
        """Choose by where the descent queries."""
        descent = [phase for code, phase in solver.phases.items() if code < BEGIN and phase.needs]
        self.at, self.flat = at, any(phase.at is not iterate for phase in descent)
        kinds: dict[torch.dtype, list[int]] = {}
        for i, p in enumerate(at):
            kinds.setdefault(p.dtype, []).append(i)
        self._groups = [*kinds.values()]

    @property
    def owners(self) -> Vector:
        """One parameter for each tensor of a vector, in the same precision."""
        return [self.at[own[0]] for own in self._groups] if self.flat else self.at

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
        if not self.flat:
            return vector
        parts: dict[int, torch.Tensor] = {}
        for flat, own in zip(vector, self._groups, strict=True):
            cut = _unflatten_dense_tensors(flat, [self.at[i] for i in own])
            parts |= zip(own, cut, strict=True)
        return [parts[i] for i in range(len(self.at))]
