"""Calculators that look at more than positions: charges and magnetic moments stay as they are."""

import numpy as np
import pytest

pytest.importorskip("ase")

from ase.calculators.emt import EMT
from ase.io import read
from ase.optimize import BFGS

from tests.ase.structures import small
from unsaddle.ase import Escape, Minimum, certify

CHARGES, MOMENTS = np.array([1.0, 0, 0, 0, -0.5, 0]), np.array([0, 2.0, 0, 0, 0, 0])


class Magnetic(EMT):
    """EMT whose energy has a part of the charges and moments that the atoms were given."""

    implemented_properties = (*EMT.implemented_properties, "magmom", "magmoms")

    def calculate(self, atoms=None, *args, **kwargs):
        super().calculate(atoms, *args, **kwargs)
        moments = atoms.get_initial_magnetic_moments()
        self.results["energy"] += 10 * atoms.get_initial_charges().sum() + moments.sum()
        self.results |= {"magmoms": moments, "magmom": moments.sum()}


def charged():
    atoms = small("CH3OH")
    atoms.set_initial_charges(CHARGES)
    atoms.set_initial_magnetic_moments(MOMENTS)
    atoms.calc = Magnetic()
    return atoms


@pytest.mark.parametrize("make", [Minimum, lambda atoms, **words: Escape(BFGS(atoms, **words))])
def test_charges_and_moments_are_those_of_the_structure(make, tmp_path):
    plain, atoms = small("CH3OH"), charged()
    file = tmp_path / "opt.traj"
    assert make(plain, logfile=None).run(fmax=0.01, steps=200)
    assert make(atoms, logfile=None, trajectory=str(file)).run(fmax=0.01, steps=200)
    assert np.array_equal(atoms.get_initial_charges(), CHARGES)
    assert np.array_equal(atoms.get_magnetic_moments(), MOMENTS)
    assert np.allclose(atoms.positions, plain.positions, atol=1e-4)
    assert atoms.get_potential_energy() == pytest.approx(plain.get_potential_energy() + 7, abs=1e-6)
    image = read(file)
    assert np.array_equal(image.get_magnetic_moments(), MOMENTS)
    assert np.array_equal(image.get_initial_charges(), CHARGES)


def test_certify_leaves_them_too():
    atoms = charged()
    BFGS(atoms, logfile=None).run(fmax=1e-3)
    assert certify(atoms).holds
    assert np.array_equal(atoms.get_initial_charges(), CHARGES)
    assert np.array_equal(atoms.get_magnetic_moments(), MOMENTS)
