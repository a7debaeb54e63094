"""Lanczos on gradient differences: the fewest gradients that any Krylov search can do with.

Source: the Lanczos process, reorthogonalised against the vectors that are kept (``basis.py``). The
certificate is Christoffel's: let q_j be the orthonormal polynomials of the spectral measure of
(H, xi), which the process builds. While the lowest Ritz value lies above -gamma, every q_j^2 grows
as lambda falls below it, so

    lambda_min <= -gamma   implies   <u, xi>^2 <= 1/K,      K = sum_{j <= k} q_j(-gamma)^2,

and sqrt(K) >= sqrt(2n/pi)/delta certifies just as a growth does (see ``core/resolution.py``). No
certificate from the same gradients can be better, and on an invariant subspace K is infinite.

Choices, beside those of ``probe_radius.py``:

1. After -``enough`` gamma is found the search goes on for half as many steps again.
2. Where the claim could be made, but there is curvature below zero that can be told from error, a
   jump is tried first: the claim is made if it does not pay.
3. V'HV of an exact H is tridiagonal and symmetric. Whatever else is found there is error, and four
   times its norm must stay below gamma; else see ``doubt.py``.
4. Before a claim is made it is checked along the Ritz vector, in ``recheck.py``; where not all of
   the basis was kept, along the vector that ``lowest.py`` gives.
5. n steps prove only where all of the basis was kept. Where T is full and nothing is decided, the
   search ends undecided.
"""

from math import inf
from typing import NamedTuple

from unsaddle.core.kernel import (
    Parameters,
    Part,
    Phase,
    State,
    begin_search,
    go_to,
    iterate,
    probing,
)
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, GRADIENT, NOTHING, PROBE, PROVE, PhaseName
from unsaddle.core.resolution import visible_curvature
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN, PHASES
from unsaddle.escapes.basis import error_of, extended, full, keeps_all, orthogonal
from unsaddle.escapes.doubt import DOUBT, RAISE, doubt, raising
from unsaddle.escapes.krylov import Memory, Settings, memory
from unsaddle.escapes.lowest import REFINE, RITZ_VECTOR, conjugate, refine, refined, ritz_vector
from unsaddle.escapes.probe import SEARCH, at_new_point, difference, next_step
from unsaddle.escapes.probe_radius import FIRST_STEP, RADIUS_PHASES, first
from unsaddle.escapes.recheck import DIP, RECHECK_PHASES, SEARCH_ANEW
from unsaddle.escapes.recurrence import Recurrence, carry_on

UNRESOLVED = PhaseName.UNRESOLVED


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    further: float = 0.5  # of the steps that found enough, above 0: the jump gains with the cube


TUNING = Tuning()


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Keep g(x~) at a new point, where f may bend in another way."""
    probe = at_new_point(ops, p, s.escape.probe)
    here = s.escape._replace(gradient=ops.copy(gradient), probe=probe)
    return s.searched(SEARCH_ANEW, here)


def begin_anew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw v_1 = xi, uniform on the sphere."""
    s = begin_search(s)
    xi, probe, resolution, onto = first(ops, p, s, s.escape.gradient, lanczos=True)
    search = s.escape._replace(
        direction=xi,
        probe=probe,
        basis=s.escape.basis._replace(vectors=ops.set_vector(s.escape.basis.vectors, 0, xi)),
        recurrence=Recurrence(),
        curvature=inf,
        resolution=resolution,
    )
    return s.searched(onto, search)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """beta_{k+1} v_{k+1} = H v_k - alpha_k v_k - beta_k v_{k-1}, and what the new row shows."""
    e = s.escape if keeps_all(ops, s.escape) else conjugate(ops, s.escape)
    w = difference(ops, e, gradient)  # H v_k
    alpha = ops.dot(e.direction, w)
    w, along = orthogonal(ops, e, w)
    beta, tiny = ops.norm(w), ops.tiny(w)
    off = ops.maximum(e.recurrence.off_tridiagonal, error_of(ops, e, along))
    row = e.recurrence._replace(off_tridiagonal=off)
    row = carry_on(ops, p.escape.enough, row, e.resolution, alpha, beta, tiny)
    after = extended(ops, e, ops.scale(1 / row.beta, w), alpha, row.beta)
    after = after._replace(recurrence=row)
    return s.searched(next_phase(ops, s, after), after)


def next_phase(ops: Ops, s: State, e: Memory) -> Scalar:
    """On to a claim, to a jump, to another radius or gamma, or on as before."""
    n, row, missing, whole = ops.size(s.x), e.recurrence, e.found == inf, keeps_all(ops, e)
    grown = (row.growth >= e.resolution.needed) | (e.steps >= n if whole else False)
    clear, claims, found = trusted(ops, e)
    ripe = (e.steps >= (1 + TUNING.further) * e.found) | ops.where(missing, False, full(ops, e))
    over = e.steps >= len(e.basis.diagonal)
    undecided = ops.where(over, PROVE, next_step(ops, e.resolution))
    measured = (e.probe.noise > 0) | e.probe.unpaired
    early = measured & ops.where(clear | e.probe.doubted, False, True)
    onto = ops.where(ripe, found, ops.where(early, DOUBT, undecided))
    onto = ops.where(missing & grown, claims, onto)
    onto = ops.where(row.refining > 0, refined(ops, e), onto)
    return ops.where(row.beta < inf, onto, UNRESOLVED)  # differences that overflow show nothing


def trusted(ops: Ops, e: Memory) -> tuple[Scalar, Scalar, Scalar]:
    """Say whether T is clear of errors, and where a claim and curvature that was found lead."""
    row = e.recurrence
    clear = visible_curvature(row.off_tridiagonal) <= e.resolution.curvature_tol
    doubts = ops.where(e.probe.doubted, RAISE, DOUBT)
    lowest = ops.where(e.steps < ops.places(e.basis.vectors), RITZ_VECTOR, REFINE)
    found = ops.where(clear | (row.dip < 0), lowest, doubts)  # else it may be error
    return clear, ops.where(clear, lowest, doubts), found


lanczos = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        **RADIUS_PHASES,
        FIRST_STEP: Phase(iterate, NOTHING, search),
        SEARCH: Phase(probing(1.0), GRADIENT | PROBE, search),
        DOUBT: Phase(iterate, NOTHING, doubt),
        RAISE: Phase(iterate, NOTHING, raising(next_phase)),
        RITZ_VECTOR: Phase(iterate, NOTHING, ritz_vector),
        REFINE: Phase(iterate, NOTHING, refine),
        **RECHECK_PHASES,
        SEARCH_ANEW: Phase(iterate, NOTHING, begin_anew),
        DIP: Phase(iterate, NOTHING, go_to(JUMP_BEGIN)),
        **PHASES,
    },
    Settings,
    memory,
)
