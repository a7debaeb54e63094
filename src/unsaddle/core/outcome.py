"""How a run ended, in sentences that a user reads."""

import warnings
from enum import Enum, EnumMeta
from typing import Any

from unsaddle.core.phases import PhaseName

FORMER = {"TESTED": "UNCERTIFIED", "BLIND": "UNRESOLVED", "REFUTED": "NEGATIVE_CURVATURE"}


class _Renamed(EnumMeta):
    """Lets the names of release 0.1 work for one release more, with a warning."""

    def __getattr__(cls, name: str) -> Any:
        """Look an attribute up, also by its former name."""
        if name not in FORMER:
            raise AttributeError(f"Outcome has no member {name!r}")
        return cls._renamed(name)

    def __getitem__(cls, name: str) -> Any:
        """Look a member up, also by its former name."""
        return cls._renamed(name) if name in FORMER else super().__getitem__(name)

    def _renamed(cls, name: str) -> Any:
        """Give the member that had this name, and warn whoever used it, two calls up."""
        new = f"Outcome.{FORMER[name]}"
        text = f"Outcome.{name} is now {new}; the former name goes in the next release"
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        return super().__getitem__(FORMER[name])


class Outcome(Enum, metaclass=_Renamed):
    """How a run ended: each value is the sentence a user reads.

    Where several hold at once the first in this order is reported. Only ``CERTIFIED`` is a success.
    """

    NOT_FINITE = "The function or its gradient was NaN or infinite; the best finite point is x."
    CERTIFIED = "Second-order point: the gradient is within tol and the curvature is certified."
    COARSER = (
        "The gradient is within tol, but the curvature is certified only for a larger "
        "curvature_tol than was asked for: errors of the gradient hide less, or certificate_budget "
        "was spent. More accurate gradients help, and products with the Hessian (hessp); see also "
        "gradient_noise= and probe_radius=."
    )
    UNCERTIFIED = (
        "The method's own termination test passed, but no certificate was reached: "
        "whether x is a minimum or a saddle is unknown."
    )
    JUMP_FAILED = (
        "Negative curvature was found, but no jump along it lowered the function enough: "
        "hessian_lipschitz is too small, or the decrease is below what floating point can show."
    )
    NEGATIVE_CURVATURE = (
        "The method's own termination test passed, but there is negative curvature at x: "
        "certificate.direction shows where."
    )
    STALLED = "No further progress: the descent ended short of a second-order point."
    UNRESOLVED = (
        "The gradient is within tol, but its differences show no curvature above their own error: "
        "whether x is a minimum or a saddle is unknown; pass curvature_tol=<what is small for you>."
    )
    UNBOUNDED = "The function falls without end: it seems to have no minimum in this direction."
    INTERRUPTED = "Interrupted from the keyboard; the best point so far is x."
    STOPPED = "The callback asked to stop; the best point so far is x."
    BUDGET = "max_gradients or max_seconds was reached before a second-order point was certified."


class EndError(Exception):
    """The run is over, though no kernel says so: ``outcome`` says why."""

    def __init__(self, outcome: Outcome) -> None:
        """Take the outcome."""
        super().__init__(outcome.value)
        self.outcome = outcome


ENDS: dict[int, Outcome] = {  # the phases that end a run
    code: Outcome[code.name] for code in PhaseName if code < 0
}
STATUS = {Outcome.CERTIFIED: 0} | {  # SciPy's number of each
    outcome: code
    for code, outcome in enumerate((o for o in Outcome if o is not Outcome.CERTIFIED), start=1)
}
BY_STATUS = {code: outcome for outcome, code in STATUS.items()}
