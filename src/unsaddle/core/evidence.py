"""From what a search has measured to what may be claimed: one record, one function.

Both work on floats and on traced arrays alike; ``unsaddle.certificate`` puts the claim into words.
"""

from collections.abc import Sequence
from math import inf, nan
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution


class Evidence(NamedTuple):
    """What a search has measured at x~; the memory of every escape gives it."""

    gradient: Vector  # g(x~)
    direction: Vector  # along which the curvature is lowest; of any length
    curvature: Scalar  # the lowest Rayleigh quotient; infinite where there is none yet
    largest: Scalar  # the largest curvature met
    krylov: bool  # whether Christoffel's certificate is meant, and not the growth
    resolution: Resolution
    noise: Scalar = 0.0  # error of a gradient, as declared or measured; zero if it is rounding
    growth: Scalar = nan  # which certifies where it is as needed; NaN where nothing grows

    def flat(self, ops: Ops, x: Vector) -> Scalar:
        """Say whether no curvature was met at all."""
        return self.largest <= TUNING.flat * ops.tiny(x)


class Claim(NamedTuple):
    """What a search has shown: ``unsaddle.Certificate`` as numbers, or as arrays on JAX."""

    holds: Any  # 1 certified, 0 negative curvature found, -1 undecided
    curvature_tol: Any
    asked: Any  # the curvature_tol before it was raised to what can be resolved
    failure_probability: Any
    curvature: Any
    direction: Any  # of length one; zero unless negative curvature was found
    gradients: Any
    rigorous: Any  # whether the certificate holds against any gradient error up to the floor
    raised: Any  # whether curvature_tol is above what was asked for
    coarser: Any  # whether that is less than was asked for, and no success
    radius: Any  # over which gradients were differenced
    sides: Any  # 1 forward, 2 central
    noise: Any  # error of a gradient, as declared or measured; zero if it is rounding
    phase: Any  # in which the search ended
    largest: Any  # curvature that it met
    flat: Any  # whether it met none at all
    gradient_norm: Any  # at x; NaN if there was no search
    steep: Any  # whether that is too long for a stationary point
    krylov: Any = False  # whether the certificate is Christoffel's
    exact: Any = False  # whether it is from exact products, and not from differences
    products: Any = 0  # that the search took


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    steep: float = 1e-3  # of l max(1, |x|), (0, 1): a longer gradient is of no stationary point
    weak: float = 0.1  # of the largest curvature, (0, 1): to rule out more than this says little;
    # where errors have forced such a gamma, it is less than anybody would ask for
    flat: float = 4.0  # least normal numbers, 2 to 1000: curvature of zero is counted as one or two


TUNING = Tuning()
FOUND = (PhaseName.JUMP_FAILED, PhaseName.NEGATIVE_CURVATURE)
SHORT_OF_TOL = (PhaseName.CERTIFIED, PhaseName.UNCERTIFIED, PhaseName.UNRESOLVED)
DECIDED = (*FOUND, *SHORT_OF_TOL)


def among(phase: Any, codes: Sequence[PhaseName]) -> Any:
    """Say whether a phase, which may be traced, is one of these."""
    hit = phase == codes[0]
    for code in codes[1:]:
        hit = hit | (phase == code)
    return hit


def no_evidence(memory: Any, ops: Ops, x: Vector) -> Evidence:
    """Give the evidence of an escape that does not search; ``evidence`` of its memory."""
    return Evidence(x, x, inf, 0.0, False, NO_RESOLUTION)


def of_search(e: Any, ops: Ops, x: Vector) -> Evidence:
    """Give what a search has measured whose l is its resolution's; ``evidence`` of its memory."""
    largest = e.resolution.smoothness
    return Evidence(e.gradient, e.direction, e.curvature, largest, False, e.resolution)


