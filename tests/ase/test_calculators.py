"""Calculators that look at charges and magnetic moments, and those in single precision."""

import numpy as np
import pytest

pytest.importorskip("ase")

from ase.calculators.emt import EMT
from ase.io import read
from ase.optimize import BFGS

from tests.ase.structures import adatom, cuboctahedron, exact, relaxed, small
from unsaddle import Outcome
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
@pytest.mark.slow
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


@pytest.mark.slow
def test_certify_leaves_them_too():
    atoms = charged()
    BFGS(atoms, logfile=None).run(fmax=1e-3)
    assert certify(atoms).holds
    assert np.array_equal(atoms.get_initial_charges(), CHARGES)
    assert np.array_equal(atoms.get_magnetic_moments(), MOMENTS)


class Single(EMT):
    """EMT as a network would compute it: positions, energies and forces in single precision."""

    def calculate(self, atoms=None, *args, **kwargs):
        rounded = atoms.copy()
        rounded.positions = atoms.positions.astype(np.float32)
        super().calculate(rounded, *args, **kwargs)
        self.atoms = atoms.copy()
        self.results["forces"] = self.results["forces"].astype(np.float32)
        for name in ("energy", "free_energy"):
            self.results[name] = float(np.float32(self.results[name]))


def single(make):
    atoms = make()
    atoms.calc = Single()
    return atoms


def in_double(atoms):
    """Give the lowest curvature that is there."""
    copy = atoms.copy()
    copy.calc = EMT()
    return exact(copy)[0]


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: cuboctahedron(shells=1), adatom])
def test_single_precision_is_certified_where_atoms_are_heavy(make):
    atoms = single(make)
    opt = Minimum(atoms, logfile=None)
    assert opt.run(fmax=0.01, steps=200)
    assert in_double(atoms) > -opt.certificate.curvature_tol


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CH3OH", "H2O", "CO2"])
@pytest.mark.parametrize("make", [Minimum, lambda atoms, **words: Escape(BFGS(atoms, **words))])
def test_single_precision_shows_less_where_they_are_light(make, name):
    atoms = single(lambda: small(name))
    opt = make(atoms, logfile=None)
    opt.run(fmax=0.01, steps=300)
    assert opt.outcome in (Outcome.CERTIFIED, Outcome.COARSER)
    assert opt.certificate.frequency < 1000
    assert in_double(atoms) > -opt.certificate.curvature_tol


def test_a_saddle_in_single_precision_is_found():
    atoms = single(lambda: relaxed(cuboctahedron(shells=1)))
    assert certify(atoms, 20.0).mode.frequency == pytest.approx(48.6, rel=0.05)


@pytest.mark.slow
def test_single_precision_is_restarted_bit_for_bit(tmp_path):
    whole = single(lambda: cuboctahedron(shells=1))
    Minimum(whole, logfile=None).run(fmax=0.01, steps=200)
    for killed in (1, 9, 20, 33):
        file, atoms = tmp_path / f"{killed}.npz", single(lambda: cuboctahedron(shells=1))
        Minimum(atoms, file, None).run(fmax=0.01, steps=killed)
        atoms.calc = Single()
        assert Minimum(atoms, file, None).run(fmax=0.01, steps=200)
        assert np.array_equal(atoms.positions, whole.positions)


@pytest.mark.slow
@pytest.mark.parametrize("how", [Minimum, lambda atoms, **given: Escape(BFGS(atoms, **given))])
def test_what_is_written_after_a_run_is_of_the_structure(how, tmp_path):
    """The last force call of a certificate is a probe beside it."""
    atoms = small()
    assert how(atoms, logfile=None).run(fmax=0.05)
    atoms.write(tmp_path / "end.xyz", format="extxyz")
    kept = atoms.calc.results
    assert "forces" not in kept or np.array_equal(kept["forces"], EMT().get_forces(atoms))
    forces = atoms.get_forces()
    atoms.write(tmp_path / "end.xyz", format="extxyz")
    assert read(tmp_path / "end.xyz").get_forces() == pytest.approx(forces, abs=1e-7)
