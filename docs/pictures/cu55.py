"""Draw docs/pictures/cu55.png: four ways to relax the cuboctahedron of 55 copper atoms.

python docs/pictures/cu55.py
"""

import tempfile
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from ase.cluster import Octahedron
from ase.optimize import BFGS
from ase.vibrations import Vibrations
from ase.visualize.plot import plot_atoms

from unsaddle import style
from unsaddle.ase import Minimum

FMAX = 0.01  # eV/Å
RATTLES = range(10)  # seeds
RATTLE = 0.1  # Å
TITLE = "55 copper atoms: BFGS stops on a saddle, unsaddle goes on to the minimum"
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
    figure, axes = style.begin().subplots(figsize=(7.6, 3.1), layout="constrained")
    style.headline(figure, TITLE)
    for atoms in shaken:
        axes.plot(np.array(atoms.calc.course) - lowest, color=style.FAINT, lw=1)
    lines = {  # colour, width, words beside the end, and where they stand
        "BFGS and ase.vibrations": (
            loop,
            style.SOFT,
            1.6,
            "BFGS and ase.vibrations,\nin a loop:",
            (9, 12),
        ),
        "BFGS": (plain, style.THEIRS, 4.5, "BFGS stops:", (30, -20)),
        "unsaddle": (ours, style.OURS, 2.6, "unsaddle, certified:", (-52, 14)),
    }
    for atoms, colour, width, words, away in lines.values():
        energies = np.array(atoms.calc.course) - lowest
        end = (len(energies), energies[-1])
        axes.plot(range(1, end[0] + 1), energies, color=colour, lw=width, solid_capstyle="round")
        axes.plot(*end, "X" if atoms is plain else "o", color=colour, markersize=9)
        side = "left" if atoms is loop else "right"
        words = f"{words}\n{end[0]} force calls"
        axes.annotate(words, end, away, textcoords="offset points", ha=side, color=colour,
                      va="center",
                      fontweight="bold" if atoms is ours else "normal")  # fmt: skip
    words = f"BFGS, shaken by {RATTLE} Å,\nten times"
    axes.annotate(words, (9, 3.1), (10, 0), textcoords="offset points", color=style.SOFT)
    axes.set(xscale="log", xlabel="force calls", ylabel="eV above the icosahedron")
    axes.set(xlim=(1, 4 * len(loop.calc.course)), ylim=(-0.35, 4.2))
    for atoms, shape, place in (
        (plain, "cuboctahedron", (0.02, 0.02)),
        (ours, "icosahedron", (0.588, 0.07)),
    ):
        inset = axes.inset_axes((*place, 0.14, 0.36))
        inset.set_title(shape, loc="center", fontsize=8.5, pad=1)
        plot_atoms(atoms, inset, rotation="10x,20y,0z", colors=["#c97b4a"] * len(atoms))
        inset.axis("off")
    style.save(figure, Path(__file__).with_suffix(".png"))
    found = sum(atoms.calc.course[-1] < lowest + 0.01 for atoms in shaken)
    for name, (atoms, *_) in lines.items():
        print(f"{name}: {len(atoms.calc.course)} calls, {atoms.calc.course[-1]:.3f} eV")
    print(f"shaken: {found} of {len(shaken)} find it")


if __name__ == "__main__":
    main()
