"""One difference of gradients, and what a search knows of its differences.

A forward difference compares g(x~ + r v) with g(x~), a central one with g(x~ - r v) and takes one
gradient more. ``probe_radius.py`` and ``noisy_radius.py`` choose the radius r and the sides.
"""

from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, Phase, State, Update, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import GRADIENT, PhaseName
from unsaddle.core.resolution import Resolution, at_noise_floor

SEARCH, SEARCH_BEHIND = PhaseName.SEARCH, PhaseName.SEARCH_BEHIND


class Probe(NamedTuple):
    """What is known of differences.

    noise, radius, bending, sides and error_floor hold for the rest of the run, what else there is
    for one search: the phases that choose r and those of the recheck use it one after the other.
    """

    kept: Vector  # a gradient or a difference that waits for its counterpart
    behind: Vector  # what the gradient ahead is compared with: g(x~), or g(x~ - r v); while r
    # is chosen by ``noisy_radius.py``, the fourth difference so far
    noise: Scalar = 0.0  # error of a gradient, as declared or measured; zero if it is rounding
    radius: Scalar = 0.0  # r, once it was chosen for good; zero before
    bending: Scalar = 0.0  # what derivatives add to the error of a difference over this r
    sides: Scalar = 1  # 1 forward, 2 central
    held: Scalar = 0.0  # a number that waits with ``kept``, or for ``noise_level.py``
    error_floor: Scalar = 0.0  # the least gamma, by the errors that were measured
    radius_factor: Scalar = 1.0  # what r was multiplied by last
    unpaired: Scalar = False  # whether the first probe was not halved
    doubted: Scalar = False  # whether errors were larger at this point than was counted with
    stage: Scalar = 0  # of the recheck; before that, pairs with like errors, or radii tried


def at_new_point(ops: Ops, p: Parameters, probe: Probe) -> Probe:
    """What still holds at another point: the noise, and r if gamma is given; else r is a guess."""
    guess = ops.where(p.escape.curvature_tol > 0, probe.radius, -abs(probe.radius))
    return probe._replace(radius=guess, error_floor=0.0, doubted=False)


def known_noise(ops: Ops, p: Parameters, s: State, gradient: Vector) -> Scalar:
    """The noise as declared or measured, also by a descent that came down to it."""
    stuck = s.stalled & at_noise_floor(ops.norm(gradient), s.noise)
    known = ops.maximum(s.escape.probe.noise, p.escape.gradient_noise)
    known = ops.where(stuck, ops.maximum(known, s.noise), known)
    return ops.where(p.products, 0.0, known)


def reach(ops: Ops, p: Parameters, x: Vector, widest: float) -> Scalar:
    """The longest r that may be tried; zero where r is given."""
    far, most = widest * ops.maximum(ops.norm(x), 1.0), p.escape.max_step
    return ops.where(p.escape.probe_radius > 0, 0.0, ops.where(far < most, far, most))


def difference(ops: Ops, e: Any, gradient: Vector, share: Scalar = 1.0) -> Vector:
    """H v by a difference over share r; consumes the gradient at x~ + share r v."""
    resolution = e.resolution
    span = resolution.sides * share * resolution.radius
    return ops.scale(1 / span, ops.axpy(-1.0, e.probe.behind, gradient))


def choose_scalars(ops: Ops, condition: Scalar, one: Probe, other: Probe) -> Probe:
    """Give one or the other, which have the same vectors."""
    fields = ("radius", "bending", "sides", "error_floor", "held")
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in fields)
    return one._replace(**{name: ops.where(condition, a, b) for name, a, b in pairs})


def next_step(ops: Ops, resolution: Resolution) -> Scalar:
    """The phase in which the next step of a search begins."""
    return ops.where(resolution.sides > 1, SEARCH_BEHIND, SEARCH)


def remember_behind(onto: PhaseName) -> Update:
    """Give the update that keeps the gradient of a query behind x~."""

    def update(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        probe = s.escape.probe._replace(behind=ops.copy(gradient))
        return s.searched(onto, s.escape._replace(probe=probe))

    return update


QUERY_BEHIND = Phase(probing(-1.0), GRADIENT, remember_behind(SEARCH))
