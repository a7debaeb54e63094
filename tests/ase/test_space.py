"""The coordinates of a search: what is left of a structure without its rigid motions."""

import numpy as np
import pytest

pytest.importorskip("ase")

from ase import Atoms
from ase.build import bulk, molecule
from ase.constraints import (
    FixAtoms,
    FixBondLength,
    FixCartesian,
    FixCom,
    FixedLine,
    FixedPlane,
    FixInternals,
    Hookean,
)

from tests.ase.structures import adatom, cuboctahedron
from unsaddle.ase.space import AtomsOps, Space


def held(name, *constraints):
    atoms = molecule(name)
    atoms.set_constraint(constraints)
    return atoms


DIMENSIONS = {
    "water": (molecule("H2O"), 3),
    "linear": (molecule("CO2"), 4),
    "two atoms": (molecule("CO"), 1),
    "one atom": (Atoms("Cu"), 0),
    "crystal": (bulk("Cu", cubic=True), 9),
    "one fixed": (held("H2O", FixAtoms([0])), 3),  # three rotations are left to be taken out
    "two fixed": (held("H2O", FixAtoms([0, 1])), 2),
    "line": (held("H2O", FixAtoms([0, 1]), FixedLine(2, (0, 1, 1))), 1),
    "plane": (held("H2O", FixAtoms([0, 1]), FixedPlane(2, (1, 0, 0))), 2),
    "coordinate": (held("H2O", FixCartesian(0), FixAtoms([1, 2])), 0),
    "spring": (held("H2O", Hookean(0, (0.0, 0.0, 0.0), k=1.0, rt=1.0)), 9),
}


@pytest.mark.parametrize("case", DIMENSIONS)
def test_the_dimension_is_that_of_the_internal_coordinates(case):
    atoms, dimension = DIMENSIONS[case]
    space = Space(atoms)
    assert space.dimension(space.start) == dimension


@pytest.mark.parametrize("make", [cuboctahedron, adatom, lambda: molecule("C6H6")])
def test_random_directions_are_internal(make):
    space = Space(make())
    y, before = space.start, space.optimizable.get_x()
    xi = AtomsOps(space).normal(y, 0, 1)
    assert np.allclose(space.rigid(y) @ xi, 0, atol=1e-10)
    assert np.allclose(space.internal(xi, y), xi, atol=1e-10)
    assert np.array_equal(space.optimizable.get_x(), before)


def test_a_search_sees_no_difference_between_here_and_there():
    near, far = molecule("CH3OH"), molecule("CH3OH")
    far.positions += (300.0, -200.0, 100.0)
    assert np.allclose(Space(near).start, Space(far).start, atol=1e-10)


@pytest.mark.parametrize(
    "constraint",
    [FixBondLength(0, 1), FixInternals(bonds=[[0.97, [0, 1]]]), FixCom()],
    ids=lambda it: type(it).__name__,
)
def test_constraints_that_bend_are_refused_by_name(constraint):
    with pytest.raises(ValueError, match=type(constraint).__name__):
        Space(held("H2O", constraint))


def test_atoms_without_mass_are_refused():
    atoms = molecule("H2O")
    atoms.set_masses([16.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="mass 0 for H"):
        Space(atoms)
    assert Space(atoms, mass_weighted=False).dimension(atoms.positions.ravel()) == 3
