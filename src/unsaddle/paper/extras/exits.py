"""A method of Table 1 run as printed, and with the early exits that every method can have.

*As printed* a window runs in full, and a run ends by the method's own test, with no certificate.
*With exits* a window ends by the first of two rules, the same for all:

* Rayleigh: a measured curvature of at most -gamma/2 by more than its error. A search jumps along
  that direction; a perturbed descent goes on, and its window is over once the gradient is large.
* Growth: had the Hessian at x~ an eigenvalue at or below -gamma, what is measured would have grown
  more than it has. x~ is certified (``core/resolution.py``).

Negative curvature finding, plain and accelerated, has both rules built in. Here the others get them
from outside, query by query. NEON and NEON+ follow u_k, a recursion linear in its start, as theirs.
PGD and PAGD descend on f itself, not on f without its slope, so that x_t - x~ is not linear in xi;
but the steps d_t = x_{t+1} - x_t are: d_{t+1} = (I - eta H)(d_t + (1 - theta)(d_t - d_{t-1})), and
along an eigenvector of lambda <= -gamma that part of d_t that xi makes is s_t eta |lambda| |xi_1|,
where s_t is the same recursion on -gamma. As xi is uniform in the ball of radius r,

    P(|xi_1 + c| <= a) <= a sqrt(2 (n + 1)/pi)/r          for any c that does not depend on xi.

So |d_t| < s_t eta gamma a certifies. For PGD c is the same at all t and so the event is one; for
PAGD, which keeps its momentum, it is not, and the t-th step has 6/(pi t)^2 of the probability.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.kernel import Parameters, Phase, State, compose
from unsaddle.core.phases import BEGIN, CERTIFIED, GO, GRADIENT, VALUE, PhaseName
from unsaddle.core.session import Query, Session
from unsaddle.escapes.jump import JUMP_BEGIN
from unsaddle.escapes.krylov import Settings as Measuring
from unsaddle.landscapes import Landscape
from unsaddle.methods.table import METHODS, Method
from unsaddle.numpy.ops import ops

PRINTED, EXITS = "as printed", "with exits"
EXACT = "with exits, exact products"  # of a method whose oracle has them; else on differences
Product = Callable[[Any, Any], Any]  # (x, d) -> H(x) d
REPEATS = 6 / pi**2  # of delta, over the square of a number, sums to delta at most


class Ended(NamedTuple):
    """What a run took, and where it ended."""

    gradients: int
    x: np.ndarray
    certified: bool
    products: int = 0  # Hessian-vector products


def has_printed_form(line: Method) -> bool:
    """Say whether a method has windows that a paper prints; a search by Lanczos has none."""
    return line.escape.settings is not Measuring


def ways(line: Method) -> list[str]:
    """Give the ways in which a method is run."""
    has = {PRINTED: has_printed_form(line), EXITS: True, EXACT: "product" in line.oracle}
    return [way for way, can in has.items() if can]


def run(
    way: str, method: str, f: Landscape, known: dict[str, Any], seed: int, limit: int,
    product: Product,
) -> Ended:  # fmt: skip
    """Run a method in one of its ways."""
    if way == PRINTED:
        return as_printed(method, f, known, seed, limit)
    return with_exits(method, f, known, seed, limit, product if way == EXACT else None)


def as_printed(
    method: str, f: Landscape, known: dict[str, Any], seed: int, limit: int
) -> Ended:  # fmt: skip
    """Run a method with its windows in full, to the end by its own test."""
    line = METHODS[method]
    p, escape = line.from_theory(n=f.n, **known), line.escape
    if "enough" in p.escape._fields:
        p = p._replace(escape=p.escape._replace(enough=inf))
        escape = escape._replace(phases={**escape.phases, BEGIN: _in_full(escape.phases[BEGIN])})
    return _drive(compose(line.descent, escape), p, f, seed, limit, None, None)


def _in_full(begin: Phase) -> Phase:
    """Give the beginning of a search that no growth can certify."""

    def update(*given: Any) -> State:
        s = begin.update(*given)
        resolution = s.escape.resolution._replace(needed=inf)
        return s.searched(s.phase, s.escape._replace(resolution=resolution))

    return begin._replace(update=update)


def with_exits(
    method: str, f: Landscape, known: dict[str, Any], seed: int, limit: int,
    product: Product | None = None,
) -> Ended:  # fmt: skip
    """Run a method to a certificate, its windows ended by the two rules."""
    line = METHODS[method]
    p = line.from_theory(n=f.n, **known)
    rules = None
    if method in ("neon", "neon+"):  # the others' searches have both rules themselves
        rules = Neon(p)
    elif p.escape._fields == ("radius", "window", "decrease"):
        rules = Perturbed(p, f.hessian_lipschitz)
    return _drive(line.solver, p, f, seed, limit, rules, product)


def _drive(
    solver: Any, p: Parameters, f: Landscape, seed: int, limit: int, rules: Any,
    product: Product | None,
) -> Ended:  # fmt: skip
    """Answer a run's queries from the saddle on; the rules see each, and may change the state."""
    p, gradients, products = p._replace(products=product is not None), 0, 0
    session = Session(ops, solver, p, solver.start(ops, p, f.saddles[0].copy(), seed))
    while gradients + products < limit and (query := session.ask()) is not None:
        if product is not None and query.along is not None:
            products += 1
            session.tell(None, product(query.point, query.along))
            continue
        gradient = np.array(f.gradient(query.point)) if query.needs & GRADIENT else None
        value = float(f.value(query.point)) if query.needs & VALUE else None
        gradients += gradient is not None
        before, last = session.state, session.gradient
        if rules is not None:
            rules.see(query, before, last if gradient is None else gradient.copy())
        session.tell(value, gradient)
        if rules is not None:
            session.state = rules.after(query, before, session.state)
    over = session.state.phase if session.over else None
    return Ended(gradients, session.state.x, over == CERTIFIED, products)


