"""Thirty structures: symmetric ones, of which many are saddles, and ordinary ones, beside BFGS.

python -m benchmarks.atoms                  # all, as a table
python -m benchmarks.atoms Cu C6H6          # some, by parts of their names
python -m benchmarks.atoms --output benchmarks/results/atoms.jsonl
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc100, fcc111, molecule
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.cluster import Icosahedron, Octahedron
from ase.constraints import FixAtoms
from ase.optimize import BFGS

from benchmarks.molecules import MOLECULES, available, calculated
from unsaddle.ase import Minimum
from unsaddle.ase.space import Space
from unsaddle.ase.vibration import frequency_of

USUAL, WEAK = (0.01, 50.0), (1e-4, 1.0)  # fmax in eV/Å and frequency in 1/cm; for argon
STEPS = 1500  # of any relaxation
SHIFT = 2e-3  # Å, of exact vibrations
ACCURACY = 0.01  # of tblite: forces good to about 1e-6 eV/Å, as for vibrations
MISSING = "skipped: type pip install tblite"


def with_calculator(atoms: Atoms, calculator: Any) -> Atoms:
    """Give the structure a calculator."""
    atoms = Atoms(atoms)
    atoms.calc = calculator
    return atoms


def cluster(symbol: str, number: int) -> Atoms:
    """Cut a cluster out of the crystal: cuboctahedra of 13 and 55 atoms, and one of 38."""
    length, cutoff = {13: (3, 1), 38: (4, 1), 55: (5, 2)}[number]
    return with_calculator(Octahedron(symbol, length, cutoff=cutoff), EMT())


def adsorbed(symbol: str, on: str, site: str, height: float, cut: Any = fcc111) -> Atoms:
    """Put an atom on a surface whose lower layers are fixed."""
    atoms = cut(on, (2, 2, 3), vacuum=8.0)
    add_adsorbate(atoms, symbol, height, site)
    atoms.set_constraint(FixAtoms(mask=[atom.tag > 1 for atom in atoms]))
    atoms.calc = EMT()
    return atoms


def argon(positions: Any) -> Atoms:
    """Give atoms with Lennard-Jones forces."""
    potential = LennardJones(sigma=3.4, epsilon=0.0104, rc=30.0)
    return with_calculator(Atoms(f"Ar{len(positions)}", positions), potential)


def flat(rings: int) -> Atoms:
    """Give a flat piece of the triangular lattice: 7 or 19 atoms."""
    steps = range(-rings, rings + 1)
    a, b = np.array([3.8, 0, 0]), np.array([1.9, 3.8 * math.sqrt(0.75), 0])
    return argon([i * a + j * b for i in steps for j in steps if abs(i + j) <= rings])


def shaken(atoms: Atoms, by: float = 0.1) -> Atoms:
    """Move all atoms a little."""
    atoms.rattle(by, seed=1)
    return atoms


def tight(name: str) -> Atoms:
    """Give a molecule of ASE's with accurate forces of GFN2-xTB, shaken."""
    atoms = molecule(name)
    atoms.calc = import_module("tblite.ase").TBLite(
        method="GFN2-xTB", accuracy=ACCURACY, verbosity=0
    )
    return shaken(atoms)


