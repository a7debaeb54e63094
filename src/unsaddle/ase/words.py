"""How a relaxation ended, in the words of those who relax structures."""

from unsaddle.core.outcome import Outcome

SENTENCES = {
    Outcome.NOT_FINITE: "The calculator gave an energy or forces that are NaN or infinite.",
    Outcome.CERTIFIED: "A minimum: forces are below fmax, and the frequencies are certified.",
    Outcome.COARSER: "Forces are below fmax, but cannot show as low a frequency as was asked for: "
    "tighten the convergence of the calculator.",
    Outcome.UNCERTIFIED: "Whether it is a minimum is not known.",
    Outcome.JUMP_FAILED: "There is an imaginary frequency, but no displacement along its mode "
    "lowers the energy enough: the energy or the forces may be too rough.",
    Outcome.NEGATIVE_CURVATURE: "No minimum: there is an imaginary frequency.",
    Outcome.STALLED: "Forces are above fmax: the structure is not relaxed.",
    Outcome.UNRESOLVED: "Forces are below fmax, but their differences show nothing but errors: "
    "tighten the convergence of the calculator, or pass a larger displacement.",
    Outcome.UNBOUNDED: "The energy falls without end: it seems that atoms fly apart.",
    Outcome.INTERRUPTED: "Interrupted from the keyboard.",
    Outcome.STOPPED: "Stopped on request.",
    Outcome.BUDGET: "The steps or the seconds did not suffice.",
}


def in_words(outcome: Outcome | None) -> str:
    """Say how a run has ended; None is one that can go on."""
    return SENTENCES[outcome or Outcome.BUDGET]
