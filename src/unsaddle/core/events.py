"""What happens in a run, in words: each event is one line of the logger ``unsaddle``."""

import logging
from math import inf, isfinite, log1p, nan
from typing import NamedTuple

from unsaddle.core.evidence import Evidence
from unsaddle.core.phases import BEGIN, PROOF, PhaseName, phase_of

log = logging.getLogger("unsaddle")
JUMP, JUMP_BEGIN = PhaseName.JUMP, PhaseName.JUMP_BEGIN
JUMPING = (JUMP_BEGIN, JUMP, PhaseName.LANDED)
CHECKING = (PhaseName.RECHECK, PhaseName.RECHECK_BEHIND)
FIRST_OF_PROOF = BEGIN + PROOF


class Event(NamedTuple):
    """One event of a run."""

    kind: str
    """"search", "curvature", "jump" or "end"."""
    query: int
    """How many queries there were before."""
    value: float
    """The value there; NaN where it is not known."""
    curvature: float
    """The lowest curvature that was measured; NaN where none was."""
    text: str
    """The line of the logger."""


def doing(code: int, episode: int) -> str:
    """Say what a run does in a phase."""
    phase = phase_of(code)
    if phase <= BEGIN:
        return "descending" if phase >= 0 else "at the end"
    if phase in JUMPING:
        return f"jumping from point {episode}"
    if phase in CHECKING or code >= FIRST_OF_PROOF or phase == PhaseName.PROVE:
        return f"proving at point {max(episode, 1)}"
    return f"searching for negative curvature at point {max(episode, 1)}"


def nearness(found: Evidence) -> float:
    """Give how far a search has come to its certificate: log(growth) by log(growth needed)."""
    growth, needed = float(found.growth), float(found.resolution.needed)
    if not (1 < needed < inf and growth >= 1):
        return nan
    return min(1.0, log1p(growth - 1) / log1p(needed - 1)) if isfinite(growth) else 1.0