Make = Callable[[], Atoms]
SYMMETRIC: dict[str, Make] = {
    **{
        f"{symbol}{number}": lambda symbol=symbol, number=number: cluster(symbol, number)
        for symbol in ("Cu", "Au", "Pt")
        for number in (13, 38, 55)
    },
    "Cu on Cu(111), bridge": lambda: adsorbed("Cu", "Cu", "bridge", 1.9),
    "Cu on Cu(111), top": lambda: adsorbed("Cu", "Cu", "ontop", 2.2),
    "O on Pt(111), top": lambda: adsorbed("O", "Pt", "ontop", 1.8),
    "Au on Au(100), bridge": lambda: adsorbed("Au", "Au", "bridge", 2.0, fcc100),
    "Ar3 in a line": lambda: argon([(0, 0, 3.8 * i) for i in range(3)]),
    "Ar7 flat": lambda: flat(1),
    "Ar19 flat": lambda: flat(2),
    **{
        name: lambda name=name: calculated(MOLECULES[name], ACCURACY)
        for name in ("NH3 planar", "C2H6 eclipsed", "cyclohexane planar", "biphenyl planar")
    },
}
ORDINARY: dict[str, Make] = {
    "Cu55 icosahedron": lambda: shaken(with_calculator(Icosahedron("Cu", 3), EMT())),
    "Au crystal, 32": lambda: shaken(with_calculator(bulk("Au", cubic=True) * (2, 2, 2), EMT())),
    "Pt(111) slab": lambda: shaken(adsorbed("Pt", "Pt", "fcc", 2.2)),
    "O on Cu(111), fcc": lambda: shaken(adsorbed("O", "Cu", "fcc", 1.2)),
    **{
        name: lambda name=name: tight(name)
        for name in ("CH3CH2OH", "C6H6", "isobutane", "CH3CONH2", "butadiene", "C3H9N")
    },
}
NEEDS_TBLITE = {"CH3CH2OH", "C6H6", "isobutane", "CH3CONH2", "butadiene", "C3H9N", *MOLECULES}


class Counted(Calculator):
    """Another calculator, and how often it was asked."""

    implemented_properties = ["energy", "free_energy", "forces"]  # noqa: RUF012

    def __init__(self, inner: Any) -> None:
        """Take the other."""
        super().__init__()
        self.inner = inner
        self.energies: list[float] = []
        self.largest: list[float] = []

    def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = ()) -> None:
        """Ask the other."""
        super().calculate(atoms, properties, system_changes)
        copy = atoms.copy()
        copy.set_constraint()
        forces, energy = self.inner.get_forces(copy), self.inner.get_potential_energy(copy)
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}
        self.energies.append(energy)
        free = atoms.copy()
        for constraint in free.constraints:
            constraint.adjust_forces(free, forces := forces.copy())
        self.largest.append(np.linalg.norm(forces, axis=1).max())

    def first_below(self, fmax: float) -> int:
        """After how many calls forces were first below fmax."""
        return next((i + 1 for i, it in enumerate(self.largest) if it < fmax), 0)


def lowest(atoms: Atoms) -> float:
    """Give the lowest frequency by exact vibrations, in 1/cm; negative if imaginary."""
    space = Space(atoms)
    y, size = space.start, space.scale.size
    free = np.array([space.internal(each, y) for each in np.eye(size)])
    rows = []
    for scale, each in zip(space.scale, np.eye(size), strict=True):
        ahead, behind = (space.query(y + way * SHIFT * scale * each)[1] for way in (1, -1))
        rows.append((ahead - behind) / space.scale / (2 * SHIFT * scale))
    space.place(y)
    hessian = (np.array(rows) + np.array(rows).T) / 2
    held = np.eye(size) - free  # is moved to the top of the spectrum
    return frequency_of(float(np.linalg.eigvalsh(free @ hessian @ free + 1e3 * held)[0]))


class Row(NamedTuple):
    """What came of one structure."""

    system: str
    kind: str
    atoms: int
    bfgs: int  # force calls of BFGS to fmax
    bfgs_energy: float
    bfgs_lowest: float  # frequency where it has stopped
    to_fmax: int  # of ours
    calls: int  # of ours in all
    of_certificate: int
    vibrations: int  # what these would take
    outcome: str
    energy: float
    claimed: float
    lowest: float

    @property
    def true(self) -> bool:
        """Say whether the claim is."""
        return self.lowest > -self.claimed


