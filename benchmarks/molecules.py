"""Fourteen symmetric molecules as functions of their coordinates: GFN2-xTB of tblite, through ASE.

Each stands on a stationary point that its symmetry holds it at, in most cases a saddle. Forces at
tblite's default accuracy are good to about 1e-4 eV/Å, and depend a little on the geometry before,
from whose density the next calculation starts. What is true is computed with an accuracy of 1e-6.

Coordinates are x = sqrt(m) R, so that eigenvalues of the Hessian are squares of frequencies, in
eV/(Å^2 amu); with ``mass_weighted=False`` x = R, and eV/Å^2. All 3N of them are kept: translations
and rotations have eigenvalues about zero where the gradient is.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

ACCURATE = 1e-6  # tblite's accuracy where the truth is wanted
SHIFT = 0.005  # Å, over which the true Hessian is differenced
FREQUENCY = 50.0  # 1/cm: what counts as an imaginary frequency
STIFFNESS = 70.0  # eV/Å^2, of a bond: the first Hessian when relaxing


class Molecule(NamedTuple):
    """Generators of a point group, and one atom of each orbit."""

    group: Sequence[np.ndarray]
    atoms: Sequence[tuple[str, tuple[float, float, float]]]  # Å
    charge: int = 0

    def operations(self) -> list[np.ndarray]:
        """Give all matrices of the group."""
        found = [np.eye(3)]
        for one in found:  # grows
            for generator in self.group:
                product = generator @ one
                if not any(np.allclose(product, other) for other in found):
                    found.append(product)
        return found

    def orbits(self) -> tuple[list[str], np.ndarray]:
        """Give symbols and positions of all atoms."""
        symbols, positions = [], []
        for symbol, position in self.atoms:
            images: list[np.ndarray] = []
            for operation in self.operations():
                image = operation @ np.array(position)
                if not any(np.allclose(image, other, atol=1e-6) for other in images):
                    images.append(image)
            symbols += [symbol] * len(images)
            positions += images
        return symbols, np.array(positions)


def rotation(fold: int) -> np.ndarray:
    """Give the rotation about z by 2 pi/fold."""
    c, s = math.cos(2 * math.pi / fold), math.sin(2 * math.pi / fold)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


MIRROR_X, MIRROR_Y, MIRROR_Z = (np.diag(1.0 - 2.0 * np.eye(3)[k]) for k in range(3))
D2H = (MIRROR_X, MIRROR_Y, MIRROR_Z)
D3H, D4H, D5H, D6H = ((rotation(fold), MIRROR_Y, MIRROR_Z) for fold in (3, 4, 5, 6))
D2D = (rotation(4) @ MIRROR_Z, MIRROR_Y)


MOLECULES: Mapping[str, Molecule] = {  # stationary to 1e-6 eV/Å: ``relaxed`` has found them
    "NH3 planar": Molecule(D3H, [("N", (0, 0, 0)), ("H", (0.992734601, 0, 0))]),
    "PH3 planar": Molecule(D3H, [("P", (0, 0, 0)), ("H", (1.32924256, 0, 0))]),
    "H3O+ planar": Molecule(D3H, [("O", (0, 0, 0)), ("H", (0.975035491, 0, 0))], charge=1),
    "H2O linear": Molecule(D2H, [("O", (0, 0, 0)), ("H", (0.924741444, 0, 0))]),
    "CH4 square": Molecule(D4H, [("C", (0, 0, 0)), ("H", (1.07757066, 0, 0))]),
    "C2H6 eclipsed": Molecule(
        D3H, [("C", (0, 0, 0.766305672)), ("H", (1.01371426, 0, 1.15844494))]
    ),
    "C2H4 twisted": Molecule(D2D, [("C", (0, 0, 0.7086581)), ("H", (0.916305107, 0, 1.28098877))]),
    "H2O2 cis": Molecule(
        (MIRROR_Y, MIRROR_Z),
        [("O", (0.014147529, 0.711319821, 0)), ("H", (0.935852471, 0.994914419, 0))],
    ),
    "H2O2 trans": Molecule(
        (rotation(2), MIRROR_Z),
        [("O", (0.005487201, 0.71042349, 0)), ("H", (0.951271785, 0.905342109, 0))],
    ),
    "N2H4 eclipsed": Molecule(
        (MIRROR_X, MIRROR_Y),
        [("N", (0, 0.726200298, 0.004639026)), ("H", (0.818537972, 1.07896348, 0.495360974))],
    ),
    "cyclobutane planar": Molecule(
        D4H, [("C", (1.0868892, 0, 0)), ("H", (1.72207654, 0, 0.883449065))]
    ),
    "cyclopentane planar": Molecule(
        D5H, [("C", (1.30662579, 0, 0)), ("H", (1.95346152, 0, 0.877121563))]
    ),
    "cyclohexane planar": Molecule(
        D6H, [("C", (1.5397869, 0, 0)), ("H", (2.19629457, 0, 0.871616538))]
    ),
    "biphenyl planar": Molecule(
        D2H,
        [
            ("C", (0.738418656, 0, 0)),
            ("C", (1.47109267, 1.19032846, 0)),
            ("C", (2.8528982, 1.19135838, 0)),
            ("C", (3.55623154, 0, 0)),
            ("H", (0.969306599, 2.14453632, 0)),
            ("H", (3.3838839, 2.13252416, 0)),
            ("H", (4.63604028, 0, 0)),
        ],
    ),
}


def available() -> bool:
    """Say whether the packages are there that compute forces."""
    try:
        import_module("tblite.ase")
    except ImportError:
        return False
    return True


def calculated(molecule: Molecule, accuracy: float) -> Any:
    """Give the molecule as ASE's atoms with a calculator."""
    from ase import Atoms

    symbols, positions = molecule.orbits()
    atoms = Atoms(symbols, positions=positions)
    calculator = import_module("tblite.ase").TBLite
    atoms.calc = calculator(
        method="GFN2-xTB", charge=molecule.charge, accuracy=accuracy, verbosity=0
    )
    return atoms


