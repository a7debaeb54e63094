"""``certify`` and ``find_negative_curvature``: a search at one point, from any optimiser."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from unsaddle.certificate import Certificate
from unsaddle.descents.gd import gd
from unsaddle.driver import EndError, Look, Run
from unsaddle.escapes import krylov
from unsaddle.escapes.anc import anc
from unsaddle.escapes.lanczos import lanczos
from unsaddle.escapes.nc import nc
from unsaddle.escapes.stride import MEASURE
from unsaddle.hints import SEARCHED, knowing
from unsaddle.kernel import (
    BEGIN,
    GRADIENT,
    Outcome,
    Parameters,
    Part,
    State,
    compose,
)
from unsaddle.methods import ENOUGH, FINEST
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector
from unsaddle.oracle import NotFiniteError, Oracle, point, whole
from unsaddle.search import largest, mirror, read, refutes, sloped
from unsaddle.theory import check
from unsaddle.words import nearest

SEARCHES: dict[str, Part] = {"lanczos": lanczos, "anc": anc, "nc": nc}
SPREAD = 1.5  # what the largest curvature that Lanczos met is multiplied by


@knowing(SEARCHED)
def certify(
    grad: Callable[[Vector], Any],
    x: Any,
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    *,
    noise: float = 0.0,
) -> Certificate:
    """Certify that the Hessian at x has no eigenvalue below -curvature_tol, or find one.

    Args:
        grad: The gradient.
        x: Any point; that the gradient is small there is for the caller to see.
        curvature_tol: The gamma to certify; 1e-4 of the largest curvature met if not given.
        failure_probability: Chance that the claim is made although it is false.
        seed: All randomness is a function of it.
        max_gradients: Stop before one gradient more than this.
        noise: Relative error of a gradient, where it is above the roundoff: as far as
            noise l max(1, |x|) away, where l is the largest curvature.

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
        noise=noise,
    )


@knowing(SEARCHED)
def find_negative_curvature(
    grad: Callable[[Vector], Any],
    x: Any,
    method: str = "lanczos",
    curvature_tol: float | None = None,  # gamma
    failure_probability: float = 1e-3,  # delta
    seed: int = 0,
    max_gradients: int | None = None,
    *,
    noise: float = 0.0,
) -> Certificate:
    """Search for a direction of negative curvature at x with a search of one's choice.

    Args:
        grad: The gradient.
        x: Any point.
        method: ``lanczos`` (fewest gradients), or the paper's ``anc`` and ``nc``, which keep three
            vectors however long they take; what they have to know is measured by four steps of
            Lanczos, which settle the matter where there are few variables.
        curvature_tol: The search ends at half of this, or when there is none; see ``certify``.
        failure_probability: Chance that "there is none" is wrong.
        seed: All randomness is a function of it.
        max_gradients: Stop before one gradient more than this.
        noise: Relative error of a gradient, where it is above the roundoff: as far as
            noise l max(1, |x|) away, where l is the largest curvature.

    Returns:
        The certificate, with ``direction`` where negative curvature was found.

    Raises:
        ValueError: If an argument is out of range; the message names it.
        NotFiniteError: If the gradient is NaN or infinite.
        KeyboardInterrupt: If that came while searching.
    """
    if method not in SEARCHES:
        raise ValueError(f"method {method!r} is unknown; {nearest(method, SEARCHES)}")
    given = {"failure_probability": failure_probability}
    given = check(given if curvature_tol is None else {**given, "curvature_tol": curvature_tol})
    failure_probability, curvature_tol = given["failure_probability"], given.get("curvature_tol")
    whole("seed", seed)
    if not (isinstance(noise, Real) and 0 <= noise < math.inf):
        raise ValueError(f"noise must be a number >= 0, the error's share, got {noise!r}")
    limit = math.inf if max_gradients is None else whole("max_gradients", max_gradients, " or None")
    x = point(x, "x")
    run = Run(compose(gd, lanczos), Parameters(0.0, None, None), Oracle(None, grad, (), x, "grad"))
    run.oracle.noise = noise
    run.iterate = Look(x, None, None)
    try:
        run.look(x.copy(), GRADIENT, limit, here=True, name="estimate")
        outcome = look_around(
            run, x, curvature_tol or 0.0, failure_probability, int(seed), 0, limit, method
        )
    except EndError:
        spent, note = run.oracle.gradients, "The budget did not suffice."
        return Certificate(None, curvature_tol or math.nan, 1.0, math.nan, None, spent, note)
    if outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if outcome is Outcome.NOT_FINITE:
        raise NotFiniteError("grad returned NaN or infinity")
    certificate = read(ops, run.state, failure_probability, run.oracle.gradients, noise)
    return sloped(ops, certificate, run.state.escape, x)


