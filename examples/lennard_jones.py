"""Seven Lennard-Jones atoms in a plane: the forces keep them there."""

import numpy as np
from ase import Atoms
from ase.calculators.lj import LennardJones
from ase.optimize import BFGS

from unsaddle.ase import Escape


def hexagon():
    """Give six atoms around a seventh, all in one plane."""
    angles = np.arange(6) * np.pi / 3
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)]) * 1.11
    return Atoms("Ar7", positions=np.vstack([np.zeros(3), ring]), calculator=LennardJones())


flat = hexagon()
BFGS(flat, logfile=None).run(fmax=0.001)
print(f"BFGS:         {flat.get_potential_energy():.3f} epsilon, still flat")

atoms = hexagon()
escape = Escape(BFGS(atoms, logfile=None), seed=2)  # BFGS descends, Escape leaves saddles
escape.run(fmax=0.001)
print(f"Escape(BFGS) : {atoms.get_potential_energy():.3f} epsilon, and no longer flat")
print(escape.certificate)
