"""One search at one point, on any backend: its constants, its settings, and what it has shown."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from unsaddle.certificate import Certificate, rounded_up
from unsaddle.escapes.anc import anc
from unsaddle.escapes.jump import MEASURE
from unsaddle.escapes.nc import nc
from unsaddle.escapes.window import window
from unsaddle.kernel import (
    BLIND,
    CERTIFIED,
    TESTED,
    Ops,
    Part,
    Scalar,
    State,
    Vector,
)
from unsaddle.methods import ENOUGH, FINEST

SEARCHES: dict[str, Part] = {"anc": anc, "nc": nc}
ROUGH = 1e-3  # finest share of l for gamma around another optimiser: a search is not to be long
AGAIN = 2.0  # times tol: around another optimiser, a gradient above it allows another search
PROBES = 4  # power steps that estimate l
MARGIN = 1.5  # what the estimate of l is multiplied by
STEEP = 1e-3  # share of l max(1, |x|): a larger gradient is not that of a stationary point
SLOPE = "The gradient is {:.3g} here, x is not stationary: this is about its curvature only."
WEAK = 0.1  # share of the largest curvature: ruling out more than this says little
KINDS = {
    True: "rigorous against any gradient error up to the floor.",
    False: "practical: gradient errors are rounding, not malice.",
}
SHORT = "The budget did not suffice."
WHY = {
    BLIND: "Differences of the gradient show no curvature that could be told from their error.",
    TESTED: "The search ended undecided.",
    MEASURE: "The search ended undecided.",
}


def wanted(
    curvature_tol: float | None,
    failure_probability: float,
    smoothness: float | None = None,
    hessian_lipschitz: float | None = None,
    finest: float = FINEST,
) -> Any:
    """Give the settings of a search that finds out by itself what it is not told.

    Args:
        curvature_tol: The gamma to certify, if it is given.
        failure_probability: Of the whole run.
        smoothness: Bound on the Hessian's norm, if it is given.
        hessian_lipschitz: Lipschitz constant of the Hessian, if it is given.
        finest: Share of the curvature met below which gamma is not chosen.

    Returns:
        The settings.
    """
    given = (curvature_tol, failure_probability, smoothness, hessian_lipschitz)
    numbers = (float(number or 0.0) for number in given)
    return window.settings(ENOUGH, finest, *numbers, coarsest=1.0)


def told(
    ops: Ops,
    method: str,
    x: Vector,
    curvature_tol: float | None,
    failure_probability: float,
    smoothness: float,
    hessian_lipschitz: float,
) -> Any:
    """Give the settings of a single search at x that is told both constants.

    Args:
        ops: The backend.
        method: ``anc`` or ``nc``.
        x: Where.
        curvature_tol: The gamma to certify, if it is given.
        failure_probability: Of this search, which as the first spends 6/pi^2 of a whole run's.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.

    Returns:
        The settings.
    """
    gamma, delta = curvature_tol or FINEST * smoothness, failure_probability * math.pi**2 / 6
    return settings(ops, method, x, smoothness, hessian_lipschitz, gamma, delta)


def power(
    ops: Ops,
    look: Callable[[Vector], Vector],
    x: Vector,
    centre: Vector,
    seed: Scalar,
    radius: Scalar,
) -> Scalar:
    """Estimate l at x by power steps on differences of the gradient.

    Args:
        ops: The backend.
        look: The gradient at a point; lent until the next look.
        x: Where.
        centre: The gradient there.
        seed: Of the first direction.
        radius: How far to look.

    Returns:
        l with a margin.
    """
    u, smoothness = ops.noise(x, seed, 0), ops.sqrt(ops.tiny(x))
    for _ in range(PROBES):
        u = ops.scale(1 / ops.maximum(ops.norm(u), ops.tiny(x)), u)
        u = ops.scale(1 / radius, ops.axpy(-1.0, centre, ops.keep(look(ops.add(x, radius, u)))))
        smoothness = ops.maximum(smoothness, MARGIN * ops.norm(u))
    return smoothness


def settings(
    ops: Ops,
    method: str,
    x: Vector,
    smoothness: Scalar,
    hessian_lipschitz: Scalar,
    curvature_tol: Scalar,
    failure_probability: Scalar,
) -> Any:
    """Give a search at x that is as fast as the growth certificate allows: eta = 1/l.

    Args:
        ops: The backend.
        method: ``anc`` or ``nc``.
        x: Where.
        smoothness: Bound on the Hessian's norm.
        hessian_lipschitz: Lipschitz constant of the Hessian.
        curvature_tol: The gamma to certify.
        failure_probability: Of the whole run.

    Returns:
        The settings; the jump after it is gamma/(4 rho) long.
    """
    rate = ops.maximum(1.0, smoothness / curvature_tol)
    friction = {} if method == "nc" else {"search_friction": 0.5 / ops.sqrt(rate)}
    decades = ops.log(10 / failure_probability * ops.sqrt(2 * ops.size(x) / math.pi))
    length = curvature_tol / (4 * hessian_lipschitz)
    return SEARCHES[method].settings(
        search_step=1 / smoothness,
        radius=math.sqrt(ops.roundoff(x)) * ops.maximum(1.0, ops.norm(x)),
        window=50 * (rate if method == "nc" else ops.sqrt(rate)) * decades,
        enough=ENOUGH,
        length=length,
        decrease=curvature_tol * length**2 / 24,
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        smoothness=smoothness,
        hessian_lipschitz=hessian_lipschitz,
        **friction,
    )


def steps(escape: Any) -> Scalar:
    """Give how many steps the search of an escape took, wherever it counts them."""
    return escape.window.steps if hasattr(escape, "window") else escape.steps


def refutes(state: State) -> Scalar:
    """Say whether a search has ended with curvature below what was asked for, by all it knows."""
    return (state.phase == MEASURE) & state.escape.sight.shows(state.escape.curvature)


def mirror(ops: Ops, look: Callable[[Vector], Vector], state: State) -> State:
    """Measure the curvature that was found once more, from both sides, where bending cancels.

    Args:
        ops: The backend.
        look: The gradient at a point; lent until the next look.
        state: In which the search ended.

    Returns:
        The state, with what was measured.
    """
    e, radius = state.escape, state.escape.sight.radius
    u = ops.times(1 / ops.norm(e.direction), e.direction)
    ahead = ops.keep(look(ops.add(state.x, radius, u)))
    bend = ops.axpy(-1.0, look(ops.add(state.x, -radius, u)), ahead)
    curvature = ops.dot(u, bend) / (2 * radius)
    if hasattr(e, "window"):
        return state._replace(escape=e._replace(window=e.window._replace(curvature=curvature)))
    return state._replace(escape=e._replace(curvature=curvature))


def read(
    ops: Ops, state: State, failure_probability: float, gradients: int, noise: float = 0.0
) -> Certificate:
    """Say what a search has shown.

    Args:
        ops: The backend.
        state: In which it ended.
        failure_probability: Over the whole run.
        gradients: That it took.
        noise: Relative error of a gradient, where it is above the roundoff.

    Returns:
        The certificate.
    """
    e, seen, krylov = state.escape, state.escape.sight, hasattr(state.escape, "basis")
    refuted = seen.shows(e.curvature) and state.phase != TESTED
    dips = state.phase == MEASURE and getattr(e, "found", 0) == math.inf  # a jump was to come first
    proved = state.phase == CERTIFIED or dips
    holds = True if proved else False if refuted else None
    kind = KINDS[bool(seen.error * seen.needed <= seen.curvature_tol / 4)]
    kind = kind.replace("rounding", "noise") if noise else kind
    notes = {
        True: [f"{'Lanczos' if krylov else 'Growth'} certificate, {kind}"],
        False: [],
        None: [WHY.get(state.phase, SHORT)],
    }[holds]
    if holds is not False:
        notes += raised(seen.asked, seen.curvature_tol, ops.tiny(state.x), noise)
    if holds:
        notes += weak(seen.curvature_tol, largest(ops, e), ops.tiny(state.x))
    lowest = e.curvature
    if lowest == math.inf and krylov and e.steps and state.phase != BLIND:
        lowest, _ = ops.ritz(e.diagonal, e.beside, e.steps)
    return Certificate(
        holds=holds,
        curvature_tol=float(seen.asked if holds is False else seen.curvature_tol) or math.nan,
        failure_probability={True: failure_probability, False: 0.0, None: 1.0}[holds],
        curvature=float(lowest),
        direction=ops.times(1 / ops.norm(e.direction), e.direction) if holds is False else None,
        gradients=gradients,
        note=" ".join(notes),
        gradient_norm=float(ops.norm(e.gradient)) if hasattr(e, "gradient") else math.nan,
    )


def raised(asked: float, curvature_tol: float, tiny: float, noise: float = 0.0) -> list[str]:
    """Say so if gamma is above what was asked for, and why."""
    if not curvature_tol > asked + 2 * tiny:
        return []
    change = f"from {asked:.3g} to {rounded_up(curvature_tol)}"
    why = f"a gradient with noise {noise:.1g}" if noise else "floating point"
    return [f"curvature_tol was raised {change}: {why} cannot see less."]


def weak(curvature_tol: float, met: float, tiny: float) -> list[str]:
    """Say so if no curvature was met, or if gamma is hardly below the largest."""
    if met <= 4 * tiny:
        return ["The gradient was the same wherever it was looked at: flat, or too coarse."]
    return [f"It is weak beside the largest curvature, {met:.3g}."] * (curvature_tol > WEAK * met)


def sloped(ops: Ops, certificate: Certificate, e: Any, x: Vector) -> Certificate:
    """Say so if the gradient at x, where e is what a search has found, is not small."""
    if not steep(ops, certificate.gradient_norm, largest(ops, e), x):
        return certificate
    note = f"{certificate.note} {SLOPE.format(certificate.gradient_norm)}".strip()
    return dataclasses.replace(certificate, note=note)


def steep(ops: Ops, slope: Scalar, met: Scalar, x: Vector) -> Scalar:
    """Say whether a gradient is too long for a stationary point, given the largest curvature."""
    return slope > STEEP * met * ops.maximum(1.0, ops.norm(x))


def largest(ops: Ops, e: Any) -> float:
    """Bound the largest curvature that Lanczos has met by the rows of its matrix; else give l."""
    if not hasattr(e, "basis"):
        return float(e.sight.smoothness)
    rows = range(int(e.steps))
    beside = [0.0, *(float(ops.read(e.beside, i)) for i in rows)]
    return max(
        (abs(float(ops.read(e.diagonal, i))) + beside[i] + beside[i + 1] for i in rows), default=0.0
    )
