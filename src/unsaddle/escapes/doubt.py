"""What Lanczos does where V'HV shows errors that are larger than its search has counted with.

1. If no noise is known of, ``noise_level.py`` finds out if it is noise, and the search begins anew
   from the same v_1. So it does where a jump does not pay, if v_1 was probed over r only.
2. If noise is known of, radius and sides are chosen anew, in ``noisy_radius.py``: along the last
   v_k, which shows more than a random direction of what f does where it is stiff.
3. From then on gamma at this point is raised to four times the error. The event on which the
   certificate rests, <u, xi>^2 <= 1/K, is one for all gamma, and K(-gamma) can be read off the T
   that there is. So the search goes on, and no gradient is spent twice. There is one exception:
   where ``lowest.py`` has replaced T, the search begins anew.
"""

from collections.abc import Callable
from math import inf, sqrt

from unsaddle.core.kernel import Parameters, State, Update, on_sphere
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import PhaseName
from unsaddle.core.resolution import TUNING as RESOLUTION
from unsaddle.core.resolution import vacuous, visible_curvature
from unsaddle.escapes.basis import place
from unsaddle.escapes.krylov import Memory
from unsaddle.escapes.noise_level import CLOSE_BY
from unsaddle.escapes.noisy_radius import NOISY_AHEAD
from unsaddle.escapes.recurrence import Recurrence, again

DOUBT, RAISE, UNRESOLVED = PhaseName.DOUBT, PhaseName.RAISE, PhaseName.UNRESOLVED
SEARCH_ANEW = PhaseName.SEARCH_ANEW
SHORTEN_FIRST = 0.5  # any factor below one


def doubt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Measure the error of differences along v_k, or find out if it is noise."""
    e, new = s.escape, s.escape.probe.noise == 0
    last = ops.copy(ops.get_vector(e.basis.vectors, place(ops, e, e.steps - 1)))
    first = on_sphere(ops, s)
    held = e.recurrence.off_tridiagonal * e.resolution.radius / sqrt(2)
    probe = e.probe._replace(held=held, stage=0, unpaired=False, doubted=True)
    probe = probe._replace(radius_factor=SHORTEN_FIRST)
    after = e._replace(
        direction=ops.switch(new, ops.copy(first), last),
        basis=e.basis._replace(vectors=ops.set_vector(e.basis.vectors, 0, first)),
        probe=probe,
        recurrence=ops.switch(new, Recurrence(), e.recurrence),
        resolution=e.resolution._replace(error=inf),
    )
    return s.searched(ops.where(new, CLOSE_BY, NOISY_AHEAD), after)


def raising(next_phase: Callable[[Ops, State, Memory], Scalar]) -> Update:
    """Give the update that raises gamma above the error, reads T again, and goes on."""

    def update(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        e, (vectors, diagonal, offdiagonal) = s.escape, s.escape.basis
        seen = visible_curvature(e.recurrence.off_tridiagonal)
        floor = ops.maximum(e.probe.error_floor, seen)
        error = ops.maximum(e.resolution.error, floor / RESOLUTION.errors)
        gamma = ops.maximum(e.resolution.curvature_tol, floor)
        resolution = e.resolution._replace(error=error).claiming(ops, gamma)
        row, share, tiny = e.recurrence, p.escape.enough, ops.tiny(s.x)
        row = again(ops, share, row, resolution, diagonal, offdiagonal, tiny)
        probe = e.probe._replace(error_floor=floor)
        ahead = ops.copy(ops.get_vector(vectors, place(ops, e, row.steps)))
        after = e._replace(direction=ahead, recurrence=row, resolution=resolution, probe=probe)
        onto = ops.where(vacuous(ops, resolution), UNRESOLVED, next_phase(ops, s, after))
        return s.searched(ops.where(e.recurrence.refining > 0, SEARCH_ANEW, onto), after)

    return update
