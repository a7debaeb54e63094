"""What Lanczos does where V'HV shows errors that are larger than its search has counted with.

1. If no noise is known of, ``noise_level.py`` finds out if it is noise, and the search begins anew
   from the same v_1. So it does where a jump does not pay, if v_1 was probed over r only.
2. If noise is known of, and another radius is worth the steps that would be lost, one is chosen, in
   ``noisy_radius.py``: along the last v_k, which shows more than a random direction of what f does
   where it is stiff. The search begins anew, unless it is almost the radius that there was.
3. Else, and from then on at the same point, gamma is raised to four times the error. The event on
   which the certificate rests, <u, xi>^2 <= 1/K, is one for all gamma, and K(-gamma) is read off
   the same T: the search goes on as it is, and costs no gradient more; but where ``lowest.py`` has
   put another T in its place, it begins anew.
4. Where a recheck has measured the error, and T shows enough for this gamma, the claim is made: the
   same queries would tell the same.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple

from unsaddle.core.kernel import Parameters, State, Update, on_sphere
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import PhaseName
from unsaddle.core.resolution import Resolution, vacuous
from unsaddle.escapes.basis import keeps_all, place
from unsaddle.escapes.first_radius import TUNING as RADIUS
from unsaddle.escapes.krylov import Memory
from unsaddle.escapes.noise_level import CLOSE_BY
from unsaddle.escapes.noisy_radius import NOISY_AHEAD
from unsaddle.escapes.noisy_radius import choose as choose_radius
from unsaddle.escapes.recheck import LOWEST_HALF, claimed
from unsaddle.escapes.recurrence import Recurrence, again

DOUBT, RAISE, UNRESOLVED = PhaseName.DOUBT, PhaseName.RAISE, PhaseName.UNRESOLVED
RITZ_VECTOR, SEARCH_ANEW = PhaseName.RITZ_VECTOR, PhaseName.SEARCH_ANEW
CHECKED = LOWEST_HALF + 1  # the stage after the last one of a recheck


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    expected: float = 2.0  # errors a step, above 1/2: beyond them another radius is worth the steps
    alike: float = 2.0  # (1, 4): a radius within this factor of another errs by half as much more


TUNING = Tuning()


def as_expected(e: Memory) -> Scalar:
    """Say whether the errors of known noise are such that another radius would gain little."""
    little = e.recurrence.off_tridiagonal <= TUNING.expected * e.steps * e.resolution.error
    return (e.probe.noise > 0) & (e.resolution.sides > 1) & little


def doubt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Measure the error of differences along v_k, or find out if it is noise."""
    e, new = s.escape, s.escape.probe.noise == 0
    last = ops.copy(ops.get_vector(e.basis.vectors, place(ops, e, e.steps - 1)))
    first = on_sphere(ops, s)
    held = e.recurrence.off_tridiagonal * e.resolution.radius / sqrt(2)
    probe = e.probe._replace(held=held, stage=0, unpaired=False, doubted=True)
    radius = e.resolution.radius * ops.where(new, 1.0, 1 / RADIUS.longer)
    probe = probe._replace(radius_factor=1.0)
    after = e._replace(
        direction=ops.switch(new, ops.copy(first), last),
        basis=e.basis._replace(vectors=ops.set_vector(e.basis.vectors, 0, first)),
        probe=probe,
        recurrence=ops.switch(new, Recurrence(), e.recurrence),
        resolution=e.resolution._replace(error=inf, radius=radius),
    )
    return s.searched(ops.where(new, CLOSE_BY, NOISY_AHEAD), after)


def resume(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Search with the difference that was chosen; or go on, where it is almost the one in use."""
    e, after = s.escape, choose_radius(ops, p, s, value, gradient)
    share = e.probe.radius / e.resolution.radius  # of the radius in use to the one chosen
    alike = (share > 1 / TUNING.alike) & (share < TUNING.alike)
    alike = alike & (e.resolution.sides == e.probe.sides) & e.probe.doubted
    goes_on = alike & (after.phase == SEARCH_ANEW) & keeps_all(ops, e)
    return after._replace(phase=ops.where(goes_on, RAISE, after.phase))


def raising(onward: Callable[[Ops, State, Memory], Scalar]) -> Update:
    """Give the update that raises gamma above the error, reads T again, and goes on."""

    def update(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
        e, (vectors, diagonal, offdiagonal) = s.escape, s.escape.basis
        resolution, floor = raised(ops, e)
        row, share, tiny = e.recurrence, p.escape.enough, ops.tiny(s.x)
        row = again(ops, share, row, resolution, diagonal, offdiagonal, tiny)
        ahead = ops.copy(ops.get_vector(vectors, place(ops, e, row.steps)))
        probe = e.probe._replace(error_floor=floor, stage=0)
        known = e._replace(recurrence=row, resolution=resolution, probe=probe)
        onto = onward(ops, s, known)
        checked = (e.probe.stage == CHECKED) & (onto == RITZ_VECTOR) & (row.found == inf)
        claim = claimed(ops, known, e.curvature, e.probe.kept)
        onto = ops.where(checked, claim, onto)
        onto = ops.where(vacuous(ops, resolution), UNRESOLVED, onto)
        onto = ops.where(e.recurrence.refining > 0, SEARCH_ANEW, onto)
        after = known._replace(direction=ops.switch(checked, ops.copy(e.direction), ahead))
        return s.searched(onto, after)

    return update


def raised(ops: Ops, e: Memory) -> tuple[Resolution, Scalar]:
    """What can be resolved with the errors that were met, and the least gamma by them."""
    floor = ops.maximum(e.probe.error_floor, 4 * e.recurrence.off_tridiagonal)
    error = ops.maximum(e.resolution.error, floor / 4)
    gamma = ops.maximum(e.resolution.curvature_tol, floor)
    return e.resolution._replace(error=error).claiming(ops, gamma), floor
