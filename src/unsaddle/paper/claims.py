"""Verdicts: what became of a claim under its readings."""

from collections.abc import Callable
from typing import Any

from unsaddle.paper.declare import LASTING, Claim
from unsaddle.paper.measure import SAMPLES, Measured
from unsaddle.paper.obtain import Experiment

HOLDS, ONLY, FAILS = "holds", "holds only under this reading", "does not hold"


def judge(
    claim: Claim, experiment: Experiment, tick: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Measure a claim under each of its readings and give the verdict.

    It holds if it does under the literal reading, the first, and, where a race may be counted in
    two ways, in both; it holds only under a reading if it does under any one, and the first of
    those is shown; else it does not hold, and the literal reading is shown. A reading under which
    it is true but says nothing counts for nothing.

    Args:
        claim: What the paper says.
        experiment: Where to measure it.
        tick: Called after each reading.

    Returns:
        The entry of claims.json.
    """
    measured = {}
    for name, values in claim.readings.items():
        measured[name] = claim.ask(experiment, values, SAMPLES)
        tick()
    names = list(measured)
    good = [name for name in names if measured[name].satisfied and not measured[name].vacuous]
    literal = {names[0], LASTING.format(names[0])} & {*names}
    shown = good[0] if good else names[0]
    verdict = HOLDS if literal <= {*good} else ONLY if good else FAILS
    return {
        "paper": claim.words,
        "verdict": verdict,
        "literal": names[0],
        "reading": shown,
        **entry(measured[shown]),
        "note": claim.note,
        "readings": {name: entry(each) for name, each in measured.items()},
    }


def entry(measured: Measured) -> dict[str, Any]:
    """Write a measurement with as many digits as it can carry."""
    numbers = {name: _number(getattr(measured, name)) for name in ("value", "low", "high", "run")}
    numbers["samples"] = measured.samples
    flags = {name: bool(getattr(measured, name)) for name in ("satisfied", "vacuous")}
    return {"measured": measured.what, **flags, **numbers}


def _number(value: float) -> float | None:
    return None if value != value or abs(value) == float("inf") else float(f"{value:.5g}")
