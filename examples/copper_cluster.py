"""Fifty-five copper atoms: the cuboctahedron is a saddle, the icosahedron is lower."""

from ase import Atoms
from ase.calculators.emt import EMT
from ase.cluster import Octahedron
from ase.optimize import BFGS

from unsaddle.ase import Minimum


def cuboctahedron():
    """Give the cluster as it is cut from the crystal."""
    atoms = Atoms(Octahedron("Cu", 5, cutoff=2))
    atoms.calc = EMT()
    return atoms


stuck = cuboctahedron()
BFGS(stuck, logfile=None).run(fmax=0.01)
print(f"BFGS:     {stuck.get_potential_energy():.2f} eV")

atoms = cuboctahedron()
optimiser = Minimum(atoms, logfile=None)
optimiser.run(fmax=0.01)
print(f"unsaddle: {atoms.get_potential_energy():.2f} eV, {optimiser.force_calls} force calls")
print(optimiser.certificate)
