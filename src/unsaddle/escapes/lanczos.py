"""Lanczos on gradient differences: the fewest gradients that any Krylov search can do with.

Source: the Lanczos process with full reorthogonalisation. The certificate is Christoffel's: let
q_j be the orthonormal polynomials of the spectral measure of (H, xi), which the process builds.
While the lowest Ritz value lies above -gamma, every q_j^2 grows as lambda falls below it, so

    lambda_min <= -gamma   implies   <u, xi>^2 <= 1/K,      K = sum_{j <= k} q_j(-gamma)^2,

and sqrt(K) >= sqrt(2n/pi)/delta certifies just as a growth does (see ``certificate.py``). No
certificate from the same gradients can be better, and on an invariant subspace K is infinite.

Choices, beside those of ``sounding.py``:

1. After -``enough`` gamma is found the search goes on for half as many steps again: the jump
   gains with the cube of the curvature.
2. Where gamma was not given and the claim could be made, but there is curvature below zero that
   can be told from error, a jump is tried first: the claim is made if it does not pay.
3. When the memory is full and nothing is decided, it ends undecided.
"""

from math import inf

from unsaddle.escapes.krylov import Memory, Settings, memory, orthogonal, places
from unsaddle.escapes.sounding import FIRST, HALF, SEARCH, SOUNDING, aim, probe
from unsaddle.escapes.stride import MEASURE, PHASES
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

FOUND, AGAIN = BEGIN + 8, BEGIN + 9


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw v_1 = xi, uniform on the sphere."""
    s = s._replace(episode=s.episode + 1)
    first, seen = aim(ops, p, s)
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
        sight=seen,
    )
    return s._replace(escape=search, phase=HALF)


def again(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin once more at the same x~, whose gradient is known."""
    return begin(ops, p, s, value, s.escape.gradient)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """beta_{k+1} v_{k+1} = H v_k - alpha_k v_k - beta_k v_{k-1}, and what the new row shows."""
    e, k, seen = s.escape, s.escape.steps, s.escape.sight
    w = ops.scale(1 / seen.radius, ops.axpy(-1.0, e.gradient, gradient))  # H v_k
    alpha = ops.dot(e.direction, w)
    w, along = orthogonal(ops, e, w)
    rest = ops.norm(w)
    beta = ops.maximum(rest, ops.tiny(w))
    elsewhere = ops.record(ops.record(along, k, 0.0), k - 1, ops.read(along, k - 1) - e.beta)
    strange = ops.maximum(e.strange, ops.norm(elsewhere))
    pivot = alpha + p.escape.enough * seen.curvature_tol + seen.error - e.beta * e.beta / e.pivot
    dip = alpha + 4 * ops.maximum(seen.error, strange) - e.beta * e.beta / e.dip
    q = ((alpha + seen.rate) * e.q - e.beta * e.q_before) / beta  # |q_k(-gamma)|/sqrt(K)
    root = ops.sqrt(1 + q * q)
    ahead = ops.scale(1 / beta, w)
    found = ops.where((pivot <= 0) & (e.found == inf), k + 1, e.found)
    after = e._replace(
        direction=ops.hold(ahead),
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
    sure = clear | (e.dip < 0)  # else what was found may be error
    found = ops.where(sure, FOUND, AGAIN)
    onto = ops.where(missing & grown, certified, ops.where(ripe, found, undecided))
    return ops.where(e.beta < inf, onto, BLIND)  # differences that overflow show nothing


def ritz(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """e = V y, where y is the lowest eigenvector of T."""
    e = s.escape
    curvature, weights = ops.ritz(e.diagonal, e.beside, e.steps)
    v = ops.mix(e.basis, e.steps, weights)
    found = e._replace(direction=ops.scale(1 / ops.norm(v), v), curvature=curvature)
    return s._replace(escape=found, phase=MEASURE)


lanczos = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        **SOUNDING,
        FIRST: Phase(iterate, NOTHING, search),
        SEARCH: Phase(probe, GRADIENT, search),
        FOUND: Phase(iterate, NOTHING, ritz),
        AGAIN: Phase(iterate, NOTHING, again),
        **PHASES,
    },
    Settings,
    memory,
)
