"""The space in which a structure is searched: masses, translations, rotations, constraints.

Coordinates are y = m^p (x - c), with masses in amu and lengths in Å. With p = 1/2 curvature is the
square of a frequency. With a smaller p descents take fewer steps: curvature of at least -gamma then
is curvature of at least -gamma/k of sqrt(m) x, where k is the least m^(1 - 2 p).

c is the centre of the structure at the start: where it stands in space does not enter. What moves
the structure as a whole changes no energy, and is taken out of directions and gradients alike; so
is what ASE's constraints hold.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.constraints import FixSymmetry

from unsaddle.numpy.ops import NumpyOps, Vector

ROUNDOFF = {kind: float(np.finfo(kind).eps) / 2 for kind in (np.float32, float)}


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    linear: float = 1e-3  # of the length, (0, 1): thinner is a line, whose rotation is no motion
    passes: float = 1e-6  # of a motion, (0, 1): what constraints may take of it by rounding
    trial: float = 0.1  # Å, (0, 1): the move by which constraints are tried; bonds would bend
    in_cell: float = 0.01  # Å, (0, trial): both ways, where FixSymmetry is straight at first only


TUNING = Tuning()


class Space:
    """A structure, an ASE filter or any ``Optimizable``, in the coordinates of a search."""

    def __init__(self, atoms: Any, mass_weighted: bool = True, power: float = 0.5) -> None:
        """Take the structure as it stands; ``power`` is that of masses, if they are to count."""
        self.given, self.optimizable = atoms, atoms.__ase_optimizable__()
        self.structure: Atoms | None = atoms if isinstance(atoms, Atoms) else None
        x = self.optimizable.get_x()
        self.scale, self.centre = np.ones(x.size), np.zeros(x.size)
        self.mass_weighted = mass_weighted and self.structure is not None
        if self.structure is not None:
            self.centre = np.tile(self.structure.positions.mean(axis=0), len(self.structure))
        self.ratio = np.ones(x.size)  # of the mass to the square of the scale
        if self.mass_weighted:
            masses = np.repeat(_masses(atoms), 3)
            self.scale, self.ratio = masses**power, masses ** (1 - 2 * power)
        self.roundoff = ROUNDOFF[float]  # of the numbers in which forces come
        self.left, self._placed = x, self.scale * (x - self.centre)
        if self._constraints:
            self._check_constraints()

    @property
    def start(self) -> Vector:
        """The coordinates of the structure where it was last seen."""
        return self._placed.copy()

    @property
    def disturbed(self) -> bool:
        """Say whether somebody else has moved the atoms since they were last placed."""
        return not np.array_equal(self.optimizable.get_x(), self.left)

    def place(self, y: Vector) -> None:
        """Move the atoms there."""
        if not np.array_equal(y, self._placed):
            self.optimizable.set_x(y / self.scale + self.centre)
            self.left, self._placed = self.optimizable.get_x(), y.copy()

    def forget_probe(self) -> None:
        """Let the calculator forget what it computed elsewhere: ``atoms.write`` would write it."""
        atoms = getattr(self.given, "atoms", self.given)  # of a filter
        known = getattr(atoms, "calc", None)
        if isinstance(known, Calculator) and known.results and known.check_state(atoms):
            known.reset()

    def adopt(self) -> Vector:
        """Give the coordinates of the atoms where somebody else has moved them."""
        self.left = self.optimizable.get_x()
        self._placed = self.scale * (self.left - self.centre)
        return self.start

    def query(self, y: Vector) -> tuple[float, Vector]:
        """Give energy and gradient there, in ASE's own coordinates: one calculation."""
        self.place(y)
        gradient, value = self.gradient(), float(self.optimizable.get_value())
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            self.forget()
        return value, gradient

    def gradient(self) -> Vector:
        """Give ASE's gradient where the atoms are, and take note of the precision it comes in."""
        given = self.optimizable.get_gradient()
        forces = np.asarray(getattr(self._calculator, "results", {}).get("forces", given))
        single = np.float32 in (forces.dtype, given.dtype)
        self.roundoff = ROUNDOFF[np.float32 if single else float]
        return np.array(given, float)

    @property
    def _calculator(self) -> Any:
        return getattr(getattr(self.given, "atoms", self.given), "calc", None)

    def forget(self) -> None:
        """Let the calculator forget what it has computed, so that it may be asked again."""
        getattr(self._calculator, "reset", lambda: None)()

    def longest(self, direction: Vector) -> float:
        """Give the longest way of an atom in a displacement, in Å."""
        return float(self.optimizable.gradient_norm(direction / self.scale))

    def by_mass(self, curvature: float, direction: Vector) -> float:
        """Give the curvature along a direction in eV/(Å^2 amu), or without masses in eV/Å^2."""
        weight = direction @ (self.ratio * direction)
        return curvature * float(direction @ direction / weight) if weight else curvature

    def rigid(self, y: Vector) -> Vector:
        """Give the translations and rotations at y that nothing hinders, as orthonormal rows."""
        if self.structure is None or not self._floats:
            return np.zeros((0, y.size))
        return self._unhindered(self._motions(y))

    def without_rigid(self, v: Vector, y: Vector) -> Vector:
        """Take translations and rotations at y out of v."""
        rows = self.rigid(y)
        return v - (rows @ v) @ rows

    def internal(self, v: Vector, y: Vector) -> Vector:
        """Take out of v all that changes no energy or is held by a constraint."""
        return self.without_rigid(self.free(v), y)

    def free(self, v: Vector) -> Vector:
        """Take out of v what constraints do not allow, as ASE does: by trying to go there."""
        length = self.longest(v)
        if not self._constraints or not length:
            return v
        both = self.structure is None and self._symmetric
        reach, back = (TUNING.in_cell, -1) if both else (TUNING.trial, 0)
        ahead, behind = (self._tried(side * reach / length * v) for side in (1, back))
        return (ahead - behind) * self.scale * (length / reach) / (1 - back)

    def _tried(self, v: Vector) -> Vector:
        """Give where the structure is, in ASE's coordinates, after an attempt to move it by v."""
        atoms, here = getattr(self.given, "atoms", self.given), self.optimizable.get_x()
        cell, positions = atoms.cell.copy(), atoms.positions.copy()
        self.optimizable.set_x(here + v / self.scale)
        there = self.optimizable.get_x()
        self.optimizable.set_x(here)
        atoms.cell[:], atoms.positions[:] = cell, positions
        return there

    @property
    def _symmetric(self) -> bool:
        return all(isinstance(each, FixSymmetry) for each in self._constraints)

    @cached_property
    def freedoms(self) -> int:
        """How many coordinates the constraints leave."""
        n = self.scale.size
        if not self._constraints:
            return n
        return round(sum(self.free(unit)[i] for i, unit in enumerate(np.eye(n))))

    def dimension(self, y: Vector) -> int:
        """How many internal coordinates there are at y."""
        return self.freedoms - len(self.rigid(y))

    @property
    def _constraints(self) -> list[Any]:
        return getattr(getattr(self.given, "atoms", self.given), "constraints", [])

    @cached_property
    def _floats(self) -> bool:
        """Say whether there is any motion of the whole that neither constraint nor field hinders.

        A constraint that adds an energy, such as a spring to a point, may hold the structure.
        """
        if any(hasattr(each, "adjust_potential_energy") for each in self._constraints):
            return False
        return len(self._unhindered(self._motions(self._placed))) > 0

    def _motions(self, y: Vector) -> Vector:
        """Translations, and rotations where there is no cell, as orthonormal rows."""
        assert self.structure is not None
        s, r = self.scale.reshape(-1, 3), (y / self.scale).reshape(-1, 3)
        shifts = np.array([(s * axis).ravel() for axis in np.eye(3)])
        shifts /= np.linalg.norm(shifts, axis=1, keepdims=True)
        if self.structure.pbc.any():
            return shifts
        r = r - np.average(r, axis=0, weights=s[:, 0] ** 2)
        turns = np.array([(s * np.cross(axis, r)).ravel() for axis in np.eye(3)])
        _, sizes, rows = np.linalg.svd(turns, full_matrices=False)
        return np.concatenate([shifts, rows[sizes > TUNING.linear * sizes[0]]])

    def _unhindered(self, rows: Vector) -> Vector:
        """Give the motions among the span of these rows that constraints let pass whole."""
        if not self._constraints:
            return rows
        passed = np.array([self.free(row) for row in rows])
        weights, sizes, _ = np.linalg.svd(passed, full_matrices=False)
        return weights.T[sizes > 1 - TUNING.passes] @ rows

    def _check_constraints(self) -> None:
        """Refuse constraints that do not hold fixed directions: a search goes straight."""
        rng = np.random.default_rng(0)
        u, v = rng.standard_normal((2, self.scale.size))
        names = ", ".join(type(each).__name__ for each in self._constraints)
        try:
            once, other = self.free(u), self.free(v)
            twice, size = self.free(once), TUNING.passes * (u @ u + v @ v)
            straight = abs(once @ v - u @ other) < size and np.abs(twice - once).max() < size
            straight = straight and np.abs(self._adjusted(u) - once).max() < size
        except (ValueError, RuntimeError):  # as they say themselves that they cannot go there
            straight = False
        if not straight:
            raise ValueError(
                f"the constraints are {names}, expected some that hold fixed directions, such as "
                "FixAtoms, FixCartesian, FixedLine, FixedPlane or FixSymmetry"
                f"{'; or pass mass_weighted=False' if self.mass_weighted else ''}"
            )

    def _adjusted(self, gradient: Vector) -> Vector:
        """Give what the constraints leave of a gradient, beside what they add to any."""
        if self.structure is None:
            return self.free(gradient)
        forces = np.array([gradient * self.scale, 0 * gradient]).reshape(2, -1, 3)
        for constraint in self._constraints:
            for each in forces:
                constraint.adjust_forces(self.structure, each)
        return (forces[0] - forces[1]).ravel() / self.scale


class AtomsOps(NumpyOps):
    """Operations on vectors of a space: random directions are internal, and so is the dimension."""

    def __init__(self, space: Space) -> None:
        """Take the space."""
        self.space = space

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal in the internal coordinates at ``like``."""
        return self.space.internal(super().normal(like, seed, episode), like)

    def roundoff(self, x: Vector) -> float:
        """Half the spacing of numbers in which the forces are computed, whatever x is in."""
        return self.space.roundoff

    def size(self, x: Vector) -> int:
        """How many internal coordinates there are at x."""
        return self.space.dimension(x)


def _masses(atoms: Atoms) -> Vector:
    """Give the masses, which have to be some."""
    masses = atoms.get_masses()
    if not (masses > 0).all():
        which = atoms.symbols[int(np.argmin(masses))]
        raise ValueError(
            f"atoms has the mass {masses.min():g} for {which}, expected masses > 0: "
            "type atoms.set_masses(...), or pass mass_weighted=False"
        )
    return masses
