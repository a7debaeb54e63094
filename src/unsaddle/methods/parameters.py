"""From what is known of a function to the parameters of each method: one function a method.

The formulas are in ``theory.py``, ``neon_theory.py`` and ``table1_theory.py``; here they are put
into the settings of the parts. Those of the methods that take samples are in
``stochastic_parameters.py``.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import Any, NamedTuple

from unsaddle.core.kernel import NoSettings, Parameters
from unsaddle.core.resolution import TUNING as RESOLUTION
from unsaddle.descents.agd import agd
from unsaddle.descents.almost_convex_agd import almost_convex_agd
from unsaddle.descents.cubic import cubic
from unsaddle.descents.gd import gd
from unsaddle.descents.lbfgs import lbfgs
from unsaddle.descents.parameter_free_agd import parameter_free_agd
from unsaddle.escapes import krylov
from unsaddle.escapes.anc import anc
from unsaddle.escapes.nc import nc
from unsaddle.escapes.neon import neon
from unsaddle.escapes.neon2 import neon2
from unsaddle.escapes.perturbation import perturbation
from unsaddle.methods import neon_theory, table1_theory, theory
from unsaddle.methods.room import TUNING as ROOMS
from unsaddle.methods.room import Room, room


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    finest: float = 1e-4  # of the largest curvature, (0, 1): the gamma to certify if none is given
    cubic: float = 1e-2  # of |g|, (0, 1): a step that is more accurate hardly promises more
    bending: float = 1e-2  # of gamma, (0, 1): in a difference, unless rounding asks for more


TUNING = Tuning()


class Problem(NamedTuple):
    """What is known of the function, and what is asked for; zero where it is not known."""

    n: int
    tol: float  # eps
    failure_probability: float  # delta
    curvature_tol: float = 0.0  # gamma, if it is given
    smoothness: float = 0.0  # l
    hessian_lipschitz: float = 0.0  # rho
    decrease_available: float = 0.0  # Delta_f
    gradient_noise: float = 0.0  # |error| of a gradient
    probe_radius: float = 0.0  # r
    max_step: float = 0.0  # of descent and jump
    max_memory: float = 0.0  # in bytes
    itemsize: int = 8  # bytes of a number
    shared: bool = False  # whether pairs and basis lie in the same place
    stochastic_smoothness: float = 0.0  # lt
    variance: float = 0.0  # sigma^2
    printed: bool = False  # whether a stochastic method is to be as printed
    data: int = 0  # samples that there are in all, if they are given

    @property
    def gamma(self) -> float:
        """The curvature to certify: as given, or sqrt(rho eps), or zero if rho is not known."""
        return self.curvature_tol or sqrt(self.hessian_lipschitz * self.tol)

    def measured(self, room: Room | None = None) -> krylov.Settings:
        """Settings of a search that measures what it is not told: a proof, above all."""
        return krylov.Settings(
            enough=RESOLUTION.found,
            finest=0.0 if self.hessian_lipschitz else TUNING.finest,
            curvature_tol=self.curvature_tol,
            failure_probability=self.failure_probability,
            smoothness=self.smoothness,
            hessian_lipschitz=self.hessian_lipschitz,
            gradient_noise=self.gradient_noise,
            probe_radius=self.probe_radius,
            max_step=self.max_step or inf,
            vectors=(room or self.room).vectors,
        )

    @property
    def room(self) -> Room:
        """How many pairs and vectors may be kept."""
        return room(self.n, self.itemsize, self.max_memory, self.shared)

    def proof(self) -> krylov.Settings:
        """Settings of the proof of a method that knows its gamma."""
        return self._replace(curvature_tol=self.gamma).measured()

    def finding(self) -> dict[str, Any]:
        """The words of one search for gamma: its eps is the one whose sqrt(rho eps) is gamma."""
        tol, risk = self.gamma**2 / self.hessian_lipschitz, self.failure_probability
        words = self._replace(tol=tol).run()
        if words["decrease_available"]:  # then a theorem says how sure one search has to be
            risk = theory.pgd_nc(**words).failure_probability
        del words["decrease_available"]
        return {**words, "failure_probability": min(risk, 1.0)}

    def run(self) -> dict[str, Any]:
        """The words of a whole run."""
        names = ("smoothness", "hessian_lipschitz", "tol", "n", "failure_probability")
        return {name: getattr(self, name) for name in (*names, "decrease_available")}

    def jump(self) -> dict[str, Any]:
        """What the searches of the papers share: the jump, and what they have to know."""
        tol = self.gamma**2 / self.hessian_lipschitz
        jump = theory.jump(hessian_lipschitz=self.hessian_lipschitz, tol=tol)
        return {
            "length": jump.length,
            "decrease": jump.decrease,
            "curvature_tol": self.gamma,
            "failure_probability": self.failure_probability,
            "smoothness": self.smoothness,
            "hessian_lipschitz": self.hessian_lipschitz,
            "gradient_noise": self.gradient_noise,
        }


Theory = Callable[[Problem], Parameters]


def _with_target(q: Problem, tolerance: float, descent: Any, escape: Any, proof: Any) -> Parameters:
    """Add the target: what a certificate is to say, and how sure it is to be."""
    return Parameters(tolerance, descent, escape, proof, q.gamma, q.failure_probability)


def pgd_nc(q: Problem) -> Parameters:
    """Gradient descent with step 1/l, and Proposition "NC-finding"."""
    found, step = theory.nc_finding(**q.finding()), 1 / q.smoothness
    escape = nc.settings(
        search_step=step,
        radius=found.radius,
        window=found.window,
        enough=RESOLUTION.found,
        **q.jump(),
    )
    return _with_target(q, q.tol, gd.settings(step=step), escape, q.proof())


def ancgd(q: Problem) -> Parameters:
    """Accelerated descent, and Proposition "ANC-finding"."""
    found = theory.anc_finding(**q.finding())
    escape = anc.settings(
        search_step=found.step,
        search_friction=found.friction,
        radius=found.radius,
        window=found.window,
        enough=RESOLUTION.found,
        **q.jump(),
    )
    return _with_target(q, q.tol, _accelerated(found), escape, q.proof())


def pgd(q: Problem) -> Parameters:
    """Jin et al. (2017)."""
    found = theory.pgd(**q.run())
    escape = perturbation.settings(found.radius, window=found.steps, decrease=found.decrease)
    return _with_target(q, found.tolerance, gd.settings(step=found.step), escape, q.proof())


def pagd(q: Problem) -> Parameters:
    """Jin et al. (2018)."""
    found = theory.pagd(**q.run())
    escape = perturbation.settings(found.radius, window=found.steps, decrease=found.energy_quantum)
    return _with_target(q, q.tol, _accelerated(found), escape, q.proof())


def neon_gd(q: Problem) -> Parameters:
    """Gradient descent with step 1/l, and NEON."""
    return _with_target(q, q.tol, gd.settings(step=1 / q.smoothness), _neon(q, False), q.proof())


def neon_agd(q: Problem) -> Parameters:
    """Accelerated descent, and NEON+."""
    descent = _accelerated(theory.anc_finding(**q.finding()))
    return _with_target(q, q.tol, descent, _neon(q, True), q.proof())


def _neon(q: Problem, accelerated: bool) -> Any:
    words = q.finding()
    del words["tol"]
    found = neon_theory.neon(**words, curvature_tol=q.gamma, accelerated=accelerated)
    return neon.settings(**found._asdict(), **q.jump())


def neon2_agd(q: Problem) -> Parameters:
    """The descent of Carmon et al., and Neon2."""
    known = {"hessian_lipschitz": q.hessian_lipschitz, "curvature_tol": q.gamma}
    jump, risk = table1_theory.curvature_step(**known), q.failure_probability
    found = table1_theory.neon2(smoothness=q.smoothness, failure_probability=risk, n=q.n, **known)
    own = {**q.jump(), **jump._asdict(), **found._asdict()}
    escape = neon2.settings(enough=RESOLUTION.found, **own)
    return _with_target(q, q.tol, _almost_convex(q), escape, q.proof())


def cdhs(q: Problem) -> Parameters:
    """Carmon et al. (2018), whose alpha is gamma if none is given."""
    alpha = q.curvature_tol or table1_theory.cdhs_curvature(
        smoothness=q.smoothness,
        hessian_lipschitz=q.hessian_lipschitz,
        tol=q.tol,
        decrease_available=q.decrease_available,
    )
    q = q._replace(curvature_tol=alpha)
    return _with_target(q, q.tol, _almost_convex(q), q.proof(), q.proof())


def adancg(q: Problem) -> Parameters:
    """Liu et al. (2018)."""
    return _with_target(q, q.tol, NoSettings(), q.proof(), q.proof())


def fastcubic(q: Problem) -> Parameters:
    """Agarwal et al. (2017); over r a difference errs by rho r/2. Two bases share the room."""
    vectors = max(ROOMS.least_basis, q.room.vectors // 2)
    descent = cubic.settings(
        accuracy=TUNING.cubic,
        probe_radius=q.probe_radius or 2 * TUNING.bending * q.gamma / q.hessian_lipschitz,
        smoothness=q.smoothness,
        hessian_lipschitz=q.hessian_lipschitz,
        gradient_noise=q.gradient_noise,
        vectors=vectors,
    )
    search = q.proof()._replace(vectors=vectors)
    return _with_target(q, q.tol, descent, search, q.proof())


def _almost_convex(q: Problem) -> Any:
    found = table1_theory.almost_convex(
        smoothness=q.smoothness,
        hessian_lipschitz=q.hessian_lipschitz,
        tol=q.tol,
        curvature_tol=q.gamma,
    )
    return almost_convex_agd.settings(**found._asdict())


def agd_lanczos(q: Problem) -> Parameters:
    """Accelerated descent, and Lanczos for gamma."""
    descent = _accelerated(theory.anc_finding(**q.finding()))
    return _with_target(q, q.tol, descent, q.proof(), None)


def _accelerated(found: Any) -> Any:
    return agd.settings(**{name: getattr(found, name) for name in agd.settings._fields})


def auto(q: Problem) -> Parameters:
    """Nothing has to be known; what is given is a lower bound of what is measured."""
    room = q.room
    descent = lbfgs.settings(q.max_step or inf, q.gradient_noise, room.pairs)
    return _with_target(q, q.tol, descent, q.measured(room), None)


def agd_auto(q: Problem) -> Parameters:
    """Nothing has to be known; there is no proof behind a search that proves by itself."""
    return _with_target(q, q.tol, parameter_free_agd.settings(), q.measured(), None)
