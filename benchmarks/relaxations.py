"""The fourteen molecules of forces.py and ten more through unsaddle.ase, as chemists run it.

``Minimum`` relaxes every molecule at each accuracy of tblite, asked for 50/cm. Then ``certify`` is
asked about the structure where this has ended, with another calculator and no knowledge of the run.
What is true is computed with an accuracy of 1e-6. Prints a table in Markdown.

python -m benchmarks.relaxations                     # the fourteen molecules
python -m benchmarks.relaxations NH3 cyclo           # some of them
python -m benchmarks.relaxations --others            # ten others, shaken
python -m benchmarks.relaxations --parts             # and where the force calls went
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.build import molecule

from benchmarks.atoms import lowest, shaken
from benchmarks.forces import CLAIMS, MISSING, parts
from benchmarks.molecules import ACCURATE, FREQUENCY, MOLECULES, available
from unsaddle.ase import Minimum
from unsaddle.ase.certify import searched
from unsaddle.ase.vibration import VibrationCertificate
from unsaddle.core.phases import name_of

FMAX = 0.01  # eV/Å
STEPS = 500  # force calls of a relaxation
SHAKEN = 0.05  # Å
ACCURACIES = (1.0, 0.01)  # of tblite: its default, and what is recommended
OTHERS = (  # chosen before any was run: small, of ASE's own collection, and none of the fourteen
    "H2CO",
    "HCN",
    "C2H2",
    "CH3OH",
    "CH3SH",
    "CH3CHO",
    "SO2",
    "C3H4_D2d",
    "H3CNH2",
    "HCOOH",
)


class Row(NamedTuple):
    """What came of one molecule at one accuracy."""

    molecule: str
    accuracy: float
    before: float  # true lowest frequency at the start, 1/cm; negative if imaginary
    outcome: str
    shown: float  # 1/cm
    calls: int  # force calls of the relaxation, its certificate's among them
    of_certificate: int
    anew: int  # force calls of ``certify`` where the relaxation has ended
    holds: bool | None  # what it says
    shown_anew: float
    every: int  # 6N
    after: float  # true lowest frequency at the end
    parts: dict[str, int]  # of the certificate's calls
    parts_anew: dict[str, int]

    @property
    def stays(self) -> bool:
        """Say whether the end is a saddle, as far as FREQUENCY can tell."""
        return self.after < -FREQUENCY

    @property
    def claims(self) -> list[float]:
        """Give the frequencies above which it is said that none is imaginary."""
        first = [self.shown] if self.outcome in CLAIMS else []
        return first + ([self.shown_anew] if self.holds else [])

    @property
    def false(self) -> bool:
        """Say whether one of them is."""
        return any(-self.after > each * (1 + 1e-9) for each in self.claims)


def with_forces(atoms: Atoms, charge: int, accuracy: float) -> Atoms:
    """Give a copy with forces of GFN2-xTB."""
    copy, calculator = Atoms(atoms), import_module("tblite.ase").TBLite
    copy.calc = calculator(method="GFN2-xTB", charge=charge, accuracy=accuracy, verbosity=0)
    return copy


def start_of(name: str) -> tuple[Atoms, int]:
    """Give one of the fourteen on its stationary point, or another one, shaken; and its charge."""
    if name not in MOLECULES:
        return shaken(molecule(name), SHAKEN), 0
    return Atoms(*MOLECULES[name].orbits()), MOLECULES[name].charge


def anew(atoms: Atoms) -> tuple[VibrationCertificate, list[str]]:
    """Certify a structure; give the certificate, and what the force calls were for."""
    phases, search = [], searched(atoms, FREQUENCY, None)
    while True:
        try:
            phases.append(name_of(next(search).phase).removeprefix("proof "))
        except StopIteration as end:
            return end.value, phases


def run(name: str, accuracy: float) -> Row:
    """Relax one molecule, and certify it anew."""
    start, charge = start_of(name)
    atoms = with_forces(start, charge, accuracy)
    opt, phases = Minimum(atoms, logfile=None), []
    for _ in opt.irun(fmax=FMAX, steps=STEPS):
        phases.append(name_of(opt.drive.phase))
    shown = opt.certificate
    again, asked = anew(with_forces(atoms, charge, accuracy))
    return Row(
        molecule=name,
        accuracy=accuracy,
        before=lowest(with_forces(start, charge, ACCURATE)),
        outcome="not in time" if opt.outcome is None else opt.outcome.name,
        shown=shown.frequency,
        calls=opt.force_calls,
        of_certificate=shown.force_calls,
        anew=again.force_calls,
        holds=again.holds,
        shown_anew=again.frequency,
        every=shown.vibrations,
        after=lowest(with_forces(atoms, charge, ACCURATE)),
        parts=parts(phases, shown.force_calls),
        parts_anew=parts(asked, again.force_calls),
    )


HEAD = (
    "| molecule | at the start | default accuracy | shown | forces | anew | accuracy 0.01 | shown "
    "| forces | anew | 6N |"
)


def cells(r: Row) -> str:
    """Write what came of a molecule at one accuracy."""
    claim = f"{r.outcome}{', FALSE' if r.false else ''}"
    claim += ", stays" if r.stays else ""
    anew = f"{r.anew}{'' if r.holds else f' ({r.holds})'}"
    return f"{claim} | {r.shown:.0f} | {r.calls} ({r.of_certificate}) | {anew}"


def table(names: Sequence[str], kept: list[Row]) -> Iterator[str]:
    """Write the runs as a table in Markdown, and what they come to."""
    yield HEAD
    yield "|---|" + "---|" * (HEAD.count("|") - 2)
    for name in names:
        rows = [run(name, accuracy) for accuracy in ACCURACIES]
        kept += rows
        before = "a minimum" if rows[0].before > 0 else f"{-rows[0].before:.0f}i"
        yield (f"| {name} | {before} | {' | '.join(cells(r) for r in rows)} | {rows[0].every} |")
    for accuracy in ACCURACIES:
        yield ""
        yield summary(accuracy, [r for r in kept if r.accuracy == accuracy])


def summary(accuracy: float, rows: Sequence[Row]) -> str:
    """Say what the runs at one accuracy come to."""
    share, anew = ([getattr(r, w) / r.every for r in rows] for w in ("of_certificate", "anew"))
    return (
        f"accuracy {accuracy:g}: of {len(rows)}, {sum(not r.stays for r in rows)} end at "
        f"a minimum, {sum(r.outcome == 'CERTIFIED' for r in rows)} are certified at "
        f"{FREQUENCY:.0f}/cm, {sum(r.false for r in rows)} falsely; force calls of the "
        f"certificate over 6N: {spoken(share)}; of one anew: {spoken(anew)}"
    )


def spoken(shares: Sequence[float]) -> str:
    """Say how shares are spread."""
    above = sum(each > 1 for each in shares)
    return f"median {np.median(shares):.2f}, at most {max(shares):.2f}, above one {above}"


def parts_of(rows: Sequence[Row]) -> Iterator[str]:
    """Write where the force calls of certificates went."""
    yield "| molecule | accuracy | of | noise | radius | steps | recheck | else | 6N |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for r in rows:
        for of, went in (("the run", r.parts), ("anew", r.parts_anew)):
            counts = " | ".join(map(str, went.values()))
            yield f"| {r.molecule} | {r.accuracy:g} | {of} | {counts} | {r.every} |"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Molecules through unsaddle.ase.")
    parser.add_argument("names", nargs="*", help="parts of names; all if none is given")
    parser.add_argument("--others", action="store_true", help="ten others in place of the fourteen")
    parser.add_argument("--parts", action="store_true", help="say where the force calls went")
    parser.add_argument("--output", type=Path, help="a file of JSON lines to write the runs to")
    return parser.parse_args()


def main() -> None:
    """Do what the command line says."""
    given = arguments()
    if not available():
        raise SystemExit(MISSING)
    every, kept = OTHERS if given.others else tuple(MOLECULES), list[Row]()
    names = [n for n in every if not given.names or any(part in n for part in given.names)]
    for line in table(names, kept):
        print(line, flush=True)
    for line in ["", *parts_of(kept)] if given.parts else []:
        print(line)
    if given.output:
        given.output.write_text("".join(json.dumps(r._asdict()) + "\n" for r in kept))


if __name__ == "__main__":
    main()
