"""``certify`` and ``find_negative_curvature``: a search at one point, from any optimiser."""

import math
from collections.abc import Callable
from typing import Any

from unsaddle.certificate import Certificate
from unsaddle.descents.gd import gd
from unsaddle.driver import BudgetError, Run
from unsaddle.escapes.anc import anc
from unsaddle.escapes.nc import SEARCH, nc
from unsaddle.kernel import (
    BEGIN,
    CERTIFIED,
    GRADIENT,
    Outcome,
    Parameters,
    Part,
    State,
    compose,
)
from unsaddle.methods import ENOUGH, nearest
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import Oracle, point

SEARCHES: dict[str, Part] = {"nc": nc, "anc": anc}
PROBES = 4  # power steps, two gradients each, that estimate l and rho
MARGIN = 1.5  # what the estimate of l is multiplied by
FINEST = 1e-4  # default curvature_tol, as a share of l
GROWTH = {
    True: "Growth certificate, rigorous against any gradient error up to the floor.",
    False: "Growth certificate, practical: gradient errors are rounding, not malice.",
}


def certify(
    grad: Callable[[Vector], Any],
    x: Any,
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
) -> Certificate:
    """Certify that the Hessian at x has no eigenvalue below -curvature_tol, or find one.

    Args:
        grad: The gradient.
        x: Any point; that the gradient is small there is for the caller to see.
        curvature_tol: The gamma to certify; 1e-4 of the largest curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        max_gradients: Stop before one gradient more than this.

    Returns:
        The certificate; ``holds`` is True, False, or None where the budget did not suffice.
    """
    return find_negative_curvature(
        grad,
        x,
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        seed=seed,
        max_gradients=max_gradients,
    )


def find_negative_curvature(
    grad: Callable[[Vector], Any],
    x: Any,
    method: str = "anc",
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
) -> Certificate:
    """Search for a direction of negative curvature at x with a search of one's choice.

    Args:
        grad: The gradient.
        x: Any point.
        method: ``anc`` (accelerated) or ``nc``.
        curvature_tol: The search ends at half of this, or when there is none; see ``certify``.
        failure_probability: Chance that "there is none" is wrong.
        seed: All randomness is a function of it.
        max_gradients: Stop before one gradient more than this.

    Returns:
        The certificate, with ``direction`` where negative curvature was found.

    Raises:
        ValueError: If an argument is out of range; the message names it.
        KeyboardInterrupt: If that came while searching.
    """
    if method not in SEARCHES:
        raise ValueError(f"method {method!r} is unknown; {nearest(method, SEARCHES)}")
    if curvature_tol is not None and not curvature_tol > 0:
        raise ValueError(f"curvature_tol must be positive or None, got {curvature_tol!r}")
    if not 0 < failure_probability <= 1:
        raise ValueError(f"failure_probability must be in (0, 1], got {failure_probability!r}")
    x = point(x, "x")
    limit = math.inf if max_gradients is None else max_gradients
    run = Run(compose(gd, SEARCHES[method]), Parameters(0.0, None, None), Oracle(None, grad, (), x))
    try:
        smoothness, hessian_lipschitz = _constants(run, x, seed, limit)
    except BudgetError:
        return Certificate(
            None, curvature_tol or math.nan, 1.0, math.nan, None, run.oracle.gradients,
            "The budget did not even allow an estimate of the largest curvature.",
        )  # fmt: skip
    settings = search_settings(
        method, smoothness, hessian_lipschitz, curvature_tol or FINEST * smoothness,
        failure_probability * math.pi**2 / 6, x,
    )  # fmt: skip
    outcome = search(run, SEARCHES[method], settings, x, seed, 0, limit)
    if outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return read_search(run.state, curvature_tol, failure_probability, run.oracle.gradients)


