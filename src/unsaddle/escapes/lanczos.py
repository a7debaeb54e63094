"""Lanczos on gradient differences: the fewest gradients that any Krylov search can do with.

Source: the Lanczos process with full reorthogonalisation. The certificate is Christoffel's: let
q_j be the orthonormal polynomials of the spectral measure of (H, xi), which the process builds.
While the lowest Ritz value lies above -gamma, every q_j^2 grows as lambda falls below it, so

    lambda_min <= -gamma   implies   <u, xi>^2 <= 1/K,      K = sum_{j <= k} q_j(-gamma)^2,

and sqrt(K) >= sqrt(2n/pi)/delta certifies just as a growth does (see ``certificate.py``). No
certificate from the same gradients can be better, and on an invariant subspace K is infinite.

Choices:

1. l and rho are what was given or what was met; gamma, where not given, is sqrt(rho eps), kept
   between ``finest`` l and l/100 with the l met at x~ where rho was not given either.
2. The error of a difference is measured: along v_1 by halving r, which costs one gradient (r is
   shortened while bending, not rounding, hides gamma; where that makes it worse the gradient is
   noisy, and r is lengthened instead), and at every step for nothing, as V'HV of an exact H is
   tridiagonal and symmetric and whatever else is found there is error. Four times that must stay
   below gamma.
3. After -``enough`` gamma is found the search goes on for half as many steps again: the jump
   gains with the cube of the curvature.
4. Where gamma was not given and the claim could be made, but there is curvature below zero that
   can be told from error, a jump is tried first: the claim is made if it does not pay.
5. When the memory is full and nothing is decided, it ends undecided.
"""

from math import inf
from typing import NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight, sight
from unsaddle.escapes.stride import MEASURE, NO_STRIDE, PHASES, Stride
from unsaddle.kernel import (
    BEGIN,
    BLIND,
    CERTIFIED,
    GRADIENT,
    NOTHING,
    TESTED,
    Ops,
    Parameters,
    Part,
    Phase,
    Scalar,
    State,
    Vector,
    iterate,
)

SEARCH, HALF, WHOLE, FIRST, FOUND = BEGIN + 1, BEGIN + 5, BEGIN + 6, BEGIN + 7, BEGIN + 8
AGAIN = BEGIN + 9
WIDEST, CLEAR = 1e-2, 1e-2  # r, as a share of max(|x|, 1); 4 e, as a share of gamma
COARSEST = 1e-2  # share of l above which gamma is not chosen
MEMORY = 2**27  # numbers, one gibibyte in double precision


class Memory(NamedTuple):
    """The search at x~."""

    gradient: Vector  # g(x~)
    direction: Vector  # v_k; in the end the Ritz vector
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


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw v_1 = xi, uniform on the sphere."""
    s = s._replace(episode=s.episode + 1)
    xi = ops.noise(s.x, s.seed, s.episode)
    first = ops.scale(1 / ops.norm(xi), xi)
    unit = ops.maximum(ops.roundoff(s.x), p.escape.noise)
    radius = 2 * ops.sqrt(unit) * ops.maximum(ops.norm(s.x), 1.0)
    search = s.escape._replace(
        gradient=ops.keep(gradient),
        direction=first,
        basis=ops.put(s.escape.basis, 0, first),
        beta=0.0,
        steps=0,
        found=inf,
        pivot=inf,
        dip=inf,
        q=1.0,
        q_before=0.0,
        growth=1.0,
        strange=0.0,
        curvature=inf,
        pace=0.25,
        sight=NO_SIGHT._replace(radius=radius, error=inf),
    )
    return s._replace(escape=search, phase=HALF)


def again(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin once more at the same x~, whose gradient is known."""
    return begin(ops, p, s, value, s.escape.gradient)


