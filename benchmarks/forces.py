"""Fourteen symmetric molecules with real forces: what minimize makes of them, and what is true.

python -m benchmarks.forces              # minimize on all: outcome, certificate, what is true
python -m benchmarks.forces NH3 cyclo    # on some
python -m benchmarks.forces --noise      # noise of the forces, measured in three ways
python -m benchmarks.forces --saddles    # the stationary points, relaxed again
python -m benchmarks.forces --options '{"max_gradients": 500}'     # any words of minimize
"""

import argparse
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.molecules import (
    ACCURATE,
    FREQUENCY,
    MOLECULES,
    available,
    problem,
    relaxed,
    wanted_curvature,
)
from benchmarks.noisy_families import difference_table_noise
from unsaddle import minimize

MISSING = "the forces need two packages: pip install ase tblite"
CLAIMS = ("CERTIFIED", "COARSER")  # outcomes that claim a gamma, as asked for or larger
PARTS = {  # of a certificate's calculations, by the phases that ask for them
    "noise": ("half_radius", "whole_radius", "close_by", "recheck_close"),
    "radius": ("noisy_ahead", "noisy_behind", "noisy_half_ahead", "noisy_half_behind"),
    "steps": ("search", "search_behind"),
    "recheck": ("recheck", "recheck_behind"),
}
TOL = 0.01  # of the gradient's norm, in eV/Å/sqrt(amu)
BUDGET = 2_000  # gradients of a run


def saddles(names: Sequence[str]) -> Iterator[str]:
    """Relax molecules, and print them as they stand in MOLECULES."""
    for name in names:
        molecule, force = relaxed(name)
        yield f"{name}: largest force {force:.1e}"
        for symbol, position in molecule.atoms:
            yield f'    ("{symbol}", ({", ".join(f"{round(p, 9) + 0.0:.9g}" for p in position)})),'


class Row(NamedTuple):
    """What came of one run."""

    molecule: str
    asked: float | None  # gamma
    outcome: str
    success: bool
    shown: float  # gamma of the certificate
    measured: float  # the lowest curvature that the search has measured
    calls: int  # calculations of the run, the certificate's among them
    certificate_calls: int
    every: int  # 6N, calculations of a Hessian by central differences
    before: float  # true lambda_min of the vibrations at the start
    lowest: float  # true lambda_min at the end, of all coordinates
    vibration: float  # and of the vibrations alone
    gradient: float  # true norm at the end
    energy: float  # change, eV
    note: str
    parts: dict[str, int]  # where the certificate's calculations went

    @property
    def on_saddle(self) -> bool:
        """Say whether success is claimed where a vibration is imaginary by more than asked."""
        return self.success and self.vibration < -(self.asked or wanted_curvature())

    @property
    def false(self) -> bool:
        """Say whether the claim itself is false: there is curvature below -gamma as certified."""
        return self.outcome in CLAIMS and self.lowest < -self.shown

    @property
    def minimum(self) -> bool:
        """Say whether the end is a minimum, as far as FREQUENCY can tell."""
        return self.vibration > -wanted_curvature()


def parts(phases: Sequence[str], gradients: int) -> dict[str, int]:
    """Count the last so many queries of a run by PARTS, but for those that report its end."""
    asked = [phase for phase in phases if phase != "report"][-gradients:] if gradients else []
    counted = {name: sum(phase in of for phase in asked) for name, of in PARTS.items()}
    return {**counted, "else": len(asked) - sum(counted.values())}


def run(
    name: str,
    curvature_tol: float | None,
    accuracy: float = 1.0,
    mass_weighted: bool = True,
    **options: Any,  # gradient_noise, probe_radius, max_step and the like go here
) -> Row:
    """Run minimize from the stationary point of a molecule."""
    from ase.calculators.calculator import CalculationFailed

    p = problem(name, accuracy, mass_weighted)
    words = {"tol": TOL, "max_gradients": BUDGET, **options}
    try:
        result = minimize(p.fun, p.x0, jac=p.grad, curvature_tol=curvature_tol, **words)
        outcome = result.outcome.name
    except CalculationFailed as error:
        result, outcome = error.unsaddle, "raised"  # type: ignore[attr-defined]
    shown, calls = result.certificate, len(p.calls)
    start = problem(name, ACCURATE, mass_weighted)
    return Row(
        molecule=name,
        asked=curvature_tol,
        outcome=outcome,
        success=bool(result.success) and outcome != "raised",
        shown=shown.curvature_tol if shown is not None else math.nan,
        measured=shown.curvature if shown is not None else math.nan,
        calls=calls,
        certificate_calls=shown.gradients if shown is not None else 0,
        every=2 * p.x0.size,
        before=p.exact_lowest(p.x0, internal=True),
        lowest=p.exact_lowest(result.x),
        vibration=p.exact_lowest(result.x, internal=True),
        gradient=float(np.linalg.norm(p.exact_gradient(result.x))),
        energy=start.fun(np.asarray(result.x)) - start.fun(p.x0),
        note=shown.note if shown is not None else "",
        parts=parts(list(result.history.phase), shown.gradients if shown is not None else 0),
    )


HEAD = (
    "| molecule | asked | outcome | success | gamma | measured | calls | of the certificate | 6N "
    "| noise, radius, steps, recheck, else | lambda_min before | at the end | vibrations "
    "| true gradient | energy |"
)


