"""The scalars that every step of Lanczos carries on: what T shows, and what it proves.

They are the pivots of T + a I, of which one turns negative as soon as T has an eigenvalue below -a,
and Christoffel's sum K of ``lanczos.py``, kept as ratios that cannot overflow. As T is kept, they
can be had again for another gamma, at no gradient.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.resolution import Resolution, visible_curvature


class Recurrence(NamedTuple):
    """Scalars that every step carries on."""

    beta: Scalar = 0.0  # beta_k
    pivot: Scalar = inf  # last one of T + (enough gamma) I: negative as soon as enough is found
    dip: Scalar = inf  # last one of T + (4 error) I: negative as soon as any curvature is seen
    q: Scalar = 1.0  # |q_{k-1}(-gamma)|/sqrt(K)
    q_before: Scalar = 0.0  # |q_{k-2}(-gamma)|/sqrt(K)
    growth: Scalar = 1.0  # sqrt(K)
    steps: Scalar = 0  # k - 1
    found: Scalar = inf  # after how many steps curvature enough was found
    off_tridiagonal: Scalar = 0.0  # largest measured error of H v: what T should not have shown
    refining: Scalar = 0  # steps of the search whose lowest direction is sought, in ``lowest.py``
    largest: Scalar = 0.0  # curvature that search has met


def carry_on(
    ops: Ops,
    share: float,  # of gamma, at which a direction is good enough
    row: Recurrence,  # after the step before
    resolution: Resolution,
    alpha: Scalar,  # alpha_k, the new diagonal entry of T
    beta: Scalar,  # beta_{k+1}, the new one beside it; zero where the space is invariant
    tiny: float,  # in place of zero
) -> Recurrence:
    """Carry the pivots of T + a I and |q_k(-gamma)| = ((alpha + gamma) q - beta_k q_-)/beta on."""
    enough = share * resolution.curvature_tol + resolution.error
    dip = alpha + visible_curvature(ops.maximum(resolution.error, row.off_tridiagonal))
    pivot = alpha + enough - row.beta * row.beta / row.pivot
    found = ops.where((pivot <= 0) & (row.found == inf), row.steps + 1, row.found)
    divisor = ops.maximum(beta, tiny)
    q = ((alpha + resolution.rate) * row.q - row.beta * row.q_before) / divisor
    root = ops.sqrt(1 + q * q)
    return Recurrence(
        beta=divisor,
        pivot=ops.where(found < inf, inf, pivot),
        dip=ops.where(row.dip > 0, dip - row.beta * row.beta / row.dip, row.dip),
        q=q / root,
        q_before=row.q / root,
        growth=ops.where(beta > tiny, row.growth * root, inf),
        steps=row.steps + 1,
        found=found,
        off_tridiagonal=row.off_tridiagonal,
        refining=row.refining,
        largest=row.largest,
    )


def again(
    ops: Ops,
    share: float,
    row: Recurrence,
    resolution: Resolution,
    diagonal: Vector,
    offdiagonal: Vector,
    tiny: float,
) -> Recurrence:
    """Carry all rows of T on once more, for the gamma and the error of this resolution."""

    def body(j: Scalar, row: Recurrence) -> Recurrence:
        alpha, beta = ops.get_scalar(diagonal, j), ops.get_scalar(offdiagonal, j)
        return carry_on(ops, share, row, resolution, alpha, beta, tiny)

    first = ops.switch(True, Recurrence(off_tridiagonal=row.off_tridiagonal), row)
    return ops.repeat(row.steps, body, first)