def evidence(ops: Ops, s: State) -> Evidence:
    """Give what the last search has measured: the proof's, if the proof has been at work."""
    own = s.escape.evidence(ops, s.x)
    if s.proof is None:
        return own
    last = s.proof.evidence(ops, s.x)
    return Evidence(
        gradient=ops.switch(s.proving, last.gradient, own.gradient),
        direction=ops.switch(s.proving, last.direction, own.direction),
        curvature=ops.where(s.proving, last.curvature, own.curvature),
        largest=ops.where(s.proving, last.largest, own.largest),
        krylov=ops.where(s.proving, last.krylov, own.krylov),
        resolution=ops.switch(s.proving, last.resolution, own.resolution),
        noise=ops.where(s.proving, last.noise, own.noise),
        growth=ops.where(s.proving, last.growth, own.growth),
    )


def coarser(ops: Ops, p: Parameters, s: State, found: Evidence) -> Scalar:
    """Say whether gamma is above the one given, or above a share of the largest curvature."""
    resolution = found.resolution
    raised = resolution.curvature_tol > resolution.asked + 2 * ops.tiny(s.x)
    given = p.curvature_tol > 0
    flat = found.flat(ops, s.x)  # and gamma is above all that there is
    weak = ops.where(flat, False, is_weak(resolution.curvature_tol, found.largest))
    return raised & (given | weak)


def is_weak(curvature_tol: Scalar, largest: Scalar) -> Scalar:
    """Say whether a claim for this gamma says little of a Hessian that curves as much as this."""
    return curvature_tol > TUNING.weak * largest


def last_phase(ops: Ops, p: Parameters, s: State) -> Scalar:
    """Give the phase that tells the outcome: STALLED or COARSER where they say more than it."""
    return phase_told(ops, s, coarser(ops, p, s, evidence(ops, s)))


def phase_told(ops: Ops, s: State, coarse: Scalar) -> Scalar:
    """Give the phase that tells the outcome, once it is known whether the claim is coarser."""
    short = (s.phase == PhaseName.CERTIFIED) & coarse
    stalled = s.stalled & among(s.phase, SHORT_OF_TOL)
    return ops.where(stalled, PhaseName.STALLED, ops.where(short, PhaseName.COARSER, s.phase))


def read(
    ops: Ops,
    p: Parameters,
    s: State,
    gradients: Scalar,
    products: Scalar = 0,
) -> Claim:
    """Say what a run in state s has shown of the curvature at x, and what its search took."""
    found, tiny = evidence(ops, s), ops.tiny(s.x)
    resolution, gamma = found.resolution, found.resolution.curvature_tol
    inside = (s.phase > BEGIN) & (s.phase != PhaseName.LANDED)  # a jump has left what was searched
    reached = among(s.phase, DECIDED) | inside
    searched = reached & (resolution.needed > 0)
    certified = searched & (s.phase == PhaseName.CERTIFIED)
    negative = searched & among(s.phase, FOUND) & resolution.shows(found.curvature)
    asked = ops.where(searched, resolution.asked, p.curvature_tol)
    claimed = ops.where(negative, asked, ops.where(searched, gamma, asked))
    slope, length = ops.norm(found.gradient), ops.maximum(ops.norm(found.direction), tiny)
    bound = TUNING.steep * found.largest * ops.maximum(1.0, ops.norm(s.x))
    risk = ops.where(negative, 0.0, 1.0)
    return Claim(
        holds=ops.where(certified, 1, ops.where(negative, 0, -1)),
        curvature_tol=claimed,
        asked=asked,
        failure_probability=ops.where(certified, p.failure_probability, risk),
        curvature=ops.where(searched, found.curvature, nan),
        direction=ops.times(ops.where(negative, 1 / length, 0.0), found.direction),
        gradients=gradients,
        rigorous=resolution.rigorous(gamma),
        raised=claimed > asked + 2 * tiny,
        coarser=certified & coarser(ops, p, s, found),
        radius=ops.where(searched, nan if p.products else resolution.radius, nan),
        sides=resolution.sides,
        noise=found.noise,
        phase=ops.where(searched | (s.phase >= BEGIN), s.phase, PhaseName.START),
        largest=found.largest,
        flat=found.flat(ops, s.x),
        gradient_norm=ops.where(reached & (resolution.radius > 0), slope, nan),
        steep=searched & (slope > ops.maximum(bound, p.tolerance)),
        krylov=found.krylov,
        exact=p.products,
        products=products,
    )
