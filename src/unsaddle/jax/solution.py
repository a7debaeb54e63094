"""What the public functions of this backend give back: pytrees of arrays, and their words."""

from textwrap import fill as wrapped
from typing import Any, NamedTuple

import jax
from jax.core import Tracer
from scipy.optimize import OptimizeResult

from unsaddle.certificate import Certificate, certificate
from unsaddle.core.evidence import Claim
from unsaddle.core.outcome import BY_STATUS, STATUS, Outcome
from unsaddle.jax.inputs import Tree


class Verdict(Claim):
    """What a search has shown: ``unsaddle.Certificate`` in the form of arrays."""

    __slots__ = ()

    @property
    def certified(self) -> Any:
        """Whether it is certified that there is no curvature below -curvature_tol."""
        return self.holds == 1

    def certificate(self) -> Certificate:
        """Give the certificate that this is, once it has been computed."""
        return certificate(jax.device_get(self))  # in the precision that it was computed in

    def __str__(self) -> str:
        """Print one verdict as its certificate; a batch and a traced one as the tuple it is."""
        return tuple.__repr__(self) if of_several(self.holds) else str(self.certificate())


def of_several(status: Any) -> bool:
    """Say whether this is of a batch, or of a run that is being traced."""
    return isinstance(status, Tracer) or getattr(status, "ndim", 1) > 0


class Solution(NamedTuple):
    """Where a run ended, and what it has shown there; a pytree."""

    x: Tree  # the point, a pytree as x0 is
    fun: Any  # the value there
    status: Any  # 0 is success; the others as in ``unsaddle.minimize``
    verdict: Verdict  # what the certificate is made of, as arrays
    values: Any  # how many values were computed
    gradients: Any  # how many gradients
    products: Any = 0  # how many products with the Hessian

    @property
    def success(self) -> Any:
        """Whether a certificate holds at x."""
        return self.status == STATUS[Outcome.CERTIFIED]

    @property
    def outcome(self) -> Outcome:
        """How the run ended, once it has been computed; of one run, not of a batch."""
        return BY_STATUS[int(self.status)]

    @property
    def certificate(self) -> Certificate:
        """What was shown at x, once it has been computed; of one run, not of a batch."""
        return self.verdict.certificate()

    def __repr__(self) -> str:
        """Print one run as SciPy prints a result; a batch and a traced run as the tuple it is."""
        if of_several(self.status):
            return tuple.__repr__(self)
        shown = OptimizeResult(message=wrapped(self.outcome.value, 80), success=bool(self.success))
        shown.update(self._asdict(), outcome=self.outcome)
        shown.update(certificate=wrapped(str(self.certificate), 80))
        del shown["verdict"]
        return repr(shown)


class Many(NamedTuple):
    """All runs of a batch, and the best of them."""

    all: Solution
    best: Solution
