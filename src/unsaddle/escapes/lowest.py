"""The direction that curves least: a Ritz vector, or what is left of it without a basis.

Where not all of the basis is kept, one vector more is carried along, in the place of
``probe.kept``, which no step of a search needs:

    p_k = v_k - (beta_k/pivot_{k-1}) p_{k-1},

where the pivots are those of T + a I, a = (enough gamma) + e. Up to its length p_k is
sum_j q_j(-a) v_j. Among all p(H) xi with the same p(-a) it is the shortest, so it is rich in the
lowest eigenvectors. As p_k'(H + a I)p_k = pivot_k, its curvature is below -a as soon as a pivot is
not positive. So

1. A claim is checked along p_k, at no gradient for the direction.
2. Where curvature is found, or is visible, Lanczos begins again from p_k. Whenever its room is full
   it begins once more, from its lowest Ritz vector. It ends after half as many steps as the search
   before. Nothing is claimed from its T: v_1 is not random there.
"""

from math import inf

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import PROVE, PhaseName
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN
from unsaddle.escapes.basis import full
from unsaddle.escapes.krylov import Memory
from unsaddle.escapes.probe import next_step
from unsaddle.escapes.recheck import LOWEST, LOWEST_CLOSE, first_query
from unsaddle.escapes.recheck import TUNING as RECHECK
from unsaddle.escapes.recurrence import Recurrence

REFINE, RITZ_VECTOR = PhaseName.REFINE, PhaseName.RITZ_VECTOR


def ritz_vector(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """u = V y, where y is the lowest eigenvector of T; H u = theta u + beta y_k v_{k+1}."""
    e, (vectors, diagonal, offdiagonal) = s.escape, s.escape.basis
    curvature, weights = ops.ritz(diagonal, offdiagonal, e.steps)
    v = ops.combine(vectors, e.steps, weights)
    u, rest = ops.scale(1 / ops.norm(v), v), ops.get_scalar(weights, e.steps - 1)
    bend = ops.axpy(e.recurrence.beta * rest, e.direction, ops.times(curvature, u))
    stage, again = ops.where(can_query_close(e), LOWEST_CLOSE, LOWEST), left(ops, e) > 0
    probe = e.probe._replace(kept=ops.switch(again, u, bend), stage=stage)
    found = e._replace(direction=u, curvature=curvature, probe=probe)
    jumps = ops.where(curvature < 0, JUMP_BEGIN, PROVE)  # above zero it was an error of T
    onto = ops.where(e.found < inf, jumps, first_query(ops, p, found))
    return s.searched(ops.where(again, REFINE, onto), found)


def can_query_close(e: Memory) -> Scalar:
    """Say whether noise does not hide gamma over r/16, where it counts sixteen times."""
    shown = e.resolution.of_noise / RECHECK.close <= RECHECK.close * e.resolution.curvature_tol
    return shown & (e.probe.noise == 0) & (e.resolution.sides == 1)


def left(ops: Ops, e: Memory) -> Scalar:
    """Twice the steps that are still to be taken from p_k; not positive where none are."""
    return e.recurrence.refining - 2 * e.steps


def conjugate(ops: Ops, e: Memory) -> Memory:
    """Carry p_k on; p_1 = v_1, as the pivot before it is infinite."""
    weight = -e.recurrence.beta / e.recurrence.pivot
    p = ops.axpy(1.0, e.direction, ops.scale(weight, e.probe.kept))
    return e._replace(probe=e.probe._replace(kept=p))


def refine(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Check the claim along p_k, or begin again from it."""
    e, row, (vectors, diagonal, offdiagonal) = s.escape, s.escape.recurrence, s.escape.basis
    lowest, _ = ops.ritz(diagonal, offdiagonal, e.steps)
    u = ops.times(1 / ops.norm(e.probe.kept), e.probe.kept)
    seen = (e.found < inf) | (row.dip < 0) | (row.refining > 0)
    after = e._replace(
        direction=u,
        basis=e.basis._replace(vectors=ops.set_vector(vectors, 0, u)),
        recurrence=ops.switch(seen, from_lowest(ops, e), row),
        curvature=lowest,
        probe=e.probe._replace(stage=LOWEST),
    )
    onto = ops.where(seen, next_step(ops, e.resolution), first_query(ops, p, after))
    return s.searched(onto, after)


def from_lowest(ops: Ops, e: Memory) -> Recurrence:
    """No steps yet; curvature that was found stays found."""
    row, (_, diagonal, offdiagonal) = e.recurrence, e.basis
    met = ops.tridiagonal_bound(diagonal, offdiagonal, e.steps)
    return Recurrence(
        found=ops.where(e.found < inf, 1, inf),
        off_tridiagonal=row.off_tridiagonal,
        refining=ops.where(row.refining > 0, left(ops, e), e.steps),
        largest=ops.maximum(met, row.largest),
    )


def refined(ops: Ops, e: Memory) -> Scalar:
    """Go on until there is no room for more, or no step left to take."""
    done = full(ops, e) | (left(ops, e) <= 0)
    return ops.where(done, RITZ_VECTOR, next_step(ops, e.resolution))
