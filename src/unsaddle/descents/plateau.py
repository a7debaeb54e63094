"""Is a training stuck? What the gradients and losses of a block of steps say, each of its batch.

Over W steps with gradients g_t and losses f_t, whose mean gradient is m:

* the noise of a gradient is sigma^2 = sum |g_t - m|^2/(W - 1);
* the gradient is *lost in the noise* where |m|^2 <= ``TUNING.still`` sigma^2/W: the mean of W
  gradients that are noise alone has the square sigma^2/W;
* the loss is *flat* where the line fitted to f_t falls by at most ``TUNING.flat`` standard errors.

A training that goes on has a mean gradient beyond the noise or a falling loss. At a saddle it has
neither, nor at a minimum: a search tells the two apart. A step adds its gradient to the sum of the
block, and only a full block is asked for m: so a step goes over that sum once.
"""

from typing import NamedTuple

from unsaddle.core.ops import Ops, Scalar, Vector


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    still: float = 1.5  # of sigma^2/W, above 1: noise alone is below it in 9 of 10 blocks
    flat: float = 2.0  # standard errors, 1 to 4: noise alone is below it in 97 of 100 blocks


TUNING = Tuning()


class Block(NamedTuple):
    """What is known of the steps of a block beside the sum of their gradients."""

    steps: Scalar = 0
    mean_square: Scalar = 0.0  # |m|^2 of a full block
    squares: Scalar = 0.0  # sum of |g_t|^2
    first: Scalar = 0.0  # f_0, from which losses are counted
    losses: Scalar = 0.0  # sum of f_t - f_0
    loss_squares: Scalar = 0.0
    trend: Scalar = 0.0  # sum of t (f_t - f_0)


def extended(
    ops: Ops, b: Block, total: Vector, value: Scalar, gradient: Vector
) -> tuple[Block, Vector]:
    """Add a step, and to the sum of gradients, which it consumes; the first step replaces it."""
    old = ops.where(b.steps == 0, 0.0, 1.0)
    first = ops.where(b.steps == 0, value, b.first)
    loss = value - first
    after = b._replace(
        steps=b.steps + 1,
        squares=old * b.squares + ops.norm(gradient) ** 2,
        first=first,
        losses=old * b.losses + loss,
        loss_squares=old * b.loss_squares + loss * loss,
        trend=old * b.trend + b.steps * loss,
    )
    return after, ops.axpy(1.0, gradient, ops.scale(old, total))


def averaged(ops: Ops, b: Block, total: Vector, full: Scalar) -> Block:
    """Add |m|^2, which takes a pass over the sum of gradients, if the block is full."""

    def square(_: Scalar, before: Scalar) -> Scalar:
        return (ops.norm(total) / b.steps) ** 2

    return b._replace(mean_square=ops.repeat(ops.where(full, 1, 0), square, b.mean_square))


def noise(ops: Ops, b: Block) -> Scalar:
    """Sigma, the noise of a gradient."""
    apart = ops.maximum(b.squares - b.steps * b.mean_square, 0.0)
    return ops.sqrt(apart / ops.maximum(b.steps - 1, 1))


def stuck(ops: Ops, b: Block) -> Scalar:
    """Say whether the gradient is lost in the noise and the loss is flat."""
    sigma = noise(ops, b)
    lost = b.steps * b.mean_square <= TUNING.still * sigma * sigma
    return lost & is_flat(ops, b)


def is_flat(ops: Ops, b: Block) -> Scalar:
    """Say whether the loss does not fall, as far as its spread from batch to batch lets one see."""
    w = 1.0 * b.steps
    spread = w * (w * w - 1) / 12  # sum of (t - mean of t)^2
    slope = (b.trend - (w - 1) / 2 * b.losses) / ops.maximum(spread, 1)
    rest = b.loss_squares - b.losses * b.losses / w - slope * slope * spread
    error = ops.sqrt(ops.maximum(rest, 0.0) / ops.maximum(w - 2, 1))
    return -slope * ops.sqrt(spread) <= TUNING.flat * error
