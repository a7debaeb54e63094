"""Lanczos on gradient differences: the fewest gradients that any Krylov search can do with.

Source: the Lanczos process with full reorthogonalisation. The certificate is Christoffel's: let
q_j be the orthonormal polynomials of the spectral measure of (H, xi), which the process builds.
While the lowest Ritz value lies above -gamma, every q_j^2 grows as lambda falls below it, so

    lambda_min <= -gamma   implies   <u, xi>^2 <= 1/K,      K = sum_{j <= k} q_j(-gamma)^2,

and sqrt(K) >= sqrt(2n/pi)/delta certifies just as a growth does (see ``core/resolution.py``). No
certificate from the same gradients can be better, and on an invariant subspace K is infinite.

Choices, beside those of ``probe_radius.py``:

1. After -``enough`` gamma is found the search goes on for half as many steps again: the jump
   gains with the cube of the curvature.
2. Where gamma was not given and the claim could be made, but there is curvature below zero that
   can be told from error, a jump is tried first: the claim is made if it does not pay.
3. V'HV of an exact H is tridiagonal and symmetric. Whatever else is found there is error: four
   times its norm must stay below gamma, or the search begins anew with eight times it as floor.
4. When the memory is full and nothing is decided, it ends undecided.
"""

from math import inf

from unsaddle.core.kernel import Parameters, Part, Phase, State, begin_search, iterate, probing
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BEGIN, CERTIFIED, GRADIENT, NOTHING, PROVE, PhaseName
from unsaddle.escapes.backtracking_jump import JUMP_BEGIN, PHASES
from unsaddle.escapes.krylov import Memory, Settings, error_of, extended, memory, orthogonal, places
from unsaddle.escapes.probe_pair import FIRST_FACTOR
from unsaddle.escapes.probe_radius import FIRST_STEP, HALF_RADIUS, RADIUS_PHASES, first
from unsaddle.escapes.recurrence import Recurrence, carry_on

SEARCH, SEARCH_ANEW = PhaseName.SEARCH, PhaseName.SEARCH_ANEW
RITZ_VECTOR, DIP, UNRESOLVED = PhaseName.RITZ_VECTOR, PhaseName.DIP, PhaseName.UNRESOLVED


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Draw v_1 = xi, uniform on the sphere."""
    s = begin_search(s)
    xi, resolution = first(ops, p, s)
    search = s.escape._replace(
        gradient=ops.copy(gradient),
        direction=xi,
        basis=s.escape.basis._replace(vectors=ops.set_vector(s.escape.basis.vectors, 0, xi)),
        recurrence=Recurrence(),
        steps=0,
        found=inf,
        curvature=inf,
        radius_factor=FIRST_FACTOR,
        resolution=resolution,
    )
    return s._replace(escape=search, phase=HALF_RADIUS)


def begin_anew(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Begin once more at the same x~, whose gradient is known."""
    return begin(ops, p, s, value, s.escape.gradient)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """beta_{k+1} v_{k+1} = H v_k - alpha_k v_k - beta_k v_{k-1}, and what the new row shows."""
    e, k = s.escape, s.escape.steps
    w = ops.scale(1 / e.resolution.radius, ops.axpy(-1.0, e.gradient, gradient))  # H v_k
    alpha = ops.dot(e.direction, w)
    w, along = orthogonal(ops, e, w)
    rest = ops.norm(w)
    beta = ops.maximum(rest, ops.tiny(w))
    error = error_of(ops, e, along)
    row = carry_on(ops, p.escape.enough, e.recurrence, e.resolution, alpha, beta, error)
    row = row._replace(growth=ops.where(rest > 0, row.growth, inf))
    found = ops.where((row.pivot <= 0) & (e.found == inf), k + 1, e.found)
    row = row._replace(pivot=ops.where(found < inf, inf, row.pivot))
    ahead = ops.scale(1 / beta, w)
    after = extended(ops, e, ahead, alpha, beta)._replace(recurrence=row, steps=k + 1, found=found)
    floor = ops.maximum(e.error_floor, 8 * row.off_tridiagonal)
    return s.searched(onward(ops, p, s, after), after._replace(error_floor=floor))


def onward(ops: Ops, p: Parameters, s: State, e: Memory) -> Scalar:
    """Certified, found, undecided, or on."""
    n, row, missing = ops.size(s.x), e.recurrence, e.found == inf
    grown = (row.growth >= e.resolution.needed) | (e.steps >= n)
    clear = 4 * row.off_tridiagonal <= e.resolution.curvature_tol
    over = e.steps >= places(n)
    ripe = (2 * e.steps >= 3 * e.found) | ops.where(missing, False, over)
    dips = (row.dip < 0) & (p.escape.curvature_tol == 0)
    certified = ops.where(clear, ops.where(dips, DIP, CERTIFIED), SEARCH_ANEW)
    found = ops.where(clear | (row.dip < 0), RITZ_VECTOR, SEARCH_ANEW)  # else it may be error
    undecided = ops.where(over, PROVE, SEARCH)
    onto = ops.where(missing & grown, certified, ops.where(ripe, found, undecided))
    return ops.where(row.beta < inf, onto, UNRESOLVED)  # differences that overflow show nothing


def ritz_vector(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """e = V y, where y is the lowest eigenvector of T."""
    e, (vectors, diagonal, offdiagonal) = s.escape, s.escape.basis
    curvature, weights = ops.ritz(diagonal, offdiagonal, e.steps)
    v = ops.combine(vectors, e.steps, weights)
    found = e._replace(direction=ops.scale(1 / ops.norm(v), v), curvature=curvature)
    return s._replace(escape=found, phase=JUMP_BEGIN)


lanczos = Part(
    {
        BEGIN: Phase(iterate, NOTHING, begin),
        **RADIUS_PHASES,
        FIRST_STEP: Phase(iterate, NOTHING, search),
        SEARCH: Phase(probing(1.0), GRADIENT, search),
        RITZ_VECTOR: Phase(iterate, NOTHING, ritz_vector),
        DIP: Phase(iterate, NOTHING, ritz_vector),
        SEARCH_ANEW: Phase(iterate, NOTHING, begin_anew),
        **PHASES,
    },
    Settings,
    memory,
)
