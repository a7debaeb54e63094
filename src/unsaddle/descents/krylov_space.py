"""The Krylov space of (H, g), one vector at a time: Lanczos from v_1 = g/|g|.

    beta_{k+1} v_{k+1} = H v_k - alpha_k v_k - beta_k v_{k-1},

reorthogonalised against all vectors, which are kept. It ends where there is no room for more, or
where beta is below a root of the roundoff: what is left then is mostly rounding.
"""

from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.descents.cubic_model import Tridiagonal


class Space(NamedTuple):
    """A basis, and T = V'HV."""

    direction: Vector  # v_{k+1}, along which H is to be known next
    vectors: Vector  # v_1, v_2, ...
    diagonal: Vector  # alpha_1, alpha_2, ...
    offdiagonal: Vector  # beta_2, beta_3, ...
    steps: Scalar = 0  # k, along so many H is known

    @property
    def hessian(self) -> Tridiagonal:
        """T."""
        return Tridiagonal(self.diagonal, self.offdiagonal, self.steps)


def blank(ops: Ops, x: Vector, vectors: int) -> Space:
    """Room for so many vectors, or for the whole space."""
    places = min(ops.size(x) + 1, vectors)
    rows = ops.scalars(x, places), ops.scalars(x, places)
    return Space(ops.times(0.0, x), ops.vectors(x, places), *rows)


def begun(ops: Ops, space: Space, gradient: Vector) -> Space:
    """v_1 = g/|g|."""
    v = ops.times(1 / ops.maximum(ops.norm(gradient), ops.tiny(gradient)), gradient)
    places = ops.places(space.vectors)
    rows = ops.scalars(gradient, places), ops.scalars(gradient, places)
    return Space(v, ops.set_vector(space.vectors, 0, v), *rows)


def extended(ops: Ops, space: Space, w: Vector) -> Space:
    """Take w = H v_k in, which is consumed, and make v_{k+1}."""
    k = space.steps + 1
    alpha, tiny = ops.dot(space.direction, w), ops.tiny(w)
    for _ in range(2):  # which is enough
        along = ops.inner_products(space.vectors, k, w)
        w = ops.axpy(-1.0, ops.combine(space.vectors, k, along), w)
    beta = ops.maximum(ops.norm(w), tiny)
    v = ops.scale(1 / beta, w)
    return Space(
        direction=v,
        vectors=ops.set_vector(space.vectors, k, v),
        diagonal=ops.set_scalar(space.diagonal, space.steps, alpha),
        offdiagonal=ops.set_scalar(space.offdiagonal, space.steps, beta),
        steps=k,
    )


def complete(ops: Ops, space: Space) -> Scalar:
    """Say whether there is no room for more, or H hardly leads out of the space."""
    last = ops.get_scalar(space.offdiagonal, space.steps - 1)
    floor = ops.sqrt(ops.roundoff(space.direction)) * ops.tridiagonal_bound(*space.hessian)
    alone = last <= ops.maximum(floor, ops.tiny(space.direction))
    return (space.steps + 1 >= ops.places(space.vectors)) | alone


def dimensions(ops: Ops, settings: Any, gradient: Vector) -> Scalar:
    """(1/2) sqrt(1 + l/sqrt(rho |g|)) log(2/accuracy)."""
    shift = ops.sqrt(settings.hessian_lipschitz * ops.norm(gradient)) + ops.tiny(gradient)
    return ops.log(2 / settings.accuracy) / 2 * ops.sqrt(1 + settings.smoothness / shift)
