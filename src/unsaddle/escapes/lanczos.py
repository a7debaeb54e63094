"""Lanczos on gradient differences: the fewest gradients that any Krylov search can do with.

Source: the Lanczos process with full reorthogonalisation. The certificate is Christoffel's: let
q_j be the orthonormal polynomials of the spectral measure of (H, xi), which the process builds.
While the lowest Ritz value lies above -gamma, every q_j^2 grows as lambda falls below it, so

    lambda_min <= -gamma   implies   <u, xi>^2 <= 1/K,      K = sum_{j <= k} q_j(-gamma)^2,

and sqrt(K) >= sqrt(2n/pi)/delta certifies just as a growth does (see ``certificate.py``). No
certificate from the same gradients can be better, and on an invariant subspace K is infinite.

Choices:

1. l and rho are what was given or what the descent has met; gamma, where not given, is
   max(sqrt(rho eps), ``finest`` l).
2. The error of a difference is measured: along v_1 by halving r, which costs one gradient and
   sees every kind of bending (r is shortened while bending, not rounding, hides gamma), and at
   every step for nothing, as V'HV of an exact H is tridiagonal and symmetric and whatever else is
   found there is error. Four times that must stay below gamma.
3. After -``enough`` gamma is found the search goes on for half as many steps again: the jump
   gains with the cube of the curvature.
4. When the memory is full and nothing is decided, it ends undecided.
"""

from math import inf
from typing import NamedTuple

from unsaddle.certificate import NO_SIGHT, Sight, sight
from unsaddle.escapes.stride import MEASURE, NO_STRIDE, PHASES, Stride
from unsaddle.kernel import (
    BEGIN,
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
    q: Scalar  # |q_{k-1}(-gamma)|/sqrt(K)
    q_before: Scalar  # |q_{k-2}(-gamma)|/sqrt(K)
    growth: Scalar  # sqrt(K)
    strange: Scalar  # largest measured error of H v
    floor: Scalar  # what an earlier search has learnt of it
    curvature: Scalar  # lowest Ritz value, once found
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


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw v_1 = xi, uniform on the sphere."""
    s = s._replace(episode=s.episode + 1)
    xi = ops.noise(s.x, s.seed, s.episode)
    first = ops.scale(1 / ops.norm(xi), xi)
    radius = 2 * ops.sqrt(ops.roundoff(s.x)) * ops.maximum(ops.norm(s.x), 1.0)
    search = s.escape._replace(
        gradient=ops.keep(gradient),
        direction=first,
        basis=ops.put(s.escape.basis, 0, first),
        beta=0.0,
        steps=0,
        found=inf,
        pivot=inf,
        q=1.0,
        q_before=0.0,
        growth=1.0,
        strange=0.0,
        curvature=inf,
        sight=NO_SIGHT._replace(radius=radius),
    )
    return s._replace(escape=search, phase=HALF)


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
    smoothness = ops.maximum(ops.maximum(c.smoothness, met), ops.norm(bend) / r)
    change = 4 * ops.norm(ops.add(bend, -2.0, short)) / (r * r)
    rho = ops.maximum(ops.maximum(c.hessian_lipschitz, changing), change)
    own = ops.maximum(ops.sqrt(rho * p.tolerance), c.finest * smoothness)
    gamma = ops.maximum(ops.where(c.curvature_tol > 0, c.curvature_tol, own), e.floor)
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
    )
    bending = rho * r / 2
    shorten = (seen.curvature_tol > gamma) & (bending > 4 * (seen.error - bending))
    best = ops.sqrt(ops.maximum(seen.error - bending, 0.0) / ops.maximum(bending, ops.tiny(s.x)))
    factor = ops.where(best < 1 / 4, ops.maximum(best, 1e-3), 1 / 4)
    seen = seen._replace(radius=ops.where(shorten, factor * r, r))
    return s._replace(escape=e._replace(sight=seen), phase=ops.where(shorten, HALF, FIRST))


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
        q=q / root,
        q_before=e.q / root,
        growth=ops.where(rest > 0, e.growth * root, inf),
        strange=strange,
        floor=ops.maximum(e.floor, 8 * strange),
    )
    return s._replace(escape=after, phase=onward(ops, s, after))


def orthogonal(ops: Ops, e: Memory, w: Vector) -> tuple[Vector, Vector]:
    """Take the basis out of w, twice, which is enough; and say how much of it there was."""
    along = ops.against(e.basis, e.steps + 1, w)
    w = ops.axpy(-1.0, ops.mix(e.basis, e.steps + 1, along), w)
    again = ops.against(e.basis, e.steps + 1, w)
    return ops.axpy(-1.0, ops.mix(e.basis, e.steps + 1, again), w), along


def onward(ops: Ops, s: State, e: Memory) -> Scalar:
    """Certified, found, undecided, or on."""
    n, seen, missing = ops.size(s.x), e.sight, e.found == inf
    grown = (e.growth >= seen.needed) | (e.steps >= n)
    clear = 4 * e.strange <= seen.curvature_tol
    over = e.steps >= places(n)
    ripe = (2 * e.steps >= 3 * e.found) | ops.where(missing, False, over)
    certified = ops.where(clear, CERTIFIED, BEGIN)  # or once more, for a larger gamma
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
        zero, zero, ops.shelf(x, room), row, ops.times(0.0, row), 0.0, 0, inf, inf, 1.0, 0.0, 1.0,
        0.0, 0.0, inf, NO_SIGHT, NO_STRIDE,
    )  # fmt: skip


lanczos = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        HALF: Phase(halfway, GRADIENT, half),
        WHOLE: Phase(probe, GRADIENT, whole),
        FIRST: Phase(iterate, NOTHING, search),
        SEARCH: Phase(probe, GRADIENT, search),
        FOUND: Phase(iterate, NOTHING, ritz),
        **PHASES,
    },
    Settings,
    memory,
)
