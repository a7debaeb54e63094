"""What a Lanczos search remembers: a basis, what it shows of the Hessian, and what it proves."""

from math import inf
from typing import NamedTuple

from unsaddle.core.evidence import Evidence
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import NO_RESOLUTION, Resolution
from unsaddle.escapes.backtracking_jump import NO_BACKTRACKING, Backtracking
from unsaddle.escapes.probe import Probe
from unsaddle.escapes.recurrence import Recurrence


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    numbers: int = 2**27  # 10^6 and up: the basis takes one gibibyte in double precision at most
    vectors: int = 1000  # 2 and up: reorthogonalising against more costs more than most gradients


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
    coarsest: float = 1e-2  # share of l above which gamma is not chosen


class Basis(NamedTuple):
    """What grows with every step: V, and the rows of the tridiagonal T = V'HV."""

    vectors: Vector  # v_1, v_2, ...
    diagonal: Vector  # alpha_1, alpha_2, ...
    offdiagonal: Vector  # beta_2, beta_3, ...


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
        """Of a curvature that was measured."""
        return ops.maximum(self.resolution.error, self.recurrence.off_tridiagonal)

    def evidence(self, ops: Ops, x: Vector) -> Evidence:
        """What the search has measured; the lowest Ritz value where no curvature was found."""
        _, diagonal, offdiagonal = self.basis
        count = ops.maximum(self.steps, 1)
        lowest, _ = ops.ritz(diagonal, offdiagonal, count)
        unknown = (self.curvature == inf) & (self.steps > 0)
        curvature = ops.where(unknown, lowest, self.curvature)
        largest = ops.tridiagonal_bound(diagonal, offdiagonal, self.steps)
        return Evidence(
            self.gradient,
            self.direction,
            curvature,
            largest,
            True,
            self.resolution,
            self.probe.noise,
        )


def orthogonal(ops: Ops, e: Memory, w: Vector) -> tuple[Vector, Vector]:
    """Take the basis out of w, twice, which is enough; and say how much of it there was."""
    count, vectors = e.steps + 1, e.basis.vectors
    along = ops.inner_products(vectors, count, w)
    w = ops.axpy(-1.0, ops.combine(vectors, count, along), w)
    again = ops.inner_products(vectors, count, w)
    return ops.axpy(-1.0, ops.combine(vectors, count, again), w), along


def error_of(ops: Ops, e: Memory, along: Vector) -> Scalar:
    """The norm of what V'H v_k has beside alpha_k and beta_k."""
    k, beta = e.steps, e.recurrence.beta
    behind = ops.get_scalar(along, k - 1) - beta
    return ops.norm(ops.set_scalar(ops.set_scalar(along, k, 0.0), k - 1, behind))


def extended(ops: Ops, e: Memory, ahead: Vector, alpha: Scalar, beta: Scalar) -> Memory:
    """Add alpha_k, beta_{k+1} and v_{k+1}."""
    k, (vectors, diagonal, offdiagonal) = e.steps, e.basis
    basis = e.basis._replace(
        vectors=ops.set_vector(vectors, k + 1, ahead),
        diagonal=ops.set_scalar(diagonal, k, alpha),
        offdiagonal=ops.set_scalar(offdiagonal, k, beta),
    )
    return e._replace(direction=ops.retain(ahead), basis=basis)


def places(n: int) -> int:
    """How many vectors the search may keep."""
    return min(n, TUNING.vectors, max(2, TUNING.numbers // n))


def memory(ops: Ops, x: Vector) -> Memory:
    """Room for the basis."""
    room = places(ops.size(x)) + 1
    return Memory(
        gradient=ops.times(0.0, x),
        direction=ops.times(0.0, x),
        probe=Probe(ops.times(0.0, x), ops.times(0.0, x)),
        basis=Basis(ops.vectors(x, room), ops.scalars(x, room), ops.scalars(x, room)),
        recurrence=Recurrence(),
        curvature=inf,
        resolution=NO_RESOLUTION,
        jump=NO_BACKTRACKING,
    )