def look_around(
    run: Run,
    x: Vector,
    curvature_tol: float,
    failure_probability: float,
    seed: int,
    episode: int,
    limit: float,
    method: str = "lanczos",
    callback: Callable[[Run], None] | None = None,
    known: tuple[float, float] = (0.0, 0.0),  # l and rho, if they are given
) -> Outcome:
    """Search at x, where ``run.gradient`` is the gradient, and stop before any jump.

    Lanczos comes first; where its memory is full, or another search is asked for, that follows
    with what Lanczos has learnt of the Hessian.

    Args:
        run: Whose oracle is asked, whose history goes on, and whose state is replaced.
        x: Centre of the search.
        curvature_tol: The gamma to certify, or zero.
        failure_probability: The delta of the whole run.
        seed: Of the noise.
        episode: Searches before this one.
        limit: How many gradients the oracle may give in all.
        method: Which search.
        callback: Called after every gradient.
        known: l and rho, or zero.

    Returns:
        How it ended; TESTED if the search is over, but certified nothing.
    """
    outcome = Outcome.TESTED
    if run.within is None or isinstance(run.within.state.escape, krylov.Memory):
        noise = run.oracle.noise
        wanted = lanczos.settings(ENOUGH, FINEST, curvature_tol, failure_probability, *known, noise)
        short = method != "lanczos"
        outcome = search(run, lanczos, wanted, x, seed, episode, limit, callback, short)
    if outcome is Outcome.TESTED and run.state.phase != MEASURE:
        follows, settings = "anc" if method == "lanczos" else method, None
        if run.within is None:
            settings = follow(run.state, follows, failure_probability)
            run.gradient, episode = run.state.escape.gradient.copy(), run.state.episode
        outcome = search(run, SEARCHES[follows], settings, x, seed, episode, limit, callback)
    if refutes(run.state):
        run.state = mirror(ops, lambda at: run.gradient_at(at, limit, "mirror"), run.state)
    return outcome


def search(
    run: Run,
    part: Part,
    settings: Any,
    x: Vector,
    seed: int,
    episode: int,
    limit: float,
    callback: Callable[[Run], None] | None = None,
    short: bool = False,
) -> Outcome:
    """Run one search at x, or go on with ``run.within``, up to a jump or, if ``short``, 4 steps."""
    solver, within = compose(gd, part), run.within
    run.phases, run.within = solver.phases, None
    run.parameters = run.parameters._replace(escape=within.settings if within else settings)
    begun = solver.start(ops, run.parameters, x, seed)._replace(phase=BEGIN, episode=episode)
    run.state = within.state if within else begun

    def over(phase: int) -> bool:
        return phase < 0 or phase == MEASURE or (short and run.state.escape.steps >= 4)

    return run.go(limit, callback, until=over)


def follow(state: State, method: str, failure_probability: float) -> Any:
    """Give the settings of a search that goes on where Lanczos has left off.

    Args:
        state: In which Lanczos ended; its Ritz values say how large the Hessian is.
        method: The search to follow, ``anc`` or ``nc``.
        failure_probability: The delta of the whole run.

    Returns:
        The settings.
    """
    e, seen = state.escape, state.escape.sight
    smoothness = max(SPREAD * largest(ops, e), 4 * seen.error, ops.sqrt(ops.tiny(state.x)))
    gamma = min(float(seen.curvature_tol), smoothness)
    rate = smoothness / gamma
    decades = math.log(10 * seen.needed * (1 + state.episode) ** 2)
    friction = {"search_friction": 0.5 / math.sqrt(rate)} if method == "anc" else {}
    return SEARCHES[method].settings(
        search_step=1 / smoothness,
        radius=seen.radius,
        window=math.ceil(50 * (math.sqrt(rate) if method == "anc" else rate) * decades),
        enough=ENOUGH,
        length=0.0,
        decrease=0.0,
        curvature_tol=float(max(seen.asked, e.floor) or seen.curvature_tol) or math.nan,
        failure_probability=failure_probability,
        smoothness=smoothness,
        hessian_lipschitz=(2 * seen.error + e.strange) / seen.radius + ops.tiny(state.x),
        **friction,
    )
