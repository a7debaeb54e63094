"""The basis that Lanczos builds, or as much of it as there is room for.

Where not all of it may be kept, the first vectors stay and the last two take turns in what is left:
the recurrence needs no more. The first ones hold the eigenvectors at the upper end of the spectrum,
which would come back as ghosts otherwise, and take gradients. Christoffel's sum needs no vector at
all; what needs one, the lowest direction, is in ``lowest.py``.
"""

from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    vectors: int = 1001  # 3 and up: reorthogonalising against more costs more than most gradients
    recent: int = 2  # vectors, 2 and up: the last ones; instead of more, first ones are kept
    rows: int = 2**14  # of T, 1000 and up: the most steps of a search that keeps part of the basis


TUNING = Tuning()


class Basis(NamedTuple):
    """What grows with every step: V, and the rows of the tridiagonal T = V'HV."""

    vectors: Vector  # v_1, v_2, ...
    diagonal: Vector  # alpha_1, alpha_2, ...
    offdiagonal: Vector  # beta_2, beta_3, ...


def blank(ops: Ops, x: Vector, vectors: int) -> Basis:
    """Room for so many vectors, or for the whole space, and for T."""
    n = ops.size(x)
    room = min(n + 1, vectors)
    rows = room if room > n else TUNING.rows
    return Basis(ops.vectors(x, room), ops.scalars(x, rows), ops.scalars(x, rows))


def orthogonal(ops: Ops, e: Any, w: Vector) -> tuple[Vector, Vector]:
    """Take what there is of the basis out of w, twice, which is enough; and say how much it was."""
    vectors, filled = e.basis.vectors, e.steps + 1
    count = ops.where(filled < ops.places(vectors), filled, ops.places(vectors))
    along = ops.inner_products(vectors, count, w)
    w = ops.add_combined(w, vectors, count, -along)
    again = ops.inner_products(vectors, count, w)
    return ops.add_combined(w, vectors, count, -again), along


def error_of(ops: Ops, e: Any, along: Vector) -> Scalar:
    """The norm of what V'H v_k has beside alpha_k and beta_k."""
    here, before = place(ops, e, e.steps), place(ops, e, e.steps - 1)
    room = ops.places(e.basis.vectors)
    # the last of the first vectors does not count where the next one is not kept: H couples the
    # two, and v_k may have lost its orthogonality to that one
    edge = max(room - TUNING.recent - 1, 0)
    known = ops.where(e.steps < room, ops.get_scalar(along, edge), 0.0)
    along = ops.set_scalar(along, edge, known)
    behind = ops.get_scalar(along, before) - e.recurrence.beta
    return ops.norm(ops.set_scalar(ops.set_scalar(along, here, 0.0), before, behind))


def extended(ops: Ops, e: Any, ahead: Vector, alpha: Scalar, beta: Scalar) -> Any:
    """Add alpha_k, beta_{k+1} and v_{k+1}."""
    k, (vectors, diagonal, offdiagonal) = e.steps, e.basis
    basis = e.basis._replace(
        vectors=ops.set_vector(vectors, place(ops, e, k + 1), ahead),
        diagonal=ops.set_scalar(diagonal, k, alpha),
        offdiagonal=ops.set_scalar(offdiagonal, k, beta),
    )
    return e._replace(direction=ops.retain(ahead), basis=basis)


def place(ops: Ops, e: Any, k: Scalar) -> Scalar:
    """Where v_{k+1} is kept."""
    room, recent = ops.places(e.basis.vectors), TUNING.recent
    return ops.where(k < room, k, room - recent + (k - room) % recent)


def keeps_all(ops: Ops, e: Any) -> bool:
    """Say whether there is room for a basis of the whole space; it is known before the run."""
    return ops.places(e.basis.vectors) > ops.size(e.gradient)


def full(ops: Ops, e: Any) -> Scalar:
    """Say whether the next vector of the basis takes the place of another."""
    return e.steps + 1 >= ops.places(e.basis.vectors)
