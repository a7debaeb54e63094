"""Negative-Curvature-Descent: Lanczos, and steps as long as the curvature says.

Source: Carmon, Duchi, Hinder & Sidford (2018), by way of its descriptions elsewhere. At z a unit
vector v is sought with lambda_min >= v'Hv - alpha/2; while q = v'Hv <= -alpha/2, z moves by
2 |q|/rho along v, downhill.

Differences from the source:

1. Lanczos ends at the first proof of either kind (``lanczos.py``), not after a number of products
   that suffices for any H. Where neither is reached with a full memory, the proof decides.
2. The j-th search of a run has its share of delta, 6 delta/(pi^2 j^2); theirs is delta over a bound
   on the number of searches, for which f(x_0) - min f has to be known.
3. Where there are no exact products they are differences of gradients, as everywhere here.
"""

from unsaddle.core.kernel import Part
from unsaddle.core.ops import Ops, Vector
from unsaddle.escapes import krylov
from unsaddle.escapes.curvature_step import STEP_PHASES
from unsaddle.escapes.jump import LANDED, NO_JUMP, PHASES
from unsaddle.escapes.lanczos import lanczos
from unsaddle.escapes.proof import without_dips
from unsaddle.escapes.unless_steep import unless_steep


def memory(ops: Ops, x: Vector, settings: krylov.Settings | None) -> krylov.Memory:
    """Room for the basis, and the jump of ``jump.py``."""
    return krylov.memory(ops, x, settings)._replace(jump=NO_JUMP)


def stepping(search: Part) -> Part:
    """Give a Lanczos search whose jump is the curvature step, where it has found what it seeks."""
    quiet = without_dips(search)
    return quiet._replace(phases={**quiet.phases, **STEP_PHASES}, memory=memory)


def after_descent(search: Part) -> Part:
    """Give the search behind a descent that makes the gradient small: a step leads back to it."""
    return search._replace(phases={**search.phases, LANDED: PHASES[LANDED]})


ncd = unless_steep(stepping(lanczos))
ncd_at_rest = after_descent(stepping(lanczos))
