"""Cubic regularisation on Krylov spaces: the descent of FastCubic.

Source: Agarwal, Allen-Zhu, Bullins, Hazan & Ma (2017), a reconstruction: of FastCubicMin only the
outline is known here. In every iteration x moves by about the h that minimises

    m(h) = <g, h> + h'H h/2 + (rho/6) |h|^3 >= f(x + h) - f(x).

Differences from the source:

1. Theirs finds the shift lambda of h = -(H + lambda I)^-1 g by binary search with approximate
   solves, each an accelerated method of its own. Here H is known on the Krylov space of (H, g), by
   Lanczos, and the binary search is on its tridiagonal T (``cubic_model.py``), at no product.
2. The space has (1/2) sqrt(1 + l/sqrt(rho |g|)) log(2/accuracy) dimensions, what conjugate
   gradients would take with such a shift; or as many as there is room for.
3. Theirs chooses between h and a step along an approximate lowest eigenvector of H in every
   iteration. Here that is the escape's, where |g| <= eps (``ncd.py``). Elsewhere h lowers f by the
   order of |g(x + h)|^(3/2)/sqrt(rho), which is what the proof asks for.
4. It ends where |g| <= eps and a search has ruled out curvature below -sqrt(rho eps), not where
   m(h) > -sqrt(eps^3/rho)/800, from which their proof concludes the same of x + h.
5. A step is taken if f falls by half of -m(h). Else rho is too small here, or differences err: the
   model is minimised again with four times the rho, on the same space, at one value more.
"""

from typing import NamedTuple

from unsaddle.core.kernel import Parameters, Part, Phase, State, iterate
from unsaddle.core.ops import Ops, Scalar, Vector
from unsaddle.core.phases import BOTH, GO, GRADIENT, NOTHING, PROBE, START, TRIAL, VALUE, PhaseName
from unsaddle.core.resolution import finest_radius, visible_change
from unsaddle.descents.cubic_model import minimise
from unsaddle.descents.gd import no_momentum, not_measured
from unsaddle.descents.krylov_space import Space, begun, blank, complete, dimensions, extended

CUBIC_SEARCH, CUBIC_MODEL = PhaseName.CUBIC_SEARCH, PhaseName.CUBIC_MODEL
CUBIC_STEP, GIVE_UP = PhaseName.CUBIC_STEP, PhaseName.GIVE_UP


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    kept: float = 0.5  # of -m(h), (0, 1): with rho as it is promised, all but errors is kept
    raised: float = 4.0  # above 1: rho after a step that was not; a step is half as long then
    trials: int = 30  # 10 to 100: the last is 2^-30 of the first, or shorter


TUNING = Tuning()


class Memory(NamedTuple):
    """The model at x, and the step."""

    gradient: Vector  # g(x)
    move: Vector  # h
    space: Space
    radius: Scalar = 0.0  # r, over which gradients are differenced
    value: Scalar = 0.0  # f(x)
    promised: Scalar = 0.0  # -m(h)
    rho: Scalar = 0.0  # of the model
    trials: Scalar = 0  # steps that were not taken
    kinetic_energy = no_momentum
    constants_met = not_measured


class Settings(NamedTuple):
    """Hyperparameters."""

    accuracy: float  # of a step, as a share of |g|
    probe_radius: float  # r, over which gradients are differenced, unless rounding asks for more
    smoothness: float  # l
    hessian_lipschitz: float  # rho
    gradient_noise: float  # |error| of a gradient, where it is more than rounding
    vectors: int  # that are kept of the basis
    unit: float = 0.0  # relative error of a gradient, where it is above the roundoff


def begin(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """Report if |g| <= eps; else begin with v_1 = g/|g|."""
    c = p.descent
    m = s.descent._replace(
        gradient=ops.retain(gradient),
        space=begun(ops, s.descent.space, gradient),
        radius=finest_radius(ops, c, c.probe_radius, s.x, gradient, p.products, c.unit),
        value=value,
        rho=c.hessian_lipschitz,
        trials=0,
    )
    small = ops.norm(gradient) <= s.tolerance
    return s._replace(descent=m, phase=ops.where(small, s.report, CUBIC_SEARCH))


def ahead(ops: Ops, p: Parameters, s: State) -> Vector:
    """Query x + r v_k."""
    return ops.add(s.x, s.descent.radius, s.descent.space.direction)


def search(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """H v_k = (g(x + r v_k) - g(x))/r, and the next vector of the space."""
    m = s.descent
    bend = ops.scale(1 / m.radius, ops.axpy(-1.0, m.gradient, gradient))
    space = extended(ops, m.space, bend)
    enough = complete(ops, space) | (space.steps >= dimensions(ops, p.descent, m.gradient))
    onto = ops.where(enough, CUBIC_MODEL, CUBIC_SEARCH)
    return s._replace(descent=m._replace(space=space), phase=onto)


def model(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """h = V y, where y minimises the model on the space."""
    m = s.descent
    y, _, least = minimise(ops, m.space.hessian, ops.norm(m.gradient), m.rho, s.x)
    h = ops.combine(m.space.vectors, m.space.steps, y)
    return s._replace(descent=m._replace(move=h, promised=-least), phase=CUBIC_STEP)


def landing(ops: Ops, p: Parameters, s: State) -> Vector:
    """Query x + h."""
    return ops.add(s.x, 1.0, s.descent.move)


def attempt(ops: Ops, p: Parameters, s: State, value: Scalar, gradient: Vector) -> State:
    """x <- x + h if f falls as the model says, else the model has a larger rho."""
    m, again = s.descent, s.descent.trials + 1
    visible = visible_change(ops, s.x, m.value, m.value)
    taken = value <= m.value - TUNING.kept * m.promised + visible
    x = ops.axpy(ops.where(taken, 1.0, 0.0), m.move, s.x)
    left = s.left - ops.where(taken, 1.0, 0.0)
    fails = ops.where(again < TUNING.trials, CUBIC_MODEL, GIVE_UP)
    onto = ops.where(taken, ops.where(left <= 0, s.report, GO), fails)
    return s.descended(onto, x, left, m._replace(rho=TUNING.raised * m.rho, trials=again))


def memory(ops: Ops, x: Vector, settings: Settings | None) -> Memory:
    """Room for the space; as a form to be filled there are no settings."""
    vectors = ops.size(x) + 1 if settings is None else settings.vectors
    return Memory(ops.times(0.0, x), ops.times(0.0, x), blank(ops, x, vectors))


BEGIN_MODEL = Phase(iterate, BOTH, begin)

cubic = Part(
    {
        START: BEGIN_MODEL,
        GO: BEGIN_MODEL,
        CUBIC_SEARCH: Phase(ahead, GRADIENT | PROBE, search),
        CUBIC_MODEL: Phase(iterate, NOTHING, model),
        CUBIC_STEP: Phase(landing, VALUE | TRIAL, attempt),
    },
    Settings,
    memory,
)
