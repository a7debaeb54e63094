"""Draw docs/pictures/cu55.png: four ways to relax the cuboctahedron of 55 copper atoms.

python docs/pictures/cu55.py
"""

import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from ase.cluster import Octahedron
from ase.optimize import BFGS
from ase.vibrations import Vibrations
from ase.visualize.plot import plot_atoms

from unsaddle.ase import Minimum

FMAX = 0.01  # eV/Å
RATTLES = range(10)  # seeds
RATTLE = 0.1  # Å
WIDTHS = {"BFGS": 6}  # as others begin with it
PUSH = 0.3  # Å, of the atom that moves most along an imaginary mode


class Counted(EMT):
    """Keeps the energy of every calculation."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.course: list[float] = []

    def calculate(self, *args, **kwargs) -> None:
        """Compute, and keep the energy."""
        super().calculate(*args, **kwargs)
        self.course.append(self.results["energy"])


def start() -> Atoms:
    """Give the cuboctahedron."""
    atoms = Atoms(Octahedron("Cu", 5, cutoff=2))
    atoms.calc = Counted()
    return atoms


def relaxed(rattle: float = 0.0, seed: int = 0) -> Atoms:
    """Relax it with BFGS, shaken before."""
    atoms = start()
    if rattle:
        atoms.rattle(rattle, seed=seed)
    BFGS(atoms, logfile=None).run(fmax=FMAX)
    return atoms


def looped() -> Atoms:
    """Relax, compute all vibrations, go along the imaginary one, and again, until there is none."""
    atoms = start()
    while True:
        BFGS(atoms, logfile=None).run(fmax=FMAX)
        with tempfile.TemporaryDirectory() as folder:
            vibrations = Vibrations(atoms, name=f"{folder}/vib")
            vibrations.run()
            if vibrations.get_frequencies()[0].imag < 1:
                return atoms
            mode = vibrations.get_mode(0)
        atoms.positions += PUSH * mode / np.linalg.norm(mode, axis=1).max()


def main() -> None:
    """Run all, draw, and print what the page says."""
    plain, loop, ours = relaxed(), looped(), start()
    Minimum(ours, logfile=None).run(fmax=FMAX)
    shaken = [relaxed(RATTLE, seed) for seed in RATTLES]
    lowest = min(atoms.calc.course[-1] for atoms in (plain, loop, ours, *shaken))
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    for atoms in shaken:
        axes.plot(np.array(atoms.calc.course) - lowest, color="0.75", lw=1)
    label = f"BFGS, shaken by {RATTLE} Å, ten times"
    lines = {label: (shaken[0], "0.75"), "BFGS": (plain, "C1")}
    lines |= {"BFGS and ase.vibrations": (loop, "C2"), "unsaddle": (ours, "C0")}
    for name, (atoms, colour) in lines.items():
        energies = np.array(atoms.calc.course) - lowest
        axes.plot(energies, color=colour, label=name, lw=WIDTHS.get(name, 2))
        axes.plot(len(energies) - 1, energies[-1], "o", color=colour)
    axes.set(xscale="symlog", xlabel="force calls", ylabel="energy above the icosahedron, eV")
    axes.set(xlim=(0, 2 * len(loop.calc.course)), ylim=(-0.3, 4.2))
    axes.legend(frameon=False, loc="upper right")
    for atoms, place in ((plain, (0.02, 0.02)), (ours, (0.86, 0.12))):
        inset = axes.inset_axes((*place, 0.14, 0.32))
        plot_atoms(atoms, inset, rotation="10x,20y,0z", colors=["#c97b4a"] * len(atoms))
        inset.axis("off")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130)
    found = sum(atoms.calc.course[-1] < lowest + 0.01 for atoms in shaken)
    for name, (atoms, _) in lines.items():
        print(f"{name}: {len(atoms.calc.course)} calls, {atoms.calc.course[-1]:.3f} eV")
    print(f"shaken: {found} of {len(shaken)} find it")


if __name__ == "__main__":
    main()