@functools.cache
def wanted_curvature() -> float:
    """Give the square of FREQUENCY in eV/(Å^2 amu), the units of mass-weighted coordinates."""
    from ase import units

    hbar = units._hbar * units.J * units.s
    return (FREQUENCY * units.invcm / hbar) ** 2


class Problem(NamedTuple):
    """A molecule as a function to be minimised."""

    fun: Callable[[np.ndarray], float]
    grad: Callable[[np.ndarray], np.ndarray]
    x0: np.ndarray
    calls: list[np.ndarray]  # the points at which forces were computed, in order
    exact_gradient: Callable[[np.ndarray], np.ndarray]
    exact_lowest: Callable[..., float]
    curvature_tol: float  # of FREQUENCY; without masses that of the mass of hydrogen


def problem(name: str, accuracy: float = 1.0, mass_weighted: bool = True) -> Problem:
    """Give one of the molecules, in mass-weighted or in Cartesian coordinates.

    Value and gradient at the same point are one calculation, and one of ``calls``. Without
    ``mass_weighted`` masses are one.
    """
    molecule = MOLECULES[name]
    atoms, exact = (calculated(molecule, each) for each in (accuracy, ACCURATE))
    masses = np.repeat(atoms.get_masses(), 3) if mass_weighted else np.ones(3 * len(atoms))
    scale, calls = np.sqrt(masses), []

    def place(x: np.ndarray) -> Any:
        if not calls or not np.array_equal(calls[-1], x):
            calls.append(x.copy())
            atoms.positions = (x / scale).reshape(-1, 3)
        return atoms

    def accurate(x: np.ndarray) -> np.ndarray:
        exact.positions = (x / scale).reshape(-1, 3)
        return -exact.get_forces().ravel() / scale

    def exact_lowest(x: np.ndarray, internal: bool = False) -> float:
        """Give lambda_min at x, of all coordinates or of the vibrations alone."""
        shifts = SHIFT * scale[:, None] * np.eye(x.size)
        columns = [(accurate(x + s) - accurate(x - s)) / (2 * np.abs(s).sum()) for s in shifts]
        hessian = (np.array(columns) + np.array(columns).T) / 2
        if internal:
            rigid = rigid_motions(x / scale, scale)
            away = np.eye(x.size) - rigid @ rigid.T
            far = np.abs(hessian).sum()  # rigid motions are moved to the top of the spectrum
            hessian = away @ hessian @ away + far * rigid @ rigid.T
        return float(np.linalg.eigvalsh(hessian)[0])

    return Problem(
        fun=lambda x: float(place(x).get_potential_energy()),
        grad=lambda x: -place(x).get_forces().ravel() / scale,
        x0=atoms.positions.ravel() * scale,
        calls=calls,
        exact_gradient=accurate,
        exact_lowest=exact_lowest,
        curvature_tol=wanted_curvature(),
    )


def rigid_motions(positions: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Give an orthonormal basis of translations and rotations at a geometry."""
    r = positions.reshape(-1, 3)
    shifts = [np.tile(axis, (len(r), 1)) for axis in np.eye(3)]
    turns = [np.cross(axis, r - r.mean(axis=0)) for axis in np.eye(3)]
    motions = np.array([motion.ravel() * scale for motion in shifts + turns]).T
    basis, sizes, _ = np.linalg.svd(motions, full_matrices=False)
    return basis[:, sizes > 1e-6 * sizes[0]]


def relaxed(name: str) -> tuple[Molecule, float]:
    """Relax a molecule within its point group; give it, and the largest force that is left.

    The energy is minimised over the positions of one atom of each orbit: all others follow.
    """
    molecule = MOLECULES[name]
    atoms = calculated(molecule, ACCURATE)
    operations = molecule.operations()
    symbols = [symbol for symbol, _ in molecule.atoms]

    def placed(x: np.ndarray) -> Molecule:
        averaged = [  # over the operations that leave the atom where it is
            np.mean([o for o in operations if np.allclose(o @ p, p, atol=1e-6)], axis=0) @ one
            for (_, p), one in zip(molecule.atoms, x.reshape(-1, 3), strict=True)
        ]
        return molecule._replace(
            atoms=[(s, tuple(map(float, p))) for s, p in zip(symbols, averaged, strict=True)]
        )

    sizes = [len(molecule._replace(atoms=[one]).orbits()[0]) for one in molecule.atoms]
    firsts = np.cumsum([0, *sizes[:-1]])

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        atoms.positions = placed(x).orbits()[1]
        forces = atoms.get_forces()[firsts] * np.array(sizes)[:, None]
        return atoms.get_potential_energy(), -forces.ravel()

    x = np.array([p for _, p in molecule.atoms]).ravel()
    options = {"gtol": 1e-9, "hess_inv0": np.eye(x.size) / STIFFNESS}
    x = scipy.optimize.minimize(value_and_gradient, x, jac=True, method="BFGS", options=options).x
    atoms.positions = placed(x).orbits()[1]
    return placed(x), float(np.abs(atoms.get_forces()).max())