def search(
    run: Run, part: Part, settings: Any, x: Vector, seed: int, episode: int, limit: float
) -> Outcome:
    """Run one search at x, where ``run.gradient`` is the gradient, and stop before any jump.

    Args:
        run: Whose oracle is asked, whose history goes on, and whose state is replaced.
        part: The escape.
        settings: Its settings.
        x: Centre of the search.
        seed: Of the noise.
        episode: Searches before this one.
        limit: How many gradients the oracle may give in all.

    Returns:
        How it ended; TESTED if the search is over, but certified nothing.
    """
    solver, run.parameters = compose(gd, part), Parameters(0.0, None, settings)
    run.phases = solver.phases
    state = solver.start(ops, run.parameters, x, seed)
    run.state = state._replace(phase=BEGIN, episode=episode)
    return run.go(limit, until=lambda phase: phase not in (BEGIN, SEARCH))


def search_settings(
    method: str,
    smoothness: float,
    hessian_lipschitz: float,
    curvature_tol: float,
    failure_probability: float,
    x: Vector,
) -> Any:
    """Give a search at x that is as fast as the growth certificate allows: eta = 1/l."""
    friction = (
        {}
        if method == "nc"
        else {"search_friction": min(0.5, 0.5 * math.sqrt(curvature_tol / smoothness))}
    )
    decades = math.log(math.sqrt(2 * x.size / math.pi) / failure_probability * 10)
    rate = smoothness / curvature_tol
    return SEARCHES[method].settings(
        search_step=1 / smoothness,
        radius=math.sqrt(ops.roundoff(x)) * max(1.0, ops.norm(x)),
        window=math.ceil(50 * (rate if method == "nc" else math.sqrt(rate)) * decades),
        enough=ENOUGH,
        length=0.0,
        decrease=0.0,
        curvature_tol=curvature_tol,
        failure_probability=failure_probability,
        smoothness=smoothness,
        hessian_lipschitz=hessian_lipschitz,
        **friction,
    )


def read_search(
    state: State, asked: float | None, failure_probability: float, gradients: int
) -> Certificate:
    """Say what a search has shown.

    Args:
        state: In which it ended.
        asked: The curvature_tol that the user asked for, if any.
        failure_probability: Over the whole run.
        gradients: That it took.

    Returns:
        The certificate.
    """
    e, seen = state.escape, state.escape.sight
    refuted = e.curvature + seen.error <= -seen.curvature_tol / 2
    holds = True if state.phase == CERTIFIED else False if refuted else None
    rigorous = seen.error * seen.needed <= seen.curvature_tol / 4
    notes = [GROWTH[bool(rigorous)]] if holds else []
    if asked is not None and seen.curvature_tol > asked:
        notes.append(
            f"curvature_tol was raised from {asked:.3g} to {seen.curvature_tol:.3g}: "
            "floating point cannot see less."
        )
    return Certificate(
        holds=holds,
        curvature_tol=float(seen.curvature_tol),
        failure_probability=failure_probability if holds is not False else 0.0,
        curvature=float(e.curvature),
        direction=e.direction / ops.norm(e.direction) if holds is False else None,
        gradients=gradients,
        note=" ".join(notes),
    )


def _constants(run: Run, x: Vector, seed: int, limit: float) -> tuple[float, float]:
    """Estimate l and rho at x from second differences of the gradient along power iterates."""
    run.look(x.copy(), GRADIENT, limit, here=True, name="estimate")
    centre = run.gradient
    assert centre is not None
    length = max(1.0, ops.norm(x))
    radius = ops.roundoff(x) ** (1 / 3) * length
    u = ops.noise(x, seed, 0)
    smoothness = hessian_lipschitz = ops.tiny(x)
    for _ in range(PROBES):
        u = ops.scale(1 / max(ops.norm(u), ops.tiny(x)), u)
        sides = []
        for side in (radius, -radius):
            run.look(ops.add(x, side, u), GRADIENT, limit, here=False, name="estimate")
            sides.append(run.gradient)
        bend, skew = (sides[0] - sides[1]) / (2 * radius), sides[0] + sides[1] - 2 * centre
        smoothness = max(smoothness, MARGIN * ops.norm(bend))
        hessian_lipschitz = max(hessian_lipschitz, ops.norm(skew) / radius**2)
        u = bend
    run.gradient = centre
    return smoothness, max(hessian_lipschitz, 1e-8 * smoothness / length)
