"""The scalars that every step of Lanczos carries on: what T shows, and what it proves.

They are the pivots of T + a I, of which one turns negative as soon as T has an eigenvalue below -a,
and Christoffel's sum K of ``lanczos.py``, kept as ratios that cannot overflow.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar
from unsaddle.core.resolution import Resolution


class Recurrence(NamedTuple):
    """Scalars that every step carries on."""

    beta: Scalar = 0.0  # beta_k
    pivot: Scalar = inf  # last one of T + (enough gamma) I: negative as soon as enough is found
    dip: Scalar = inf  # last one of T + (4 error) I: negative as soon as any curvature is seen
    q: Scalar = 1.0  # |q_{k-1}(-gamma)|/sqrt(K)
    q_before: Scalar = 0.0  # |q_{k-2}(-gamma)|/sqrt(K)
    growth: Scalar = 1.0  # sqrt(K)
    off_tridiagonal: Scalar = 0.0  # largest measured error of H v: what T should not have shown


def carry_on(
    ops: Ops,
    share: float,  # of gamma, at which a direction is good enough
    row: Recurrence,  # after the step before
    resolution: Resolution,
    alpha: Scalar,  # alpha_k, the new diagonal entry of T
    beta: Scalar,  # beta_{k+1}, the new one beside it
    error: Scalar,  # norm of what V'H v_k has beside alpha_k and beta_k
) -> Recurrence:
    """Carry the pivots of T + a I and |q_k(-gamma)| = ((alpha + gamma) q - beta_k q_-)/beta on."""
    off_tridiagonal = ops.maximum(row.off_tridiagonal, error)
    enough = share * resolution.curvature_tol + resolution.error
    dip = alpha + 4 * ops.maximum(resolution.error, off_tridiagonal)
    q = ((alpha + resolution.rate) * row.q - row.beta * row.q_before) / beta
    root = ops.sqrt(1 + q * q)
    return Recurrence(
        beta=beta,
        pivot=alpha + enough - row.beta * row.beta / row.pivot,
        dip=ops.where(row.dip > 0, dip - row.beta * row.beta / row.dip, row.dip),
        q=q / root,
        q_before=row.q / root,
        growth=row.growth * root,
        off_tridiagonal=off_tridiagonal,
    )