def probe(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + r v_k."""
    return ops.add(s.x, s.escape.sight.radius, s.escape.direction)


def halfway(ops: Ops, p: Parameters, s: State) -> Vector:
    """x~ + (r/2) v_1."""
    return ops.add(s.x, s.escape.sight.radius / 2, s.escape.direction)


def half(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~ + (r/2) v_1) where v_2 will be."""
    basis = ops.put(s.escape.basis, 1, gradient)
    return s._replace(escape=s.escape._replace(basis=basis), phase=WHOLE)


def whole(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """See how large the curvature is and how it changes; choose gamma; shorten r if need be."""
    e, c, r = s.escape, p.escape, s.escape.sight.radius
    bend = ops.add(gradient, -1.0, e.gradient)
    short = ops.add(ops.pick(e.basis, 1), -1.0, e.gradient)
    met, changing = s.descent.scale()
    local = ops.norm(bend) / r
    smoothness = ops.maximum(ops.maximum(c.smoothness, met), local)
    change = 4 * ops.norm(ops.add(bend, -2.0, short)) / (r * r)
    rho = ops.maximum(c.hessian_lipschitz, change)
    known = ops.where(c.hessian_lipschitz > 0, c.hessian_lipschitz, ops.maximum(rho, changing))
    own = ops.sqrt(known * p.tolerance)
    coarse = (c.finest > 0) & (own > COARSEST * local)
    own = ops.maximum(ops.where(coarse, COARSEST * local, own), c.finest * local)
    asked = ops.where(c.curvature_tol > 0, c.curvature_tol, own)
    gamma = ops.maximum(asked, e.floor)
    seen = sight(
        ops,
        s.x,
        e.gradient,
        s.episode,
        radius=r,
        smoothness=smoothness,
        hessian_lipschitz=rho,
        curvature_tol=gamma,
        failure_probability=c.failure_probability,
        unit=ops.maximum(ops.roundoff(s.x), c.noise),
    )._replace(asked=asked)
    bending = rho * r / 2
    share = ops.where(c.curvature_tol > 0, 1.0, CLEAR)  # noise passes for rho, and raises gamma
    hides = (4 * seen.error > share * gamma) & (bending > 4 * (seen.error - bending))
    worse = hides & (seen.error >= e.sight.error)
    turns = worse & (e.pace < 1)
    ends = worse & (e.pace > 1)
    pace = ops.where(turns, 4.0, e.pace)
    ahead = ops.where(turns, 16 * r, e.pace * r)
    on = ops.where(ends, False, hides) & (ahead <= WIDEST * ops.maximum(ops.norm(s.x), 1.0))
    best = Sight(*(ops.where(worse, old, new) for old, new in zip(e.sight, seen, strict=True)))
    best = best._replace(radius=ops.where(on, ahead, ops.where(worse, r / e.pace, r)))
    after = e._replace(sight=best, pace=pace)
    blind = hides & (2 * best.curvature_tol > local)
    onto = ops.where(blind, BLIND, ops.where(worse, SEARCH, FIRST))
    phase = ops.where(on, HALF, onto)
    return s._replace(escape=after, phase=phase)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """beta_{k+1} v_{k+1} = H v_k - alpha_k v_k - beta_k v_{k-1}, and what the new row shows."""
    e, k, seen = s.escape, s.escape.steps, s.escape.sight
    w = ops.scale(1 / seen.radius, ops.axpy(-1.0, e.gradient, gradient))  # H v_k
    alpha = ops.dot(e.direction, w)
    w, along = orthogonal(ops, e, w)
    rest = ops.norm(w)
    beta = ops.maximum(rest, ops.tiny(w))
    elsewhere = ops.record(ops.record(along, k, 0.0), k - 1, along[k - 1] - e.beta)
    strange = ops.maximum(e.strange, ops.norm(elsewhere))
    pivot = alpha + p.escape.enough * seen.curvature_tol + seen.error - e.beta * e.beta / e.pivot
    dip = alpha + 4 * ops.maximum(seen.error, strange) - e.beta * e.beta / e.dip
    q = ((alpha + seen.rate) * e.q - e.beta * e.q_before) / beta  # |q_k(-gamma)|/sqrt(K)
    root = ops.sqrt(1 + q * q)
    ahead = ops.scale(1 / beta, w)
    found = ops.where((pivot <= 0) & (e.found == inf), k + 1, e.found)
    after = e._replace(
        direction=ahead,
        basis=ops.put(e.basis, k + 1, ahead),
        diagonal=ops.record(e.diagonal, k, alpha),
        beside=ops.record(e.beside, k, beta),
        beta=beta,
        steps=k + 1,
        found=found,
        pivot=ops.where(found < inf, inf, pivot),
        dip=ops.where(e.dip > 0, dip, e.dip),
        q=q / root,
        q_before=e.q / root,
        growth=ops.where(rest > 0, e.growth * root, inf),
        strange=strange,
        floor=ops.maximum(e.floor, 8 * strange),
    )
    return s._replace(escape=after, phase=onward(ops, p, s, after))


def orthogonal(ops: Ops, e: Memory, w: Vector) -> tuple[Vector, Vector]:
    """Take the basis out of w, twice, which is enough; and say how much of it there was."""
    along = ops.against(e.basis, e.steps + 1, w)
    w = ops.axpy(-1.0, ops.mix(e.basis, e.steps + 1, along), w)
    again = ops.against(e.basis, e.steps + 1, w)
    return ops.axpy(-1.0, ops.mix(e.basis, e.steps + 1, again), w), along


def onward(ops: Ops, p: Parameters, s: State, e: Memory) -> Scalar:
    """Certified, found, undecided, or on."""
    n, seen, missing = ops.size(s.x), e.sight, e.found == inf
    grown = (e.growth >= seen.needed) | (e.steps >= n)
    clear = 4 * e.strange <= seen.curvature_tol
    over = e.steps >= places(n)
    ripe = (2 * e.steps >= 3 * e.found) | ops.where(missing, False, over)
    dips = (e.dip < 0) & (p.escape.curvature_tol == 0)
    certified = ops.where(clear, ops.where(dips, FOUND, CERTIFIED), AGAIN)
    undecided = ops.where(over, TESTED, SEARCH)
    return ops.where(missing & grown, certified, ops.where(ripe, FOUND, undecided))


def ritz(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """e = V y, where y is the lowest eigenvector of T."""
    e = s.escape
    curvature, weights = ops.ritz(e.diagonal, e.beside, e.steps)
    v = ops.mix(e.basis, e.steps, weights)
    found = e._replace(direction=ops.scale(1 / ops.norm(v), v), curvature=curvature)
    return s._replace(escape=found, phase=MEASURE)


def places(n: int) -> int:
    """How many vectors the search may keep."""
    return min(n, 1000, max(2, MEMORY // n))


def memory(ops: Ops, x: Vector) -> Memory:
    """Room for the basis."""
    room = places(ops.size(x)) + 1
    row, zero = ops.blank(x, room), ops.times(0.0, x)
    return Memory(
        zero, zero, ops.shelf(x, room), row, ops.times(0.0, row), 0.0, 0, inf, inf, inf, 1.0, 0.0,
        1.0, 0.0, 0.0, inf, 0.25, NO_SIGHT, NO_STRIDE,
    )  # fmt: skip


lanczos = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        HALF: Phase(halfway, GRADIENT, half),
        WHOLE: Phase(probe, GRADIENT, whole),
        FIRST: Phase(iterate, NOTHING, search),
        SEARCH: Phase(probe, GRADIENT, search),
        FOUND: Phase(iterate, NOTHING, ritz),
        AGAIN: Phase(iterate, NOTHING, again),
        **PHASES,
    },
    Settings,
    memory,
)
