"""What a Lanczos search remembers: a basis, what it shows of the Hessian, and what it proves."""

from math import inf
from typing import NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight
from unsaddle.escapes.stride import NO_STRIDE, Stride
from unsaddle.kernel import Ops, Scalar, Vector

MEMORY = 2**27  # numbers, one gibibyte in double precision


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # v_k; in the end the Ritz vector
    aside: Vector  # g(x~ + (r/2) v_1)
    basis: Vector  # v_1, v_2, ...
    diagonal: Vector  # alpha_1, alpha_2, ...
    beside: Vector  # beta_2, beta_3, ...
    beta: Scalar  # beta_k
    steps: Scalar  # k - 1
    found: Scalar  # after how many steps curvature enough was found
    pivot: Scalar  # last one of T + (enough gamma) I: negative as soon as it is found
    dip: Scalar  # last one of T + (4 error) I: negative as soon as there is any to be seen
    q: Scalar  # |q_{k-1}(-gamma)|/sqrt(K)
    q_before: Scalar  # |q_{k-2}(-gamma)|/sqrt(K)
    growth: Scalar  # sqrt(K)
    strange: Scalar  # largest measured error of H v
    floor: Scalar  # what an earlier search has learnt of it
    curvature: Scalar  # lowest Ritz value, once found
    pace: Scalar  # what r is multiplied by while that improves the sight
    sight: Sight
    stride: Stride


class Settings(NamedTuple):
    """Hyperparameters."""

    enough: float  # share of gamma at which a direction is good enough
    finest: float  # share of l below which gamma is not to go, unless it is given
    curvature_tol: float  # gamma, or zero
    failure_probability: float  # delta
    smoothness: float  # l, or zero
    hessian_lipschitz: float  # rho, or zero
    noise: float = 0.0  # relative error of a gradient, where it is above the roundoff
    coarsest: float = 1e-2  # share of l above which gamma is not chosen


def orthogonal(ops: Ops, e: Memory, w: Vector) -> tuple[Vector, Vector]:
    """Take the basis out of w, twice, which is enough; and say how much of it there was."""
    along = ops.against(e.basis, e.steps + 1, w)
    w = ops.axpy(-1.0, ops.mix(e.basis, e.steps + 1, along), w)
    again = ops.against(e.basis, e.steps + 1, w)
    return ops.axpy(-1.0, ops.mix(e.basis, e.steps + 1, again), w), along


def places(n: int) -> int:
    """How many vectors the search may keep."""
    return min(n, 1000, max(2, MEMORY // n))


def memory(ops: Ops, x: Vector) -> Memory:
    """Room for the basis."""
    room = places(ops.size(x)) + 1
    row, beside, zero = ops.blank(x, room), ops.blank(x, room), ops.times(0.0, x)
    return Memory(
        zero, zero, zero, ops.shelf(x, room), row, beside, 0.0, 0, inf, inf, inf, 1.0,
        0.0, 1.0, 0.0, 0.0, inf, 0.25, NO_SIGHT, NO_STRIDE,
    )  # fmt: skip
