"""Structures for the tests: saddles that relaxations stop on, and ordinary ones."""

from functools import cache

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, fcc111, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.cluster import Icosahedron, Octahedron
from ase.constraints import FixAtoms
from ase.optimize import BFGS

from unsaddle.ase.space import Space


def cuboctahedron(symbol: str = "Cu", shells: int = 2) -> Atoms:
    """13, 55, ... atoms; with 55 of copper it is a saddle."""
    atoms = Atoms(Octahedron(symbol, 2 * shells + 1, cutoff=shells))
    atoms.calc = EMT()
    return atoms


def icosahedron(symbol: str = "Cu", shells: int = 1) -> Atoms:
    """13, 55, ... atoms, a minimum."""
    atoms = Atoms(Icosahedron(symbol, shells + 1))
    atoms.calc = EMT()
    return atoms


@cache
def lowest_of_the_icosahedron() -> float:
    """The lowest curvature of 55 atoms of copper, where runs from the cuboctahedron should end."""
    return exact(relaxed(icosahedron(shells=2)))[0]


def adatom(site: str = "bridge") -> Atoms:
    """An atom of copper on copper; by symmetry a relaxation stays on the bridge."""
    atoms = fcc111("Cu", (2, 2, 3), vacuum=8.0)
    add_adsorbate(atoms, "Cu", 1.9, site)
    atoms.set_constraint(FixAtoms(mask=[atom.tag > 1 for atom in atoms]))
    atoms.calc = EMT()
    return atoms


def small(name: str = "CH3CH2OH", seed: int = 0) -> Atoms:
    """A molecule, shaken, with the forces of EMT, which knows H, C, N and O a little."""
    atoms = molecule(name)
    atoms.rattle(0.05, seed=seed)
    atoms.calc = EMT()
    return atoms


def relaxed(atoms: Atoms, fmax: float = 1e-3) -> Atoms:
    BFGS(atoms, logfile=None).run(fmax=fmax, steps=500)
    return atoms


def exact(atoms: Atoms, mass_weighted: bool = True, step: float = 1e-4) -> np.ndarray:
    """Give all curvatures of the internal coordinates, by central differences."""
    space = Space(atoms, mass_weighted)
    y, rows = space.start, []
    for direction in np.eye(y.size):
        ahead, behind = (space.query(y + sign * step * direction)[1] for sign in (1, -1))
        rows.append((ahead - behind) / space.scale / (2 * step))
    space.place(y)
    free = np.array([space.internal(direction, y) for direction in np.eye(y.size)])
    curvatures = np.linalg.eigvalsh(free @ (np.array(rows) + np.array(rows).T) / 2 @ free.T)
    held = y.size - space.dimension(y)
    order = np.argsort(np.abs(curvatures))  # those that are held are zero
    return np.sort(curvatures[order[held:]])


class Failing(Calculator):
    """EMT that fails at some of its calls: with an exception, or with NaN."""

    implemented_properties = ("energy", "free_energy", "forces")

    def __init__(self, at: int, how: type[Exception] | None) -> None:
        super().__init__()
        self.emt, self.at, self.how, self.calls = EMT(), at, how, 0

    def calculate(self, atoms=None, properties=(), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        self.calls += 1
        copy = atoms.copy()
        copy.calc = EMT()
        energy, forces = copy.get_potential_energy(), copy.get_forces()
        if self.calls == self.at:
            if self.how is not None:
                raise self.how("as it was told to")
            energy, forces = np.nan, np.full_like(forces, np.nan)
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}