@dataclass
class Neon:
    """The two rules on the u_k of NEON and NEON+."""

    p: Parameters
    ahead: float = 1.0  # u_k of the recursion on -gamma, over |u_0|
    behind: float = 1.0  # its y_k
    change: dict[str, Any] = field(default_factory=dict)

    def see(self, query: Query, s: State, gradient: Any) -> None:
        """Look at a query of the search."""
        self.change = {}
        if query.phase != PhaseName.SEARCH:
            return
        e, settings = s.escape, self.p.escape
        if e.steps == 0:
            self.ahead = self.behind = 1.0
        u, resolution = e.ahead.copy(), e.resolution
        size = np.linalg.norm(u)
        curvature = float(u @ (gradient - e.gradient) / size**2)
        error = resolution.error + settings.hessian_lipschitz * size / 2
        if curvature + error < -resolution.asked / 2:
            self.change = {"direction": u, "curvature": curvature, "phase": JUMP_BEGIN}
        elif self.ahead * resolution.radius / size > resolution.needed:
            self.change = {"phase": CERTIFIED}
        y = (1 + settings.search_step * resolution.rate) * self.ahead
        self.ahead, self.behind = y + settings.search_momentum * (y - self.behind), y

    def after(self, query: Query, before: State, s: State) -> State:
        """End the search if a rule says so."""
        if not self.change:
            return s
        phase = self.change.pop("phase")
        return s._replace(phase=phase, escape=s.escape._replace(**self.change))


@dataclass
class Perturbed:
    """The two rules on the steps of PGD and PAGD after a perturbation."""

    p: Parameters
    rho: float
    anchor: Any = None  # x~, while a window is open
    slope: Any = None  # g(x~)
    steps: int = 0  # t
    now: float = 1.0  # s_t
    last: float = 0.0  # s_{t-1}
    widest: float = 0.0  # the largest |x_t - x~| so far
    negative: bool = False  # whether negative curvature was measured in this window
    change: int | None = None  # the phase to go to: GO if the window is over

    def see(self, query: Query, s: State, gradient: Any) -> None:
        """Look at a perturbation, and at each step after it."""
        self.change = None
        if query.phase == BEGIN:
            self.anchor, self.slope = s.x.copy(), gradient.copy()
            self.steps, self.now, self.last, self.widest = 0, 1.0, 0.0, 0.0
            self.negative = False
        elif query.phase == GO and self.anchor is not None:
            self._step(query, s, gradient)
        elif query.phase in (PhaseName.NCE_PLUS, PhaseName.ENERGY_TEST):
            self.anchor = None  # the momentum is gone, or the window is over

    def _step(self, query: Query, s: State, gradient: Any) -> None:
        d, gamma = self.p.descent, self.p.curvature_tol
        y = query.point - self.anchor
        size = float(np.linalg.norm(y))
        self.widest = max(self.widest, size)
        curvature = float(y @ (gradient - self.slope)) / size**2
        momentum = 1 - getattr(d, "friction", 1.0)
        move = -d.step * gradient
        if momentum:
            move = move + momentum * s.descent.velocity
        delta = REPEATS * self.p.failure_probability / s.episode**2
        if momentum:
            delta *= REPEATS / (self.steps + 1) ** 2
        apart = delta * self.p.escape.radius * sqrt(pi / (2 * (s.x.size + 1)))
        rate = gamma - self.rho * self.widest
        self.negative |= curvature + self.rho * size / 2 < -gamma / 2
        if self.negative:
            self.change = GO if np.linalg.norm(gradient) > self.p.tolerance else None
        elif rate > 0 and np.linalg.norm(move) < self.now * d.step * rate * apart:
            self.change = CERTIFIED
        grown = (1 + d.step * rate) * (self.now + momentum * (self.now - self.last))
        self.steps, self.now, self.last = self.steps + 1, grown, self.now

    def after(self, query: Query, before: State, s: State) -> State:
        """Give the point before the perturbation if it is certified, or close the window."""
        if self.change is None:
            return s
        anchor, self.anchor = self.anchor, None
        if self.change == CERTIFIED:
            return s._replace(x=anchor, phase=CERTIFIED)
        return s._replace(left=inf, tolerance=self.p.tolerance, report=BEGIN, stalled=False)
