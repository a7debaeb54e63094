"""Is what grad gives the gradient of any function? Where T doubts it, differences of it tell.

The Hessian of a function is symmetric. Where V'HV of a Lanczos search has errors that no noise
explains, it may not be: grad may have a slip, or forces may be no gradient at all. What the search
found is then no curvature, and what it claims is of nothing. So the claim is checked along u, which
is random, and w, which is what D(u) has beside u, both of length one:

    |u'D(w) - w'D(u)| <= max(1 % of either, 4 (2 |D(u) - D'(u)| + 2 |D(w) - D'(w)| + 4 e_g/r)),

where D is the difference over r and D' the one over r/2, which shows how f bends within r. If A is
the part of H that is not symmetric, w'D(u) is further from u'D(w) by |A u|^2 than chance has it.
What a gradient that is rounded to fewer digits loses is alike over r and r/2, so they have to
differ over longer r too. Less than 1 % is what coarse finite differences do: such a claim stands,
and gamma was raised for it. A search whose T is as it should be is not asked, and takes no gradient
more.
"""

from typing import Any, NamedTuple

from unsaddle.core.evidence import DECIDED, evidence
from unsaddle.core.phases import UNCERTIFIED
from unsaddle.core.resolution import TUNING as RESOLUTION
from unsaddle.core.resolution import visible_curvature
from unsaddle.core.session import NotFiniteError
from unsaddle.escapes import krylov
from unsaddle.numpy.box import OutsideError
from unsaddle.numpy.ops import Vector

DOUBT = (
    "{} is the gradient of no function: for two directions of length one, u'Hw is {:.3g} and w'Hu "
    "is {:.3g} by its differences, and the Hessian of a function is symmetric. Check {} against "
    "the function; scipy.optimize.check_grad does."
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    share: float = 0.01  # of u'Hw, (0, 1): forward differences over 1e-3 are as far from symmetric
    radii: tuple[float, ...] = (1.0, 32.0, 1024.0)  # r, each at least 1: the longest shows what a
    # gradient that has only the digits of float32 changes by, and its square is still short


TUNING = Tuning()


def checked(run: Any) -> tuple[Any, str]:
    """Give the state that a run has ended in, and the doubt of its claim, if there is one."""
    state, search = run.state, run.state.last_search
    if state.phase not in DECIDED or not isinstance(search, krylov.Memory) or run.oracle.noise:
        return state, ""
    off, known = search.recurrence.off_tridiagonal, search.resolution
    explained = search.probe.noise > 0 or known.needed == 0
    rounding = 2 * known.noise / max(known.radius, run.known.tiny(state.x))
    if explained or off <= max(known.asked / RESOLUTION.errors, rounding):
        return state, ""
    doubt = _doubt(run, search)
    return (state._replace(phase=UNCERTIFIED) if doubt else state), doubt


def _doubt(run: Any, search: krylov.Memory) -> str:
    """Compare over one r after the other, as far as f goes; none is left as soon as they agree."""
    doubt = ""
    for share in TUNING.radii:
        try:
            ahead, behind, error = _compared(run, share * search.resolution.radius, search)
        except (NotFiniteError, OutsideError):
            return doubt
        agree = max(TUNING.share * max(abs(ahead), abs(behind)), visible_curvature(error))
        if abs(ahead - behind) <= agree:
            return ""
        doubt = DOUBT.format(run.oracle.name, ahead, behind, run.oracle.name)
    return doubt


def _compared(run: Any, radius: float, search: krylov.Memory) -> tuple[float, float, float]:
    """u'D(w), w'D(u), and the error of either."""
    ops, s = run.known, run.state
    u = _unit(run, ops.normal(s.x, s.seed, s.episode + 1))
    of_u, bends = _difference(run, u, radius)
    w = _unit(run, of_u - ops.dot(u, of_u) * u)
    of_w, bends_too = _difference(run, w, radius)
    error = 2 * (bends + bends_too) + 4 * search.resolution.noise / radius
    return ops.dot(u, of_w), ops.dot(w, of_u), error


def _unit(run: Any, v: Vector) -> Vector:
    """v, of length one."""
    tiny = run.known.tiny(run.state.x)
    return (v / max(run.known.norm(v), tiny)).astype(run.state.x.dtype)


def _difference(run: Any, along: Vector, radius: float) -> tuple[Vector, float]:
    """D(along) over r, and how far it is from the one over r/2."""
    x, gradient = run.state.x, evidence(run.known, run.state).gradient
    whole, half = (
        (run.queried((x + share * radius * along).astype(x.dtype)) - gradient) / (share * radius)
        for share in (1.0, 0.5)
    )
    return whole, run.known.norm(whole - half)
