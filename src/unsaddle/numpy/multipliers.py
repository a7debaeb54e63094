"""Does fun rise from the bounds that jac says hold x? One value inside asks.

A variable at a bound is held there by the sign of its derivative, and by nothing else: where jac
has the wrong sign, every bound that x0 lies on seems to hold it, and no descent and no search ever
asks. So before a claim within bounds stands, the variables that are held are moved in, and fun must
rise by at least half of what jac promises,

    P = sum_i |g_i| s_i,      s_i = h max(1, |x_i|).

f may bend within s, and rounding may hide P. So they disagree only where fun rises by less for
every h of ``TUNING.steps`` at which P can be seen. Then there is no certificate, and the message
says why. Gradients that are made of differences of fun need no such question.
"""

from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.phases import CERTIFIED, TRIAL, UNCERTIFIED, VALUE
from unsaddle.core.resolution import visible_change
from unsaddle.core.session import Query
from unsaddle.numpy.box import variables
from unsaddle.numpy.ops import ops

DOUBT = (
    "jac and fun disagree at the bounds: where {} moved in by about {:.1g}, fun should rise by "
    "{:.3g} according to jac, but it changes by {:.3g}. Is the sign of jac right? "
    "scipy.optimize.check_grad(fun, jac, x) tells."
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    steps: tuple[float, ...] = (1e-3, 1e-5, 1e-7)  # of max(1, |x_i|), (0, 1): the first is above
    # the noise that values have, the last is short for all but the stiffest functions
    share: float = 0.5  # of what jac promises, (0, 1): a wrong sign gives -1, a right one gives 1
    seen: float = 8.0  # visible changes of f, above 2: P shows beside the rounding of two values


TUNING = Tuning()


def checked(run: Any) -> tuple[Any, str]:
    """Give the state that a run within bounds has ended in, and the doubt of its claim."""
    state, oracle = run.state, run.oracle
    gradient = run.gradient_at(state.x)
    asks = state.phase == CERTIFIED and oracle.fun is not None and not oracle.noise
    if not asks or gradient is None:
        return state, ""
    lower, upper = run.box
    inward = np.where(state.x <= lower, 1.0, np.where(state.x >= upper, -1.0, 0.0))
    held = (inward * gradient > 0) & (lower < upper)
    doubt = _doubt(run, np.where(held, gradient, 0.0), inward) if held.any() else ""
    return (state._replace(phase=UNCERTIFIED) if doubt else state), doubt


def _doubt(run: Any, multipliers: Any, inward: Any) -> str:
    """Move in by less and less, until fun rises as it should, or can no longer be seen to."""
    x, (lower, upper), doubt = run.state.x, run.box, ""
    here = run.value_at(x)
    for step in TUNING.steps:
        room = np.minimum(step * np.maximum(1.0, abs(x)), upper - lower)
        inside = run.box.clip((x + np.where(multipliers, inward * room, 0.0)).astype(x.dtype))
        promised = float(multipliers @ (inside - x))
        if promised < TUNING.seen * visible_change(ops, x, here, here):
            break
        rise = _value(run, inside) - here
        if isnan(rise) or rise >= TUNING.share * promised:
            return ""
        which = np.flatnonzero(multipliers)
        are = f"{variables(which)} {'are' if which[1:].size else 'is'}"
        doubt = DOUBT.format(are, step, promised, rise)
    return doubt


def _value(run: Any, inside: Any) -> float:
    """Give the value at a point when the run is over; infinite where there is none."""
    run.interruptible = True
    value, _ = run.oracle.answer(inside, Query(inside, VALUE | TRIAL))
    run.interruptible = False
    run.report(value, nan)
    return value