def table(rows: Iterator[Row], kept: list[Row]) -> Iterator[str]:
    """Write runs as a table in Markdown, and what they come to."""
    yield HEAD
    yield "|" + "---|" * (HEAD.count("|") - 1)
    for r in rows:
        kept.append(r)
        asked = "default" if r.asked is None else f"{r.asked:.2g}"
        claim = "FALSE" if r.false else "SADDLE" if r.on_saddle else "yes" if r.success else "no"
        yield (
            f"| {r.molecule} | {asked} | {r.outcome} | {claim} | {r.shown:.2g} | {r.measured:.2g} "
            f"| {r.calls} | {r.certificate_calls} | {r.every} "
            f"| {', '.join(map(str, r.parts.values()))} | {r.before:.3g} | {r.lowest:.3g} "
            f"| {r.vibration:.3g} | {r.gradient:.1e} | {r.energy:.3f} |"
        )
    for asked in dict.fromkeys(r.asked for r in kept):
        these = [r for r in kept if r.asked == asked]
        good = [r for r in these if r.success and not r.on_saddle]
        small = [r for r in good if r.shown <= wanted_curvature() * (1 + 1e-9)]
        claims = [r.certificate_calls / r.every for r in these if r.outcome in CLAIMS]
        shares = claims or [math.nan]
        yield (
            f"\n{'default gamma' if asked is None else f'gamma = {asked:.2g}'}: of {len(these)}, "
            f"{sum(r.minimum for r in these)} end at a minimum, {len(good)} successes are there "
            f"({len(small)} of them at {FREQUENCY:.0f}/cm), "
            f"{sum(r.on_saddle for r in these)} on a saddle; "
            f"{sum(r.false for r in these)} false claims; "
            f"calls of the certificates over 6N: median {np.median(shares):.2f}, "
            f"most {max(shares):.2f}, above 6N {sum(share > 1 for share in shares)}"
        )


def noise(name: str, accuracy: float = 1.0, lines: int = 5, seed: int = 0) -> dict[str, float]:
    """Measure the noise of forces in eV/Å, as norms of vectors of all forces, in three ways.

    About points at 0.02 Å from the stationary one: by difference tables over nine points on a line
    that are 1e-4 Å apart; as the spread at one point that is come back to from 0.01 Å away; and as
    the difference from accurate forces, which counts the smooth part of the error too.
    """
    p = problem(name, accuracy, mass_weighted=False)
    rng = np.random.default_rng(seed)
    tables, spreads, errors = [], [], []

    def direction() -> np.ndarray:
        w = rng.standard_normal(p.x0.size)
        return w / np.linalg.norm(w)

    for _ in range(lines):
        x, along = p.x0 + 0.02 * direction(), direction()
        tables.append(
            difference_table_noise(np.array([p.grad(x + 1e-4 * k * along) for k in range(9)]))
        )
        returns = []
        for _ in range(6):
            p.grad(x + 0.01 * direction())
            returns.append(p.grad(x))
        spreads.append(np.var(returns, axis=0, ddof=1).sum())
        errors.append(np.square(returns - p.exact_gradient(x)).sum(axis=1).mean())
    return {
        "table": float(np.nanmedian(tables)),
        "undecided": int(np.isnan(tables).sum()),
        "returns": math.sqrt(np.mean(spreads)),
        "error": math.sqrt(np.mean(errors)),
    }


def noises(names: Sequence[str], accuracy: float) -> Iterator[str]:
    """Measure the noise of all."""
    yield "| molecule | difference table | undecided | come back to a point | error |"
    yield "|---|---|---|---|---|"
    for name in names:
        n = noise(name, accuracy)
        yield (
            f"| {name} | {n['table']:.1e} | {n['undecided']:.0f} of 5 | {n['returns']:.1e} "
            f"| {n['error']:.1e} |"
        )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Fourteen molecules with real forces.")
    parser.add_argument(
        "names", nargs="*", help="parts of names of molecules; all if none is given"
    )
    parser.add_argument("--noise", action="store_true", help="measure the noise of the forces")
    parser.add_argument("--saddles", action="store_true", help="relax the molecules again")
    parser.add_argument("--accuracy", type=float, default=1.0, help="of tblite, default 1.0")
    parser.add_argument("--cartesian", action="store_true", help="without masses")
    parser.add_argument("--options", type=json.loads, default={}, help="of minimize, as JSON")
    parser.add_argument("--output", type=Path, help="a file of JSON lines to write the runs to")
    return parser.parse_args()


def main() -> None:
    """Do what the command line says."""
    given = arguments()
    if not available():
        raise SystemExit(MISSING)
    names = [n for n in MOLECULES if not given.names or any(part in n for part in given.names)]
    kept: list[Row] = []
    if given.saddles:
        lines = saddles(names)
    elif given.noise:
        lines = noises(names, given.accuracy)
    else:
        asked = itertools.product((wanted_curvature(), None), names)
        rows = (run(n, g, given.accuracy, not given.cartesian, **given.options) for g, n in asked)
        lines = table(rows, kept)
    for line in lines:
        print(line, flush=True)
    if given.output:
        given.output.write_text("".join(json.dumps(r._asdict()) + "\n" for r in kept))


if __name__ == "__main__":
    main()