def run(name: str, make: Make) -> Row:
    """Relax one structure in both ways."""
    theirs, ours = make(), make()
    theirs.calc, ours.calc = Counted(theirs.calc), Counted(ours.calc)
    fmax, frequency = WEAK if name.startswith("Ar") else USUAL
    BFGS(theirs, logfile=None).run(fmax=fmax, steps=STEPS)
    opt = Minimum(ours, logfile=None, frequency=frequency)
    opt.run(fmax=fmax, steps=STEPS)
    shown = opt.certificate
    bfgs, calls = len(theirs.calc.energies), opt.force_calls
    to_fmax = ours.calc.first_below(fmax)
    return Row(
        system=name,
        kind="symmetric" if name in SYMMETRIC else "ordinary",
        atoms=len(ours),
        bfgs=bfgs,
        bfgs_energy=theirs.get_potential_energy(),
        bfgs_lowest=lowest(theirs),
        to_fmax=to_fmax,
        calls=calls,
        of_certificate=shown.force_calls,
        vibrations=shown.vibrations,
        outcome="not in time" if opt.outcome is None else opt.outcome.name.lower(),
        energy=ours.get_potential_energy(),
        claimed=shown.frequency if shown.holds else math.nan,
        lowest=lowest(ours),
    )


HEAD = (
    "| structure | atoms | BFGS: calls to fmax | lowest frequency there | Minimum: calls to fmax "
    "| calls in all | of the certificate | of `ase.vibrations` | lower by, eV "
    "| lowest frequency | certified: none above |"
)


def written(frequency: float) -> str:
    """Write a frequency as chemists do."""
    return f"**{-frequency:.0f}i**" if frequency < -0.5 else f"{frequency:.0f}"


def table(rows: Iterator[Row], kept: list[Row]) -> Iterator[str]:
    """Write the runs as a table in Markdown, and what they come to."""
    yield HEAD
    yield "|" + "---|" * (HEAD.count("|") - 1)
    for r in rows:
        kept.append(r)
        claim = f"{r.claimed:.0f}i" if r.outcome == "certified" else r.outcome
        claim += "" if r.true or math.isnan(r.claimed) else ", falsely"
        fell = round(r.bfgs_energy - r.energy, 3) + 0.0  # without the sign of -0.0
        yield (
            f"| {r.system} | {r.atoms} | {r.bfgs} | {written(r.bfgs_lowest)} | {r.to_fmax} "
            f"| {r.calls} | {r.of_certificate} | {r.vibrations} | {fell:.3f} "
            f"| {written(r.lowest)} | {claim} |"
        )
    ordinary = [r for r in kept if r.kind == "ordinary"]
    ratios = [r.to_fmax / r.bfgs for r in ordinary] or [math.nan]
    shares = [r.of_certificate / r.vibrations for r in kept if r.atoms >= 30] or [math.nan]
    saddles = [r for r in kept if r.bfgs_lowest < -0.5]
    left = [r for r in saddles if r.lowest > -0.5]
    yield ""
    yield (
        f"{sum(r.outcome == 'certified' for r in kept)} of {len(kept)} certified, "
        f"{sum(not r.true for r in kept if not math.isnan(r.claimed))} falsely; "
        f"{len(left)} of {len(saddles)} saddles left; ordinary relaxations to fmax: "
        f"{np.exp(np.mean(np.log(ratios))):.2f} times the calls of BFGS on the (geometric) mean, "
        f"{max(ratios):.2f} at most; certificates of 30 atoms and more: "
        f"{np.median(shares):.2f} of 6N at the median, {max(shares):.2f} at most."
    )


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Thirty structures.")
    parser.add_argument("names", nargs="*", help="parts of names; all if none is given")
    parser.add_argument("--output", type=Path, help="a file of JSON lines to write the runs to")
    given = parser.parse_args()
    every = SYMMETRIC | ORDINARY
    names = [n for n in every if not given.names or any(part in n for part in given.names)]
    absent = [] if available() else [n for n in names if n in NEEDS_TBLITE]
    if absent:
        print(f"{', '.join(absent)}: {MISSING}")
    kept: list[Row] = []
    for line in table((run(n, every[n]) for n in names if n not in absent), kept):
        print(line, flush=True)
    if given.output:
        given.output.write_text("".join(json.dumps(r._asdict()) + "\n" for r in kept))


if __name__ == "__main__":
    main()
