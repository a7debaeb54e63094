"""What a Lanczos search remembers: a basis, what it shows of the Hessian, and what it proves."""

from math import inf
from typing import NamedTuple

from unsaddle.core.evidence import Evidence
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import NO_RESOLUTION, Resolution
from unsaddle.escapes.backtracking_jump import NO_BACKTRACKING, Backtracking
from unsaddle.escapes.basis import TUNING as BASIS
from unsaddle.escapes.basis import Basis, blank
from unsaddle.escapes.probe import Probe
from unsaddle.escapes.recurrence import Recurrence


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    coarsest: float = 1e-2  # of l, (finest, 0.1): a gamma that is chosen is not to be weak


TUNING = Tuning()


class Settings(NamedTuple):
    """Hyperparameters of a search that measures what it is not told."""

    enough: float  # share of gamma at which a direction is good enough
    finest: float  # share of l below which gamma is not to go, unless it is given
    curvature_tol: float  # gamma, or zero
    failure_probability: float  # delta
    smoothness: float  # l, or zero
    hessian_lipschitz: float  # rho, or zero
    gradient_noise: float = 0.0  # |error| of a gradient, where it is more than rounding
    probe_radius: float = 0.0  # r, or zero where it is to be chosen
    max_step: float = inf  # length of the longest jump, and of the longest r that is tried
    unit: float = 0.0  # relative error of a gradient, where it is above the roundoff
    coarsest: float = TUNING.coarsest  # share of l above which gamma is not chosen
    vectors: int = BASIS.vectors  # that are kept of the basis


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # v_k; in the end the Ritz vector
    probe: Probe
    basis: Basis
    recurrence: Recurrence
    curvature: Scalar  # lowest Ritz value, once found
    resolution: Resolution
    jump: Backtracking

    @property
    def steps(self) -> Scalar:
        """k - 1."""
        return self.recurrence.steps

    @property
    def found(self) -> Scalar:
        """After how many steps curvature enough was found; infinite before."""
        return self.recurrence.found

    @property
    def slowest(self) -> tuple[Vector, Scalar]:
        """What the recheck of a growth certificate looks along; here there is no such thing."""
        return self.direction, 1.0

    def largest_error(self, ops: Ops) -> Scalar:
        """The largest error of a curvature that was measured."""
        return ops.maximum(self.resolution.error, self.recurrence.off_tridiagonal)

    def evidence(self, ops: Ops, x: Vector) -> Evidence:
        """What the search has measured; the lowest Ritz value where no curvature was found."""
        _, diagonal, offdiagonal = self.basis
        count = ops.maximum(self.steps, 1)
        lowest, _ = ops.ritz(diagonal, offdiagonal, count)
        unknown = (self.curvature == inf) & (self.steps > 0)
        curvature = ops.where(unknown, lowest, self.curvature)
        largest = ops.tridiagonal_bound(diagonal, offdiagonal, self.steps)
        largest = ops.maximum(largest, self.recurrence.largest)
        return Evidence(
            self.gradient,
            self.direction,
            curvature,
            largest,
            True,
            self.resolution,
            self.probe.noise,
            self.recurrence.growth,
        )


def memory(ops: Ops, x: Vector, settings: Settings | None) -> Memory:
    """Nothing known yet, and room for the basis; as a form to be filled there are no settings."""
    vectors = BASIS.vectors if settings is None else settings.vectors
    nothing = ops.get_vector(ops.vectors(x, 1), 0)  # takes no memory before it is written
    return Memory(
        gradient=nothing,
        direction=nothing,
        probe=Probe(nothing, nothing),
        basis=blank(ops, x, vectors),
        recurrence=Recurrence(),
        curvature=inf,
        resolution=NO_RESOLUTION,
        jump=NO_BACKTRACKING,
    )
