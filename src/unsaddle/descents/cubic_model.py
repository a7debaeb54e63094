"""The least value of a cubic model on a Krylov space, whose Hessian is a tridiagonal T.

Source: Nesterov & Polyak (2006) for the conditions, which hold for the minimiser and for nothing
else. With c = |g|, so that g = c v_1, the model of f(x + V y) - f(x) is

    m(y) = c y_1 + y'T y/2 + (rho/6) |y|^3,
    (T + lambda I) y = -c e_1,     |y| = 2 lambda/rho,     T + lambda I >= 0.

|y| falls with lambda, and 2 lambda/rho rises: lambda is where they meet, by bisection between
max(0, -theta), theta the lowest eigenvalue of T, and sqrt(rho c/2) above that, where |y| is
shorter for sure.

The hard case: where e_1 has nothing along the lowest eigenvector z of T, |y| may be shorter than
2 lambda/rho already at lambda = -theta. Then what is missing is added along z, at no slope.
"""

from typing import Any, NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    halvings: int = 40  # 20 to 100: 2^-40 of the interval is a share of |g| that counts for nothing
    singular: float = 8.0  # roundoffs of T, 1 to 100: so far above -theta its pivots are positive


TUNING = Tuning()


class Tridiagonal(NamedTuple):
    """T = V'HV, as two rows of which so many places count."""

    diagonal: Any  # alpha_1, alpha_2, ...
    offdiagonal: Any  # beta_2, beta_3, ...
    count: Scalar


class Least(NamedTuple):
    """The minimiser of the model."""

    weights: Any  # y, a row
    shift: Scalar  # lambda
    value: Scalar  # m(y)


def minimise(ops: Ops, t: Tridiagonal, slope: Scalar, rho: Scalar, like: Vector) -> Least:
    """Give the minimiser of m, in the precision of a vector like this."""
    theta, lowest = ops.ritz(*t)
    close = TUNING.singular * ops.roundoff(like) * ops.tridiagonal_bound(*t)
    least = ops.maximum(close - theta, 0.0)

    def solved(shift: Scalar) -> Any:
        return shifted(ops, t, slope, shift, ops.tiny(like))

    def halve(j: Scalar, between: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        low, high = between
        middle = (low + high) / 2
        long = rho * ops.norm(solved(middle)) > 2 * middle
        return ops.where(long, middle, low), ops.where(long, high, middle)

    hard = rho * ops.norm(solved(least)) < 2 * least
    _, shift = ops.repeat(TUNING.halvings, halve, (least, least + ops.sqrt(rho * slope / 2)))
    shift = ops.where(hard, least, shift)
    y, z = solved(shift), ops.where(hard, 1.0, 0.0) * lowest
    y = y + missing(ops, y, z, 2 * shift / rho) * z
    return Least(y, shift, model(ops, shift, y, slope, rho))


def missing(ops: Ops, y: Any, z: Any, length: Scalar) -> Scalar:
    """The t >= 0 with |y + t z| = length, where |z| = 1 and y is no longer than that."""
    along, size = (y * z).sum(), ops.norm(y)
    return ops.sqrt(ops.maximum(length * length - size * size + along * along, 0.0)) - along


def model(ops: Ops, shift: Scalar, y: Any, slope: Scalar, rho: Scalar) -> Scalar:
    """m(y) = (c y_1 - lambda |y|^2)/2 + (rho/6) |y|^3, by what holds for the minimiser."""
    size = ops.norm(y)
    square = size * size
    return (slope * ops.get_scalar(y, 0) - shift * square) / 2 + rho / 6 * size * square


def shifted(ops: Ops, t: Tridiagonal, slope: Scalar, shift: Scalar, tiny: float) -> Any:
    """y = -c (T + shift I)^-1 e_1: pivots d_i from below, then y_{i+1} = -(b_i/d_{i+1}) y_i."""

    def eliminate(j: Scalar, carry: tuple[Any, Scalar]) -> tuple[Any, Scalar]:
        row, below = carry
        i = t.count - 1 - j
        b = ops.get_scalar(t.offdiagonal, i)
        pivot = ops.maximum(ops.get_scalar(t.diagonal, i) + shift - b * b * below, tiny)
        return ops.set_scalar(row, i, 1 / pivot), 1 / pivot

    def substitute(j: Scalar, carry: tuple[Any, Scalar]) -> tuple[Any, Scalar]:
        row, y = carry
        before = ops.where(j == 0, slope, ops.get_scalar(t.offdiagonal, j - 1) * y)
        y = -ops.get_scalar(inverses, j) * before
        return ops.set_scalar(row, j, y), y

    zero = 0.0 * (slope + shift)
    inverses, _ = ops.repeat(t.count, eliminate, (0.0 * t.diagonal, zero))
    return ops.repeat(t.count, substitute, (0.0 * t.diagonal, zero))[0]
