"""Verdicts: what became of a claim under its readings."""

from typing import Any

from unsaddle.paper.declare import Claim
from unsaddle.paper.measure import SAMPLES, SCANNED, Experiment, Measured

HOLDS, ONLY, FAILS = "holds", "holds only under this reading", "does not hold"
MANY = 6  # a claim with more readings than this is a scan, at the scan's sample size


def judge(claim: Claim, experiment: Experiment) -> dict[str, Any]:
    """Measure a claim under each of its readings and give the verdict.

    It holds if it does under the literal reading, the first; it holds only under a reading if it
    does under one of the others, and the first of those is shown; else it does not hold, and the
    literal reading is shown.

    Args:
        claim: What the paper says.
        experiment: Where to measure it.

    Returns:
        The entry of claims.json.
    """
    m = SAMPLES if len(claim.readings) <= MANY else SCANNED
    measured = {name: claim.ask(experiment, values, m) for name, values in claim.readings.items()}
    names = list(measured)
    good = [name for name in names if measured[name].satisfied]
    shown = good[0] if good and good[0] != names[0] else names[0]
    verdict = HOLDS if shown == names[0] and good else ONLY if good else FAILS
    return {
        "paper": claim.words,
        "verdict": verdict,
        "reading": shown,
        **entry(measured[shown]),
        "note": claim.note,
        "readings": {name: entry(each) for name, each in measured.items()},
    }


def entry(measured: Measured) -> dict[str, Any]:
    """Write a measurement with as many digits as it can carry."""
    numbers = {name: _number(getattr(measured, name)) for name in ("value", "low", "high", "run")}
    return {"measured": measured.what, "satisfied": bool(measured.satisfied), **numbers}


def _number(value: float) -> float | None:
    return None if value != value or abs(value) == float("inf") else float(f"{value:.5g}")
